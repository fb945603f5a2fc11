import {
  AuthenticationError,
  NotImplementedError,
  OutcomeUnknownError,
  RateLimitError,
  ResponseValidationError,
  StocklotError,
} from "../../src/index.js";

/** The effect of a write, as an outcome of the client reports it. */
export type ReportedEffect = "applied" | "not applied" | "unknown" | "may be resent";

/** Returns the effect that an error reports for the write that failed with it. */
export function reportedEffect(error: unknown, idempotent: boolean): ReportedEffect {
  if (!(error instanceof StocklotError)) throw new Error(`unexpected error: ${error}`);
  if (error instanceof OutcomeUnknownError) return "unknown";
  if (error instanceof ResponseValidationError && error.message.includes("has applied it")) return "applied";
  if (error instanceof RateLimitError || error instanceof AuthenticationError || error instanceof NotImplementedError) {
    return "not applied";
  }
  if (/nothing was sent|^POST \/Token/.test(error.message)) return "not applied";
  // An idempotent write may be resent, whether it was applied or not.
  return idempotent ? "may be resent" : "not applied";
}

/** Returns whether a reported effect is correct, given how often the write took effect. */
export function isCorrect(reported: ReportedEffect, effects: number): boolean {
  if (reported === "applied") return effects > 0;
  if (reported === "not applied") return effects === 0;
  return true;
}
