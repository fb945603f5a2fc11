/*
 * Creates the error that the caller receives. An error is complete when it is created, and never changed.
 *
 *   errorOf       the error of one attempt, or of the wait for the attempt
 *   callerError   the error of the call: the error of its last attempt, or an `OutcomeUnknownError` that has it as its cause
 */
import {
  ClientClosedError,
  ConnectionError,
  OutcomeUnknownError,
  ResponseValidationError,
  StocklotError,
  TimeoutError,
} from "../../shared/errors/index.js";
import { copyOfCause } from "../../shared/errors/redact.js";
import { Closed, OutOfTime } from "../../shared/time/abort.js";
import { messageOf, toOneLine } from "../../shared/unknown.js";
import { createApiError } from "./api-error.js";
import type { Call } from "./call.js";
import { consequenceOf, type Failure, type Problem, SLOT_EXPIRED } from "./failure.js";
import { JSON_CONTENT_TYPE } from "./payload.js";
import type { AttemptResult, Progress } from "./progress.js";

/** Returns the result of a failed attempt, or of a failed wait for an attempt. */
export function failedAttempt(call: Call, before: Progress, problem: Problem): AttemptResult {
  const consequence = consequenceOf(call, problem);
  const applied = call.isWrite && consequence.applied === "unknown" ? "unknown" : before.applied;
  const progress = { ...before, applied };
  const error = errorOf(call, progress, problem);
  const failure = { ...consequence, problem, error };
  // A problem that ends the call, or the wait for an attempt, is no failure of an attempt.
  if (NO_ATTEMPT.includes(problem.kind)) return { progress, failure };
  call.request.onFailedAttempt?.(error);
  return { progress: { ...progress, lastError: error }, failure };
}

const NO_ATTEMPT: readonly Problem["kind"][] = ["end", "slot too late", "slot source failed", "no token", "veto"];

/** Returns the error for a problem. `progress` is how far the call has come, this attempt included. */
function errorOf(call: Call, progress: Progress, problem: Problem): unknown {
  const { label } = call;
  const { applied, lastError } = progress;
  switch (problem.kind) {
    case "status":
      return createApiError(call, progress, problem.response, problem.pauseMs);
    case "false success": {
      const { status, text } = problem;
      const doubt = "The write may or may not have been applied.";
      const message = `${label}: ${status}, but ${text}. ${doubt} ${call.request.recoveryHint ?? ""}`;
      return new ResponseValidationError(message.trim(), { status, issues: [{ path: [], message: text }], applied });
    }
    case "connection": {
      const { problem: what, detail, advice } = problem.network;
      const unsent = problem.sent ? "" : ", nothing was sent";
      const message = `${label}: ${what}${unsent}${attemptCount(progress)} (${detail}). ${advice}`.trim();
      return new ConnectionError(message, { cause: problem.cause, applied });
    }
    case "timeout": {
      const what = `no complete response within timeoutMs (${call.settings.timeoutMs} ms)${attemptCount(progress)}`;
      const message = `${label}: ${what}${lastFailure(label, lastError)}`;
      return new TimeoutError(message, { clock: "timeoutMs", cause: lastError, applied });
    }
    case "too large":
    case "undecodable": {
      const { status, cause } = problem;
      const { maxResponseBytes } = call.settings;
      const text =
        problem.kind === "too large"
          ? `the response is larger than maxResponseBytes (${maxResponseBytes} bytes)`
          : "the response cannot be decoded";
      return new ResponseValidationError(`${label}: ${text}`, {
        status,
        issues: [{ path: [], message: text }],
        cause,
        applied,
      });
    }
    case "end":
      return errorOfEnd(label, problem.reason, progress);
    case "slot too late":
      return slotTooLateError(label, call.lifetime.totalTimeoutMs, problem, progress);
    case "slot source failed":
      return new ConnectionError(`${label}: ${problem.message}${unsentOrCount(progress)}`, {
        cause: problem.cause,
        applied,
      });
    case "slot expired":
      return new ConnectionError(`${label}: ${SLOT_EXPIRED}. Nothing was sent.`, { applied });
    case "no token":
      return applied === "no" ? problem.error : withApplied(problem.error, applied);
    case "veto":
      return problem.thrown;
    case "exception":
      // A fetch function may put the request, and so a secret, into its errors. Other errors are rethrown unchanged.
      return problem.sent ? copyOfCause(problem.thrown) : problem.thrown;
  }
}

/** Returns the error of a call, given the failure of its last attempt. */
export function callerError(call: Call, progress: Progress, { problem, error }: Pick<Failure, "problem" | "error">) {
  const { applied } = progress;
  if (!call.isWrite || applied === "no") return error;
  // An idempotent write fails as a read does, unless the caller has aborted it.
  const isAborted = problem.kind === "end" && !isOwnReason(problem.reason);
  return isAborted || (applied === "unknown" && !call.mayRepeat)
    ? outcomeUnknownError(call, progress, { cause: error, isReason: isAborted })
    : error;
}

/** Returns the error of a call whose response could not be read, or could not be read in time. */
export function errorOfReading(call: Call, progress: Progress, thrown: unknown): unknown {
  const { aborted, reason } = call.lifetime;
  if (!aborted || thrown !== reason) return thrown;
  const problem: Problem = { kind: "end", reason, sent: true };
  return callerError(call, progress, { problem, error: errorOf(call, progress, problem) });
}

