import {
  ApiError,
  AuthenticationError,
  ConnectionError,
  NotImplementedError,
  OutcomeUnknownError,
  RateLimitError,
  ResponseValidationError,
  ServerError,
} from "../../src/index.js";

/** What an outcome tells the caller about the effect of a write. */
export type Claim = "applied" | "not applied" | "unknown" | "may be repeated";

/** What an error says of the write that failed with it. */
export function claimOf(error: unknown, idempotent: boolean): Claim {
  if (error instanceof OutcomeUnknownError) return "unknown";
  if (error instanceof ResponseValidationError) return /has applied it/.test(error.message) ? "applied" : "unknown";
  if (error instanceof RateLimitError || error instanceof AuthenticationError || error instanceof NotImplementedError) {
    return "not applied";
  }
  if (error instanceof ConnectionError && /nothing was sent/.test(error.message)) return "not applied";
  // An idempotent write that failed may have been applied, and may be sent again whether or not it was.
  if (idempotent && (error instanceof ServerError || error instanceof ConnectionError)) return "may be repeated";
  if (error instanceof ApiError && error.status === 408 && idempotent) return "may be repeated";
  throw new Error(`what does ${error} say?`);
}

/** Whether a claim is true, given how often the write took effect. */
export function isTrue(claim: Claim, effects: number): boolean {
  if (claim === "applied") return effects > 0;
  if (claim === "not applied") return effects === 0;
  return true;
}
