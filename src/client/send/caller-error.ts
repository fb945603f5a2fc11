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
} from "../../shared/errors/index.js";
import { describeIssue } from "../../shared/errors/input-errors.js";
import { redactCause } from "../../shared/errors/redaction/redact-cause.js";
import { wording } from "../../shared/errors/wording.js";
import { MAX_ISSUES } from "../../shared/input-issues.js";
import { CanceledError, type CancelReason } from "../../shared/time/cancellation.js";
import { messageOf, toOneLine } from "../../shared/unknown.js";
import { ClientSecretFailure } from "../auth/client-secret.js";
import type { WaitEstimate } from "../limiter/rate-limiter.js";
import { TransportFailure } from "../transport/transport.js";
import type { ResponseContext, Sending } from "./call.js";
import { createApiError } from "./error-response.js";
import {
  CallFailure,
  ErrorResponse,
  FalseSuccess,
  isProvenAppliedByStatus,
  mayHaveBeenApplied,
  responseStatusOf,
  SlotExpired,
} from "./failure.js";
import { JSON_CONTENT_TYPE } from "./payload.js";

/**
 * The error for a caller who waits for a call that failed, a new object each time: that of the last attempt, or an
 * `OutcomeUnknownError` with that as its cause. What did not fail in a call stays as it is.
 */
export function createCallerError(failure: unknown): unknown {
  if (!(failure instanceof CallFailure)) return failure;
  const { sending, thrown } = failure;
  const cause = errorOfFailedAttempt(sending, thrown);
  const error = isWriteOutcomeUnknown(sending, thrown) ? outcomeUnknownError(sending, cause) : cause;
  // V8 keeps ten frames: without those of this package's own functions, the caller's line is among them.
  if (error instanceof StocklotError) {
    Error.captureStackTrace?.(error, createCallerError);
    if (error !== failure.thrown) Object.assign(error, { applied: appliedOf(sending, thrown, error) });
  }
  return error;
}

function appliedOf(sending: Sending, thrown: unknown, error: StocklotError): StocklotError["applied"] {
  if (!sending.isWrite) return "no";
  if (mayHaveBeenApplied(sending, thrown) || sending.hasUnresolvedAttempt) return "unknown";
  return error instanceof ResponseValidationError ? "yes" : error.applied;
}

export function errorOfFailedAttempt(sending: Sending, failure: unknown): unknown {
  if (failure instanceof ResponseValidationError) return new ResponseValidationError(failure.message, failure);
  if (failure instanceof ErrorResponse) return createApiError(sending, failure);
  if (failure instanceof FalseSuccess) return falseSuccessError(sending, failure);
  if (failure instanceof CanceledError) return canceledError(sending, failure.reason);
  if (failure instanceof SlotExpired)
    return new ConnectionError(`${sending.label}: ${failure.message}. Nothing was sent.`);
  // The limiter has one error for all calls that wait for a slot.
  if (failure instanceof ConnectionError)
    return new ConnectionError(`${sending.label}: ${failure.message}`, { cause: failure.cause });
  if (failure instanceof ClientSecretFailure) return clientSecretTimeoutOrConfigurationError(sending, failure);
  return failure instanceof TransportFailure ? transportError(sending, failure) : failure;
}

function transportError(sending: Sending, failure: TransportFailure): unknown {
  const { kind, cause } = failure;
  switch (kind) {
    case "canceled":
      return canceledError(sending, sending.cancellation.reason);
    case "timeout":
      return timeoutError(
        sending,
        "timeoutMs",
        `no complete response within ${wording().timeoutMs} (${sending.call.settings.timeoutMs} ms)`,
      );
    case "too large":
      return unreadableResponseError(sending, `the response is larger than ${wording().maxResponseBytes}`);
    case "undecodable":
      return unreadableResponseError(sending, "the response cannot be decompressed", cause);
    case "exception":
      // Unchanged, unless it shows a secret: a fetch function may put the request into its errors.
      return isProvenAppliedByStatus(sending)
        ? unreadableResponseError(sending, "the response could not be read", cause)
        : redactCause(cause);
    case "connection":
      return isProvenAppliedByStatus(sending)
        ? unreadableResponseError(sending, "the connection broke within the response", cause)
        : new ConnectionError(connectionMessage(sending, failure), { cause });
  }
}

function clientSecretTimeoutOrConfigurationError(
  sending: Sending,
  { kind, message, cause }: ClientSecretFailure,
): unknown {
  return kind === "timeout"
    ? timeoutError(sending, "timeoutMs", message)
    : new ConfigurationError(`${sending.label}: ${message}`, cause === undefined ? {} : { cause });
}

function connectionMessage(sending: Sending, { cause, network }: TransportFailure): string {
  const { problem = "no usable response", detail = describeCauseInOneLine(cause), advice = "" } = network ?? {};
  const sent = sending.attemptTrace?.sent ? "" : ", nothing was sent";
  return `${sending.label}: ${problem}${sent}${describeAttemptCount(sending)} (${detail}). ${advice}`.trim();
}

function canceledError(sending: Sending, reason: CancelReason = { kind: "closed" }): unknown {
  if (reason.kind === "aborted") return reason.reason;
  if (reason.kind === "closed") return new ClientClosedError(`${sending.label}: the client is closed`);
  const { waitingFor, unmetWait } = sending;
  const limit = `totalTimeoutMs (${reason.totalTimeoutMs} ms)`;
  if (unmetWait)
    return timeoutError(sending, "totalTimeoutMs", `no ${waitingFor} within ${limit}`, retryAdvice(unmetWait));
  const isEarly = sending.attempts > 0 && reason.isEarly;
  const problem = isEarly ? `the next attempt would start after ${limit}` : `not finished within ${limit}`;
  return timeoutError(sending, "totalTimeoutMs", problem);
}

