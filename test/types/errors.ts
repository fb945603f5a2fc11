/** Compiled, never run: a `switch` over the names of the errors is exhaustive, and narrows. */
import { type AnyStocklotError, isStocklotError, type StocklotErrorName } from "stocklot";
import type * as errors from "../../src/shared/errors/index.js";

/** The union contains the names of all exported classes but the root, and no other names. */
type Exported = Exclude<keyof typeof errors, "StocklotError">;
true satisfies [Exported, StocklotErrorName] extends [StocklotErrorName, Exported] ? true : never;

export function advice(error: unknown): string {
  if (!isStocklotError(error)) throw error;
  switch (error.name) {
    case "OutcomeUnknownError":
      return `check whether it was applied: ${error.request.path}, ${error.request.sentAt}`;
    case "ValidationError":
      return Object.keys(error.details).join();
    case "PermissionError":
      return error.reason;
    case "RateLimitError":
      return `in ${error.retryAfterMs} ms`;
    case "TimeoutError":
      return `${error.clock} ${error.spent.waitingMs}`;
    case "InputValidationError":
    case "ResponseValidationError":
      return error.issues.map(({ message }) => message).join();
    case "ApiError":
    case "BadRequestError":
    case "AuthenticationError":
    case "NotFoundError":
    case "ConflictError":
    case "NotImplementedError":
    case "ServerError":
      return `${error.status} ${error.code}`;
    case "StorageError":
      return `${error.storage} ${error.location} ${error.problem} ${error.mayBeStored}`;
    case "ConnectionError":
    case "ClientClosedError":
    case "PaginationError":
    case "ConfigurationError":
    case "UnexpectedRemovalsError":
      return error.message;
    default:
      return error satisfies never;
  }
}

export function notExhaustive(error: AnyStocklotError): string {
  switch (error.name) {
    case "NotFoundError":
      return error.path;
    default:
      // @ts-expect-error: other names are left.
      return error satisfies never;
  }
}

export function onlyOfItsClass(error: AnyStocklotError): unknown {
  if (error.name === "PermissionError") return error.reason;
  // @ts-expect-error: a name that no error has.
  if (error.name === "PermisionError") return undefined;
  // @ts-expect-error: only some have a reason.
  return error.reason;
}
