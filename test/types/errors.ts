/** Compiled, never run: `instanceof` and `is` narrow to the fields of a class. */
import {
  OutcomeUnknownError,
  PermissionError,
  RateLimitError,
  StocklotError,
  TimeoutError,
  ValidationError,
} from "stocklot";

export function advice(error: unknown): string {
  if (error instanceof OutcomeUnknownError)
    return `${error.request.path} ${error.request.sentAt} ${error.status ?? "no response"}`;
  if (error instanceof ValidationError) return Object.keys(error.details).join();
  if (PermissionError.is(error)) return error.reason;
  if (RateLimitError.is(error)) return `in ${error.retryAfterMs} ms`;
  if (TimeoutError.is(error)) return error.clock;
  if (StocklotError.is(error)) return `${error.applied}`;
  // @ts-expect-error: nothing is known about other errors.
  return error.message;
}

export function onlyOfItsClass(error: StocklotError): unknown {
  // @ts-expect-error: only some have a reason.
  return error.reason;
}
