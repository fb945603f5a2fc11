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
import { messageOf, toOneLine } from "../../errors/unknown-value.js";
import { wording } from "../../errors/wording.js";
import type { WaitEstimate } from "../../limiter/rate-limiter.js";
import { MAX_ISSUES } from "../../schemas/input-issues.js";
import { CanceledError, type CancelReason } from "../../time/cancellation.js";
import type { Call, ResponseContext } from "../call.js";
import {
  CallFailure,
  ErrorResponse,
  FalseSuccess,
  isProvenAppliedByStatus,
  mayHaveBeenApplied,
  responseStatusOf,
} from "../failure.js";
import { JSON_CONTENT_TYPE } from "../request/payload.js";
import { TransportFailure } from "../transport/transport.js";
import { createApiError } from "./error-response.js";

/** The failure of a call, as all who wait for it receive it. */
export function toCallFailure(call: Call, thrown: unknown): CallFailure {
  return thrown instanceof CallFailure ? thrown : new CallFailure(call, thrown, createError(call, thrown));
}

/** The error for a caller who waits for a call that failed, a new object each time. What did not fail in a call stays as it is. */
export function createCallerError(failure: unknown): unknown {
  if (!(failure instanceof CallFailure)) return failure;
  const error = createError(failure.call, failure.thrown);
  // V8 keeps ten frames: without those of this package's own functions, the caller's line is among them.
  if (error instanceof StocklotError) Error.captureStackTrace?.(error, createCallerError);
  return error;
}

/** The error of the last attempt, or an `OutcomeUnknownError` with that as its cause. */
function createError(call: Call, thrown: unknown): unknown {
  const cause = errorOfFailedAttempt(call, thrown);
  return isWriteOutcomeUnknown(call, thrown) ? outcomeUnknownError(call, cause) : cause;
}

export function errorOfFailedAttempt(call: Call, failure: unknown): unknown {
  if (failure instanceof ResponseValidationError) return new ResponseValidationError(failure.message, failure);
  if (failure instanceof ErrorResponse) return createApiError(call, failure);
  if (failure instanceof FalseSuccess) return falseSuccessError(call, failure);
  if (failure instanceof CanceledError) return canceledError(call, failure.reason);
  if (failure instanceof ClientSecretFailure) return clientSecretTimeoutOrConfigurationError(call, failure);
  return failure instanceof TransportFailure ? transportError(call, failure) : failure;
}

function transportError(call: Call, failure: TransportFailure): unknown {
  const { kind, cause } = failure;
  switch (kind) {
    case "canceled":
      return canceledError(call, call.cancellation.reason);
    case "timeout":
      return timeoutError(
        call,
        "timeoutMs",
        `no complete response within ${wording().timeoutMs} (${call.settings.timeoutMs} ms)`,
      );
    case "too large":
      return unreadableResponseError(call, `the response is larger than ${wording().maxResponseBytes}`);
    case "undecodable":
      return unreadableResponseError(call, "the response cannot be decompressed", cause);
    case "exception":
      // Unchanged, unless it shows a secret: a fetch function may put the request into its errors.
      return isProvenAppliedByStatus(call)
        ? unreadableResponseError(call, "the response could not be read", cause)
        : redactCause(cause);
    case "connection":
      return isProvenAppliedByStatus(call)
        ? unreadableResponseError(call, "the connection broke within the response", cause)
        : new ConnectionError(connectionMessage(call, failure), { cause });
  }
}

function clientSecretTimeoutOrConfigurationError(call: Call, { kind, message, cause }: ClientSecretFailure): unknown {
  return kind === "timeout"
    ? timeoutError(call, "timeoutMs", message)
    : new ConfigurationError(`${call.label}: ${message}`, cause === undefined ? {} : { cause });
}

function connectionMessage(call: Call, { cause, network }: TransportFailure): string {
  const { problem = "no usable response", detail = describeCauseInOneLine(cause), advice = "" } = network ?? {};
  const sent = call.attemptTrace?.sent ? "" : ", nothing was sent";
  return `${call.label}: ${problem}${sent}${describeAttemptCount(call)} (${detail}). ${advice}`.trim();
}

function canceledError(call: Call, reason: CancelReason = { kind: "closed" }): unknown {
  if (reason.kind === "aborted") return reason.reason;
  if (reason.kind === "closed") return new ClientClosedError(`${call.label}: the client is closed`);
  const { waitingFor, unmetWait } = call;
  const limit = `totalTimeoutMs (${reason.totalTimeoutMs} ms)`;
  if (unmetWait)
    return timeoutError(call, "totalTimeoutMs", `no ${waitingFor} within ${limit}`, retryAdvice(unmetWait));
  const isEarly = call.attempts > 0 && reason.isEarly;
  const problem = isEarly ? `the next attempt would start after ${limit}` : `not finished within ${limit}`;
  return timeoutError(call, "totalTimeoutMs", problem);
}

