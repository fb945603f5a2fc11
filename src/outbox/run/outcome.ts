import { isSuccessStatus, parseJsonOrUndefined, readText } from "../../client/for-add-ons.js";
import {
  ApiError,
  AuthenticationError,
  InputValidationError,
  PermissionError,
  RateLimitError,
} from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { isIdempotent, type OutboxOperation, type StoredEntry } from "../store.js";

/**
 * The outcome of a call.
 * - `refused-perhaps-applied`: it was refused, perhaps because an earlier attempt was applied: the SKU exists, or the
 *   item is discontinued already.
 * - `uncertain`: it may have been applied.
 * - `failed`: it was not applied, and another entry may succeed.
 * - `interrupted`: it was not applied, and must not be sent any more: its entry or lease has changed, or the run was
 *   stopped.
 * - `fails-for-all`: it was not applied, and every other entry would fail in the same way.
 */
export type Outcome =
  | "applied"
  | "rejected"
  | "refused-perhaps-applied"
  | "uncertain"
  | "failed"
  | "interrupted"
  | "fails-for-all";

/** How a call ended. */
export interface CallEnd {
  operation: OutboxOperation;
  /** The response to the last attempt, if there was one; the body is missing if it was cut off. */
  response: { status: number; body: Uint8Array | undefined } | undefined;
  /** Whether an attempt of the call is uncertain: it may have been applied, and no response proves whether it was. */
  isUncertain: boolean;
  /** Whether there was an uncertain attempt before the call. */
  wasUncertain: boolean;
  /** What the call rejected with; `undefined` if it succeeded. */
  error: unknown;
}

export function outcomeOf(end: CallEnd): Outcome {
  const { operation, response, error } = end;
  // The body may be unreadable, the status proves it.
  if (response && isSuccessStatus(response.status)) return "applied";
  if (error instanceof InputValidationError) return "rejected";
  if (response && isRefusal(response, error)) {
    const mayFollow = (end.isUncertain || end.wasUncertain) && mayFollowFromItself(operation, response.status);
    return mayFollow ? "refused-perhaps-applied" : "rejected";
  }
  if (end.isUncertain) return "uncertain";
  if (error instanceof Interrupted) return "interrupted";
  return concernsAllWrites(error) ? "fails-for-all" : "failed";
}

/** Whether a write can be refused because an earlier attempt of it was applied. */
function mayFollowFromItself(operation: OutboxOperation, status: number): boolean {
  return isIdempotent(operation) || (operation === "create" && (status === 400 || status === 409));
}

/** Whether the reason of a failure lies in the client, the account or the connection, not in the write. */
export function concernsAllWrites(error: unknown): boolean {
  if (!(error instanceof ApiError) || error instanceof AuthenticationError || error instanceof RateLimitError)
    return true;
  return error instanceof PermissionError && error.reason === "read-only";
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
  // Nothing that may have been applied was sent since.
  if (current.state === "pending" || current.state === "canceled") return "store";
  if (isSameAttempt) return current.state === "unknown" ? "store" : "ignore";
  return isIdempotent(current.operation) || current.state === "unknown" ? "ignore" : "conflict";
}

/**
 * Why a call for an entry must not send any more, such as the end of its lease. It says nothing about the entry: its write
 * was not refused, and the other entries need not fail. Never reaches the caller.
 */
export class Interrupted extends Error {}

/** The entry or the lease of its lane has changed in the store. */
export class AttemptOutdated extends Interrupted {
  constructor(readonly entry: StoredEntry | undefined) {
    super("the entry or the lease of its lane has changed");
  }
}