function retryAdvice({ waitMs, pausedUntil }: WaitEstimate): string {
  if (pausedUntil !== null) {
    return `: all requests pause until ${new Date(pausedUntil).toISOString()} after a 429. Try again then.`;
  }
  return isFiniteWait(waitMs) ? `: the rate limit is used up. Try again in ${Math.ceil(waitMs)} ms.` : "";
}

const isFiniteWait = (waitMs: number) => waitMs > 0 && waitMs < Infinity;

function timeoutError(sending: Sending, clock: TimeoutError["clock"], problem: string, advice = ""): TimeoutError {
  const { label, call, lastError, unmetWait } = sending;
  const { waitMs = 0, pauseError } = unmetWait ?? {};
  const isUnsent = call.attempts === 0;
  const sent = isUnsent ? ", nothing was sent" : describeAttemptCount(sending);
  return new TimeoutError(`${label}: ${problem}${sent}${advice}`, {
    clock,
    spent: call.spent,
    retryAfterMs: isFiniteWait(waitMs) ? Math.ceil(waitMs) : undefined,
    // The 429 that began the pause is the last failure, whichever call received it.
    cause: RateLimitError.is(lastError) ? lastError : (pauseError?.() ?? lastError),
  });
}

/** Whether a write may have been applied though the call failed. */
function isWriteOutcomeUnknown(sending: Sending, failure: unknown): boolean {
  if (!sending.isWrite) return false;
  const isUnknown = mayHaveBeenApplied(sending, failure);
  const wasCanceled =
    failure instanceof CanceledError || (failure instanceof TransportFailure && failure.kind === "canceled");
  // Idempotent writes fail as reads do, unless the caller has aborted one.
  return wasCanceled && sending.cancellation.reason?.kind === "aborted"
    ? isUnknown || sending.hasUnresolvedAttempt
    : isUnknown && !sending.isIdempotent;
}

const DEFAULT_RECOVERY_HINT = "Check whether it was applied before you resend it.";

function outcomeUnknownError(sending: Sending, cause: unknown): OutcomeUnknownError {
  const { label, sentAt } = sending;
  const clockAheadMs = sending.attemptTrace?.clockAheadMs;
  const { method, path, recoveryHint = DEFAULT_RECOVERY_HINT } = sending.request;
  const { query, contentType, body } = sending.payload;
  // The message of an ApiError begins with method and path, too.
  const reason = describeCauseInOneLine(cause).replace(`${label}: `, "").replace(/\.$/, "");
  return new OutcomeUnknownError(`${label}: sent, but the outcome is unknown (${reason}). ${recoveryHint}`, {
    cause,
    status: sending.attemptTrace?.head?.status,
    request: {
      method,
      path,
      ...(Object.keys(query).length > 0 && { query }),
      // As it was sent: the caller may have changed its own object since.
      ...(body !== undefined && { body: contentType === JSON_CONTENT_TYPE ? JSON.parse(body) : body }),
      sentAt,
      ...(clockAheadMs !== undefined && { clockAheadMs }),
    },
  });
}

/** The error for a success whose body cannot be used. */
export function unreadableResponseError(sending: Sending, problem: string, cause?: unknown): ResponseValidationError {
  return new ResponseValidationError(`${sending.label}: ${problem}${alreadyAppliedWarning(sending)}`, {
    status: responseStatusOf(sending),
    issues: [{ path: [], message: problem }],
    cause,
  });
}

function falseSuccessError(sending: Sending, { message }: FalseSuccess): ResponseValidationError {
  const status = responseStatusOf(sending);
  return new ResponseValidationError(
    `${sending.label}: ${status}, but ${message}. It may or may not have been applied. ${sending.request.recoveryHint ?? ""}`.trim(),
    { status, issues: [{ path: [], message }] },
  );
}

const MAX_SHOWN_ISSUES = 3;

/** The error for a success whose body is not what the service documents. */
export function invalidResponseError(
  { sending, response: { status } }: ResponseContext,
  issues: Issue[],
  advice = "",
): ResponseValidationError {
  const shown = issues.slice(0, MAX_SHOWN_ISSUES).map(describeIssue).join("; ");
  const unseen = issues.length < MAX_ISSUES ? issues.length - MAX_SHOWN_ISSUES : "many";
  const more = issues.length > MAX_SHOWN_ISSUES ? ` and ${unseen} more` : "";
  return new ResponseValidationError(
    `${sending.label}: the response is not what the service documents: ${shown}${more}${alreadyAppliedWarning(sending)}. ${advice}`.trimEnd(),
    { status, issues },
  );
}

/** A warning for a write that succeeded although its response cannot be used. */
const alreadyAppliedWarning = (sending: Sending) =>
  sending.isWrite ? `. The service has applied it (HTTP ${responseStatusOf(sending)}): do not resend it` : "";

const describeAttemptCount = ({ attempts }: Sending) =>
  attempts === 0 ? "" : attempts === 1 ? ", 1 attempt" : `, ${attempts} attempts`;

/** The reason in one line without a full stop, to be part of a message. */
function describeCauseInOneLine(cause: unknown): string {
  return toOneLine(describeCause(cause)).replace(/\.$/, "");
}

function describeCause(cause: unknown): string {
  try {
    // The message of fetch is only "fetch failed"; the reason is in the cause.
    const inner = cause instanceof StocklotError || !(cause instanceof Error) ? undefined : cause.cause;
    return inner instanceof Error ? `${messageOf(cause)}: ${messageOf(inner)}` : messageOf(cause);
  } catch {
    // A getter or a Proxy of the caller's: it must not replace the error.
    return messageOf(cause);
  }
}