function retryAdvice({ waitMs, pausedUntil }: WaitEstimate): string {
  if (pausedUntil !== null) {
    return `: all requests pause until ${new Date(pausedUntil).toISOString()} after a 429. Try again then.`;
  }
  return isFiniteWait(waitMs) ? `: the rate limit is used up. Try again in ${Math.ceil(waitMs)} ms.` : "";
}

const isFiniteWait = (waitMs: number) => waitMs > 0 && waitMs < Infinity;

function timeoutError(call: Call, clock: TimeoutError["clock"], problem: string, advice = ""): TimeoutError {
  const { label, spent, lastError, unmetWait } = call;
  const { waitMs = 0, pauseError } = unmetWait ?? {};
  const isUnsent = (call.whole ?? call).attempts === 0;
  const sent = isUnsent ? ", nothing was sent" : describeAttemptCount(call);
  return new TimeoutError(`${label}: ${problem}${sent}${advice}`, {
    clock,
    spent,
    retryAfterMs: isFiniteWait(waitMs) ? Math.ceil(waitMs) : undefined,
    // The 429 that began the pause is the last failure, whichever call received it.
    cause: RateLimitError.is(lastError) ? lastError : (pauseError?.() ?? lastError),
  });
}

/** Whether a write may have been applied though the call failed. */
function isWriteOutcomeUnknown(call: Call, failure: unknown): boolean {
  if (!call.isWrite) return false;
  const isUnknown = mayHaveBeenApplied(call, failure);
  const wasCanceled =
    failure instanceof CanceledError || (failure instanceof TransportFailure && failure.kind === "canceled");
  // Idempotent writes fail as reads do, unless the caller has aborted one.
  return wasCanceled && call.cancellation.reason?.kind === "aborted"
    ? isUnknown || call.mayHaveBeenApplied
    : isUnknown && !call.isIdempotent;
}

const DEFAULT_RECOVERY_HINT = "Check whether it was applied before you resend it.";

function outcomeUnknownError(call: Call, cause: unknown): OutcomeUnknownError {
  const { label, sentAt, clockAheadMs } = call;
  const { method, path, recoveryHint = DEFAULT_RECOVERY_HINT } = call.request;
  const { query, contentType, body } = call.payload;
  // The message of an ApiError begins with method and path, too.
  const reason = describeCauseInOneLine(cause).replace(`${label}: `, "").replace(/\.$/, "");
  return new OutcomeUnknownError(`${label}: sent, but the outcome is unknown (${reason}). ${recoveryHint}`, {
    cause,
    clockAheadMs,
    request: {
      method,
      path,
      ...(Object.keys(query).length > 0 && { query }),
      // As it was sent: the caller may have changed its own object since.
      ...(body !== undefined && { body: contentType === JSON_CONTENT_TYPE ? JSON.parse(body) : body }),
      sentAt,
    },
  });
}

/** The error for a success whose body cannot be used. */
export function unreadableResponseError(call: Call, problem: string, cause?: unknown): ResponseValidationError {
  return new ResponseValidationError(`${call.label}: ${problem}${alreadyAppliedWarning(call)}`, {
    status: responseStatusOf(call),
    issues: [{ path: [], message: problem }],
    cause,
  });
}

function falseSuccessError(call: Call, { message }: FalseSuccess): ResponseValidationError {
  const status = responseStatusOf(call);
  return new ResponseValidationError(
    `${call.label}: ${status}, but ${message}. It may or may not have been applied. ${call.request.recoveryHint ?? ""}`.trim(),
    { status, issues: [{ path: [], message }] },
  );
}

const MAX_SHOWN_ISSUES = 3;

/** The error for a success whose body is not what the service documents. */
export function invalidResponseError(
  { call, response: { status } }: ResponseContext,
  issues: Issue[],
  advice = "",
): ResponseValidationError {
  const shown = issues.slice(0, MAX_SHOWN_ISSUES).map(describeIssue).join("; ");
  const unseen = issues.length < MAX_ISSUES ? issues.length - MAX_SHOWN_ISSUES : "many";
  const more = issues.length > MAX_SHOWN_ISSUES ? ` and ${unseen} more` : "";
  return new ResponseValidationError(
    `${call.label}: the response is not what the service documents: ${shown}${more}${alreadyAppliedWarning(call)}. ${advice}`.trimEnd(),
    { status, issues },
  );
}

/** A warning for a write that succeeded although its response cannot be used. */
const alreadyAppliedWarning = (call: Call) =>
  call.isWrite ? `. The service has applied it (HTTP ${responseStatusOf(call)}): do not resend it` : "";

const describeAttemptCount = ({ attempts }: Call) =>
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
