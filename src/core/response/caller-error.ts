import { ClientSecretFailure } from "../../auth/client-secret.js";
import {
  ClientClosedError,
  ConfigurationError,
  ConnectionError,
  type Issue,
  OutcomeUnknownError,
  RateLimitError,
  ResponseValidationError,
  StocklotError,
  TimeoutError,
} from "../../errors/index.js";
import { describeIssue } from "../../errors/input-errors.js";
import { redactCause } from "../../errors/redaction/redact-cause.js";
import { messageOf } from "../../errors/unknown-value.js";
import type { WaitEstimate } from "../../limiter/rate-limiter.js";
import { CancelledError, type CancelReason } from "../../time/cancellation.js";
import type { Call, ResponseContext } from "../call.js";
import { ErrorResponse, FailedCall, isSuccess } from "../failure.js";
import { MAX_ISSUES } from "../request/check-input.js";
import { JSON_TYPE } from "../request/payload.js";
import { mayHaveBeenApplied } from "../retry-policy.js";
import { oneLine } from "../transport/network-failure.js";
import { TransportFailure } from "../transport/transport.js";
import { apiError } from "./api-error.js";

/** The error that the caller receives: the failure itself, or an `OutcomeUnknownError` with the failure as its cause. */
export function callerError(call: Call, failure: unknown): unknown {
  // A loop, because each frame of a recursion would displace the caller's own in the stack trace.
  while (failure instanceof FailedCall) ({ call, failure } = failure);
  const cause = failureError(call, failure);
  const error = leavesOutcomeUnknown(call, failure) ? outcomeUnknown(call, cause) : cause;
  // V8 keeps ten frames: without those of this package's own functions, the caller's line is among them.
  if (error instanceof StocklotError) Error.captureStackTrace?.(error, callerError);
  return error;
}

/** The error for a caller who waits for a shared call; a new object each time. */
export function errorForWaiter(failure: unknown): unknown {
  return failure instanceof FailedCall ? callerError(failure.call, failure.failure) : failure;
}

/** The error for the failure of an attempt. */
export function failureError(call: Call, failure: unknown): unknown {
  if (failure instanceof ResponseValidationError) return new ResponseValidationError(failure.message, failure);
  if (failure instanceof ErrorResponse) return apiError(call, failure);
  if (failure instanceof CancelledError) return cancelledError(call, failure.reason);
  if (failure instanceof ClientSecretFailure) return clientSecretError(call, failure);
  return failure instanceof TransportFailure ? transportError(call, failure) : failure;
}

function transportError(call: Call, failure: TransportFailure): unknown {
  const { kind, cause } = failure;
  switch (kind) {
    case "cancelled":
      return cancelledError(call, call.cancellation.reason);
    case "timeout":
      return timeoutError(call, "timeoutMs", `no complete response within timeoutMs (${call.settings.timeoutMs} ms)`);
    case "too large":
      return unreadableResponse(call, "the response is larger than maxResponseBytes");
    case "undecodable":
      return unreadableResponse(call, "the response cannot be decompressed", cause);
    case "exception":
      // Unchanged, unless it shows a secret: a fetch function may put the request into its errors.
      return isAppliedByStatus(call)
        ? unreadableResponse(call, "the response could not be read", cause)
        : redactCause(cause);
    case "connection":
      return isAppliedByStatus(call)
        ? unreadableResponse(call, "the connection broke within the response", cause)
        : new ConnectionError(connectionMessage(call, failure), { cause });
  }
}

function clientSecretError(call: Call, { kind, message, cause }: ClientSecretFailure): unknown {
  return kind === "timeout"
    ? timeoutError(call, "timeoutMs", message)
    : new ConfigurationError(`${call.label}: ${message}`, cause === undefined ? {} : { cause });
}

function connectionMessage(call: Call, { cause, network }: TransportFailure): string {
  const { problem = "no usable response", detail = shortReason(cause), advice = "" } = network ?? {};
  const sent = call.attemptTrace?.sent ? "" : ", nothing was sent";
  return `${call.label}: ${problem}${sent}${attemptsText(call)} (${detail}). ${advice}`.trim();
}

function cancelledError(call: Call, reason: CancelReason = { kind: "closed" }): unknown {
  if (reason.kind === "aborted") return reason.reason;
  if (reason.kind === "closed") return new ClientClosedError(`${call.label}: the client is closed`);
  const { waitingFor, unmetWait, cancellation } = call;
  const limit = `totalTimeoutMs (${cancellation.totalTimeoutMs} ms)`;
  if (unmetWait)
    return timeoutError(call, "totalTimeoutMs", `no ${waitingFor} within ${limit}`, whenToRetry(unmetWait));
  const isEarly = call.attempts > 0 && cancellation.remainingMs > 0;
  const problem = isEarly ? `the next attempt would come later than ${limit}` : `not finished within ${limit}`;
  return timeoutError(call, "totalTimeoutMs", problem);
}

function whenToRetry({ waitMs, pausedUntil }: WaitEstimate): string {
  if (pausedUntil !== null) {
    return `: all requests pause until ${new Date(pausedUntil).toISOString()} after a 429. Try again then.`;
  }
  return isFiniteWait(waitMs) ? `: the rate limit is used up. Try again in ${Math.ceil(waitMs)} ms.` : "";
}

