import { readText } from "../../core/response/body-text.js";
import { parseJsonOrUndefined } from "../../core/response/parse-json.js";
import { InputValidationError, PermissionError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import type { OutboxOperation, StoredEntry } from "../store.js";

/**
 * The outcome of a call.
 * - `duplicate`: a create was refused because the SKU exists, perhaps from an earlier attempt.
 * - `uncertain`: it may have been applied.
 * - `not-applied`: it was not applied, and the next entry would fail in the same way.
 */
export type Outcome = "applied" | "rejected" | "duplicate" | "uncertain" | "not-applied";

/** How a call ended. */
export interface CallEnd {
  operation: OutboxOperation;
  /** The response to the last attempt, if there was one; the body is missing if it was cut off. */
  response: { status: number; body: Uint8Array | undefined } | undefined;
  /** Whether any attempt of the call may have been applied, besides a success. */
  mayHaveBeenApplied: boolean;
  /** Whether an attempt before this call may have been applied. */
  mayHaveBeenAppliedBefore: boolean;
  /** What the call rejected with; `undefined` if it succeeded. */
  error: unknown;
}

export function outcomeOf(end: CallEnd): Outcome {
  const { operation, response, error } = end;
  // The body may be unreadable, the status proves it.
  if (response && response.status >= 200 && response.status < 300) return "applied";
  if (error instanceof InputValidationError) return "rejected";
  if (response && isRefusal(response, error)) {
    const isDuplicate = operation === "create" && (response.status === 400 || response.status === 409);
    return isDuplicate && end.mayHaveBeenAppliedBefore ? "duplicate" : "rejected";
  }
  return end.mayHaveBeenApplied ? "uncertain" : "not-applied";
}

const REFUSALS = new Set([400, 404, 409, 422]);
const PERMISSION_REASONS = new Set(["insufficient-permissions", "warehouse-out-of-scope"]);

/**
 * Whether the service itself rejects this one write. A proxy's error page, or a read-only client, concerns all writes.
 */
function isRefusal({ status, body }: NonNullable<CallEnd["response"]>, error: unknown): boolean {
  if (!isServiceError(status, body)) return false;
  return status === 403
    ? error instanceof PermissionError && PERMISSION_REASONS.has(error.reason)
    : REFUSALS.has(status);
}

/** Whether a body is the service's error object. Source: service interface, "Errors". */
export function isServiceError(status: number, body: Uint8Array | undefined): boolean {
  const error = body && parseJsonOrUndefined(readText({ body }));
  const statusCode = fieldOf(error, "statusCode") ?? status;
  return (
    typeof fieldOf(error, "error") === "string" &&
    typeof fieldOf(error, "message") === "string" &&
    statusCode === status
  );
}

const IDEMPOTENT: ReadonlySet<OutboxOperation> = new Set(["update", "discontinue"]);

/** Whether a second, identical write changes nothing. */
export const isIdempotent = (operation: OutboxOperation) => IDEMPOTENT.has(operation);

/**
 * What to do with an outcome that arrives after another process may have taken over the entry. `conflict`: the attempt
 * was applied, and a later attempt may have been applied, too.
 */
export function lateOutcome(
  outcome: { isApplied: boolean; attempts: number },
  current: Pick<StoredEntry, "operation" | "state" | "attempts">,
): "store" | "ignore" | "conflict" {
  const isSameAttempt = outcome.attempts === current.attempts;
  if (current.state === "sending" && isSameAttempt) return "store";
  if (!outcome.isApplied) return "ignore";
  // Nothing was sent since.
  if (current.state === "pending") return "store";
  if (isSameAttempt) return current.state === "unknown" ? "store" : "ignore";
  return isIdempotent(current.operation) || current.state === "unknown" ? "ignore" : "conflict";
}