const isOwnReason = (reason: unknown) => reason instanceof OutOfTime || reason instanceof Closed;

/** Returns the error of a call or a search that was ended by its signal, its time or `close()`. */
export function errorOfEnd(label: string, reason: unknown, progress?: Progress): unknown {
  const applied = progress?.applied ?? "no";
  if (reason instanceof Closed) return new ClientClosedError(`${label}: the client is closed`, { applied });
  if (!(reason instanceof OutOfTime)) return reason;
  const state = progress ? unsentOrCount(progress) + lastFailure(label, progress.lastError) : "";
  const message = `${label}: not finished within totalTimeoutMs (${reason.totalTimeoutMs} ms)${state}`;
  return new TimeoutError(message, { clock: "totalTimeoutMs", cause: progress?.lastError, applied });
}

/** Returns the error of a call that would get no slot within `totalTimeoutMs`. */
export function slotTooLateError(
  label: string,
  totalTimeoutMs: number,
  { waitMs, pausedUntil }: { waitMs: number; pausedUntil: number | null },
  progress?: Progress,
): TimeoutError {
  const retryAfterMs = Number.isFinite(waitMs) ? Math.ceil(waitMs) : undefined;
  const why =
    pausedUntil === null
      ? `the rate limit is used up${retryAfterMs === undefined ? "" : `. Try again in ${retryAfterMs} ms`}`
      : `all requests pause until ${new Date(pausedUntil).toISOString()} after a 429. Try again then`;
  const state = progress ? unsentOrCount(progress) : ", not sent";
  const before = lastFailure(label, progress?.lastError).replace(/^\./, "");
  const message = `${label}: no slot within totalTimeoutMs (${totalTimeoutMs} ms)${state}: ${why}.${before}`;
  const cause = progress?.lastError;
  return new TimeoutError(message, { clock: "totalTimeoutMs", retryAfterMs, cause, applied: progress?.applied });
}

/** When the request of each `OutcomeUnknownError` was sent, by the monotonic clock in ms: the wall clock may be set meanwhile. */
export const monotonicSentAt = new WeakMap<object, number>();

const DEFAULT_RECOVERY_HINT = "Check whether it was applied before you resend it.";

function outcomeUnknownError(
  { label, request, payload }: Call,
  { sending, responseHead }: Progress,
  { cause, isReason }: { cause: unknown; isReason: boolean },
) {
  const { method, path, recoveryHint = DEFAULT_RECOVERY_HINT } = request;
  const { query, contentType, body } = payload;
  const { sentAt, clockAheadMs, lastRecNo, begunAtMs } = sending;
  // The message of the cause may begin with method and path, too.
  const reason = reasonIn(cause, label);
  const error = new OutcomeUnknownError(`${label}: sent, but the outcome is unknown (${reason}). ${recoveryHint}`, {
    cause,
    isReason,
    status: responseHead?.status,
    request: {
      method,
      path,
      ...(Object.keys(query).length > 0 && { query }),
      // The body as it was sent, since the caller may have changed its own object.
      ...(body !== undefined && { body: contentType === JSON_CONTENT_TYPE ? JSON.parse(body) : body }),
      sentAt,
      ...(clockAheadMs !== undefined && { clockAheadMs }),
      ...(lastRecNo !== undefined && { lastRecNo }),
    },
  });
  monotonicSentAt.set(error.request, begunAtMs);
  return error;
}

/** Copies an error that several calls share, and sets `applied` for the write of one of these calls. */
function withApplied(error: unknown, applied: Progress["applied"]): unknown {
  if (!(error instanceof StocklotError)) return error;
  const copy = new Error(error.message);
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
  const fields = Object.getOwnPropertyDescriptors(error);
  return Object.defineProperties(copy, { ...fields, applied: { ...fields.applied, value: applied } });
}

const LAST_FAILURE = ". The last failure: ";

/** Returns the message of a cause without method and path, because the outer message begins with them. */
const reasonIn = (error: unknown, label: string): string =>
  toOneLine(messageOf(error)).replace(`${label}: `, "").split(LAST_FAILURE, 1).join("").replace(/\.$/, "");

/** The last failure, as a sentence that follows another one; empty if there was none. */
const lastFailure = (label: string, error: unknown): string =>
  error === undefined ? "" : `${LAST_FAILURE}${reasonIn(error, label)}.`;

const attemptCount = ({ attempts }: Progress): string =>
  attempts === 0 ? "" : attempts === 1 ? ", 1 attempt" : `, ${attempts} attempts`;

const unsentOrCount = (progress: Progress): string => attemptCount(progress) || ", nothing was sent";

/** Errors whose stack trace contains the line of a caller. */
const shownErrors = new WeakSet<object>();

/**
 * Puts the caller's line into the stack trace of an error. V8 knows this line in an async function that the caller awaits. If
 * several calls share a failure, its trace shows the line of the first caller.
 */
export function showCaller(error: unknown): void {
  if (!(error instanceof StocklotError) || shownErrors.has(error)) return;
  shownErrors.add(error);
  Error.captureStackTrace?.(error, showCaller);
}
