import {
  AuthenticationError,
  NotImplementedError,
  OutcomeUnknownError,
  RateLimitError,
  ResponseValidationError,
  StocklotError,
} from "../../src/index.js";

/** What an outcome tells the caller about the effect of a write. */
export type Claim = "applied" | "not applied" | "unknown" | "may be repeated";

/** What an error says of the write that failed with it. */
export function claimOf(error: unknown, idempotent: boolean): Claim {
  if (!(error instanceof StocklotError)) throw new Error(`what does ${error} say?`);
  if (error instanceof OutcomeUnknownError) return "unknown";
  if (error instanceof ResponseValidationError)
    return error.message.includes("has applied it") ? "applied" : "not applied";
  if (error instanceof RateLimitError || error instanceof AuthenticationError || error instanceof NotImplementedError) {
    return "not applied";
  }
  if (/nothing was sent|^POST \/Token/.test(error.message)) return "not applied";
  // An idempotent write that failed may have been applied, and may be sent again whether or not it was.
  return idempotent ? "may be repeated" : "not applied";
}

/** Whether a claim is true, given how often the write took effect. */
export function isTrue(claim: Claim, effects: number): boolean {
  if (claim === "applied") return effects > 0;
  if (claim === "not applied") return effects === 0;
  return true;
}
