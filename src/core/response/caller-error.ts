import {
  ClientClosedError,
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
import { Cancelled, type CancelReason } from "../../time/cancellation.js";
import type { Call, ResponseContext } from "../call.js";
import { ErrorResponse, FailedCall, isSuccess } from "../failure.js";
import { MAX_ISSUES } from "../request/check-input.js";
import { JSON_TYPE } from "../request/payload.js";
import { mayHaveBeenApplied } from "../retry-policy.js";
import { oneLine } from "../transport/network-failure.js";
import { TransportFailure } from "../transport/transport.js";
import { apiError } from "./api-error.js";

/** What the caller gets for a call that failed: the error itself, or that its outcome is unknown because of it. */
export function callerError(call: Call, failure: unknown): unknown {
  // A loop, since each frame pushes the caller's own out of the stack trace.
  while (failure instanceof FailedCall) ({ call, failure } = failure);
  const cause = failureError(call, failure);
  const error = leavesOutcomeUnknown(call, failure) ? outcomeUnknown(call, cause) : cause;
  // V8 keeps ten frames: without those of this package's own functions, the caller's line is among them.
  if (error instanceof StocklotError) Error.captureStackTrace?.(error, callerError);
  return error;
}

/** The error for a caller who waits for a call that is not the caller's own; a new one each time. */
export function errorForWaiter(failure: unknown): unknown {
  return failure instanceof FailedCall ? callerError(failure.call, failure.failure) : failure;
}

/** The failure of an attempt as the error that tells of it. */
export function failureError(call: Call, failure: unknown): unknown {
  if (failure instanceof ResponseValidationError) return new ResponseValidationError(failure.message, failure);
  if (failure instanceof ErrorResponse) return apiError(call, failure);
  if (failure instanceof Cancelled) return cancelledError(call, failure.reason);
  return failure instanceof TransportFailure ? transportError(call, failure) : failure;
}

function transportError(call: Call, failure: TransportFailure): unknown {
  const { kind, cause } = failure;
  switch (kind) {
    case "cancelled":
      return cancelledError(call, call.cancellation.reason);
    case "timeout":
      return timeoutError(call, "timeoutMs", `no complete answer within timeoutMs (${call.settings.timeoutMs} ms)`);
    case "too large":
      return unreadableResponse(call, "the response is larger than maxResponseBytes");
    case "undecodable":
      return unreadableResponse(call, "the response cannot be decompressed", cause);
    case "exception":
      // As it is, unless it shows a secret: a fetch function may put the request into its errors.
      return isAppliedByStatus(call)
        ? unreadableResponse(call, "the response could not be read", cause)
        : redactCause(cause);
    case "connection":
      return isAppliedByStatus(call)
        ? unreadableResponse(call, "the connection broke within the response", cause)
        : new ConnectionError(connectionMessage(call, failure), { cause });
  }
}

function connectionMessage(call: Call, { cause, network }: TransportFailure): string {
  const { problem = "no usable response", detail = shortReason(cause), advice = "" } = network ?? {};
  const sent = call.attemptTrace?.sent ? "" : ", nothing was sent";
  return `${call.label}: ${problem}${sent}${attemptsText(call)} (${detail}). ${advice}`.trim();
}

function cancelledError(call: Call, ending: CancelReason = { kind: "closed" }): unknown {
  if (ending.kind === "aborted") return ending.reason;
  if (ending.kind === "closed") return new ClientClosedError(`${call.label}: the client is closed`);
  const { waitingFor: awaited, unmetWait: missed, cancellation } = call;
  const limit = `totalTimeoutMs (${cancellation.totalTimeoutMs} ms)`;
  if (missed) return timeoutError(call, "totalTimeoutMs", `no ${awaited} within ${limit}`, whenToRetry(missed));
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
  const { label: title, spent, attempts, lastError: failure, unmetWait: missed } = call;
  const { waitMs = 0, pauseError } = missed ?? {};
  const sent = attempts === 0 ? ", nothing was sent" : attemptsText(call);
  return new TimeoutError(`${title}: ${problem}${sent}${advice}`, {
    clock,
    spent,
    retryAfterMs: isFiniteWait(waitMs) ? Math.ceil(waitMs) : undefined,
    // The 429 that began the pause is the last failure, whichever call received it.
    cause: RateLimitError.is(failure) ? failure : (pauseError?.() ?? failure),
  });
}

/** Whether a write may have been applied though the call failed. */
function leavesOutcomeUnknown(call: Call, failure: unknown): boolean {
  if (!call.isWrite) return false;
  const isOpen = isAttemptOutcomeUnknown(call, failure);
  const isEnd = failure instanceof Cancelled || (failure instanceof TransportFailure && failure.kind === "cancelled");
  // Writes that may be repeated fail as reads do, unless the caller has called one off.
  return isEnd && call.cancellation.reason?.kind === "aborted"
    ? isOpen || call.mayHaveBeenApplied
    : isOpen && !call.isIdempotent;
}

/** Whether the attempt that failed so leaves open what the service did. */
function isAttemptOutcomeUnknown(call: Call, failure: unknown): boolean {
  if (failure instanceof ErrorResponse) return mayHaveBeenApplied({ sent: true, status: failure.response.status });
  // The caller's schema was not done with the response to a write that was applied.
  if (failure instanceof Cancelled) return isSuccess(statusOf(call));
  if (!(failure instanceof TransportFailure) || !call.attemptTrace?.sent) return false;
  if (failure.kind === "connection" || failure.kind === "exception") return !isAppliedByStatus(call);
  return failure.kind === "cancelled" || failure.kind === "timeout";
}

/** The head of the answer has told that the write was applied. */
function isAppliedByStatus(call: Call): boolean {
  return call.request.appliedByStatus === true && isSuccess(statusOf(call));
}

const DEFAULT_RECOVERY_HINT = "Look before you send it again.";

function outcomeUnknown(call: Call, cause: unknown): OutcomeUnknownError {
  const { label: title, sentAt } = call;
  const { method, path, recoveryHint: afterwards = DEFAULT_RECOVERY_HINT } = call.request;
  const { query, contentType, body } = call.payload;
  // An ApiError begins with method and path too.
  const reason = shortReason(cause).replace(`${title}: `, "").replace(/\.$/, "");
  return new OutcomeUnknownError(`${title}: sent, but the outcome is unknown (${reason}). ${afterwards}`, {
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
    `${call.label}: the answer is not what the service documents: ${shown}${more}${appliedWarning(call)}.${advice}`,
    { status, issues },
  );
}

/** A warning for a write that succeeded though its answer is of no use. */
const appliedWarning = (call: Call) =>
  call.isWrite ? `. The service has applied it (HTTP ${statusOf(call)}): do not send it again` : "";

const statusOf = ({ attemptTrace: trace }: Call) => trace?.head?.status ?? 0;

const attemptsText = ({ attempts }: Call) =>
  attempts === 0 ? "" : attempts === 1 ? ", 1 attempt" : `, ${attempts} attempts`;

/** The reason in one line, for a message that goes on after it. */
function shortReason(cause: unknown): string {
  return oneLine(fullReason(cause)).replace(/\.$/, "");
}

function fullReason(cause: unknown): string {
  try {
    // fetch says only "fetch failed" and puts the reason into the cause.
    const inner = cause instanceof StocklotError || !(cause instanceof Error) ? undefined : cause.cause;
    return inner instanceof Error ? `${messageOf(cause)}: ${messageOf(inner)}` : messageOf(cause);
  } catch {
    // A getter or a Proxy of the caller's: it must not replace the error.
    return messageOf(cause);
  }
}