const isFiniteWait = (waitMs: number) => waitMs > 0 && waitMs < Infinity;

function timeoutError(call: Call, clock: TimeoutError["clock"], problem: string, advice = ""): TimeoutError {
  const { label, spent, attempts, lastError, unmetWait } = call;
  const { waitMs = 0, pauseError } = unmetWait ?? {};
  const sent = attempts === 0 ? ", nothing was sent" : attemptsText(call);
  return new TimeoutError(`${label}: ${problem}${sent}${advice}`, {
    clock,
    spent,
    retryAfterMs: isFiniteWait(waitMs) ? Math.ceil(waitMs) : undefined,
    // The 429 that began the pause is the last failure, whichever call received it.
    cause: RateLimitError.is(lastError) ? lastError : (pauseError?.() ?? lastError),
  });
}

/** Whether a write may have been applied though the call failed. */
function leavesOutcomeUnknown(call: Call, failure: unknown): boolean {
  if (!call.isWrite) return false;
  const isUnknown = isAttemptOutcomeUnknown(call, failure);
  const wasCancelled =
    failure instanceof CancelledError || (failure instanceof TransportFailure && failure.kind === "cancelled");
  // Idempotent writes fail as reads do, unless the caller has aborted one.
  return wasCancelled && call.cancellation.reason?.kind === "aborted"
    ? isUnknown || call.mayHaveBeenApplied
    : isUnknown && !call.isIdempotent;
}

/** Whether the service may have applied the request of the failed attempt. */
function isAttemptOutcomeUnknown(call: Call, failure: unknown): boolean {
  if (failure instanceof ErrorResponse) return mayHaveBeenApplied({ sent: true, status: failure.response.status });
  // Cancelled while the caller's schema validated the response to a write that was applied.
  if (failure instanceof CancelledError) return isSuccess(statusOf(call));
  if (!(failure instanceof TransportFailure) || !call.attemptTrace?.sent) return false;
  if (failure.kind === "connection" || failure.kind === "exception") return !isAppliedByStatus(call);
  return failure.kind === "cancelled" || failure.kind === "timeout";
}

/** The status of the response proves that the write was applied. */
function isAppliedByStatus(call: Call): boolean {
  return call.request.appliedByStatus === true && isSuccess(statusOf(call));
}

const DEFAULT_RECOVERY_HINT = "Check whether it was applied before you resend it.";

function outcomeUnknown(call: Call, cause: unknown): OutcomeUnknownError {
  const { label, sentAt } = call;
  const { method, path, recoveryHint = DEFAULT_RECOVERY_HINT } = call.request;
  const { query, contentType, body } = call.payload;
  // The message of an ApiError begins with method and path, too.
  const reason = shortReason(cause).replace(`${label}: `, "").replace(/\.$/, "");
  return new OutcomeUnknownError(`${label}: sent, but the outcome is unknown (${reason}). ${recoveryHint}`, {
    cause,
    request: {
      method,
      path,
      ...(Object.keys(query).length > 0 && { query }),
      // As it was sent: the caller may have changed its own object since.
      ...(body !== undefined && { body: contentType === JSON_TYPE ? JSON.parse(body) : body }),
      sentAt,
    },
  });
}

/** The error for a success whose body cannot be used. */
export function unreadableResponse(call: Call, problem: string, cause?: unknown): ResponseValidationError {
  return new ResponseValidationError(`${call.label}: ${problem}${appliedWarning(call)}`, {
    status: statusOf(call),
    issues: [{ path: [], message: problem }],
    cause,
  });
}

const ISSUES_SHOWN = 3;

/** The error for a success whose body is not what the service documents. */
export function invalidResponse(
  { call, response: { status } }: ResponseContext,
  issues: Issue[],
  advice = "",
): ResponseValidationError {
  const shown = issues.slice(0, ISSUES_SHOWN).map(describeIssue).join("; ");
  const unseen = issues.length < MAX_ISSUES ? issues.length - ISSUES_SHOWN : "many";
  const more = issues.length > ISSUES_SHOWN ? ` and ${unseen} more` : "";
  return new ResponseValidationError(
    `${call.label}: the response is not what the service documents: ${shown}${more}${appliedWarning(call)}.${advice}`,
    { status, issues },
  );
}

/** A warning for a write that succeeded although its response cannot be used. */
const appliedWarning = (call: Call) =>
  call.isWrite ? `. The service has applied it (HTTP ${statusOf(call)}): do not resend it` : "";

const statusOf = ({ attemptTrace }: Call) => attemptTrace?.head?.status ?? 0;

const attemptsText = ({ attempts }: Call) =>
  attempts === 0 ? "" : attempts === 1 ? ", 1 attempt" : `, ${attempts} attempts`;

/** The reason in one line without a full stop, to be part of a message. */
function shortReason(cause: unknown): string {
  return oneLine(fullReason(cause)).replace(/\.$/, "");
}

function fullReason(cause: unknown): string {
  try {
    // The message of fetch is only "fetch failed"; the reason is in the cause.
    const inner = cause instanceof StocklotError || !(cause instanceof Error) ? undefined : cause.cause;
    return inner instanceof Error ? `${messageOf(cause)}: ${messageOf(inner)}` : messageOf(cause);
  } catch {
    // A getter or a Proxy of the caller's: it must not replace the error.
    return messageOf(cause);
  }
}
