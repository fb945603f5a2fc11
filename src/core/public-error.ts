import {
  ConnectionError,
  type Issue,
  OutcomeUnknownError,
  ResponseValidationError,
  StocklotError,
  TimeoutError,
} from "../errors/index.js";
import { describeIssue } from "../errors/input-validation-error.js";
import { messageOf } from "../errors/message-of.js";
import { Ended, type Ending } from "../time/lifetime.js";
import { apiError } from "./api-errors.js";
import type { Call } from "./call.js";
import { isSuccess, Refusal } from "./failure.js";
import { JSON_TYPE } from "./payload.js";
import { isOutcomeOpen } from "./retry-policy.js";
import { TransportFailure } from "./transport.js";

/** What the caller gets for a call that failed: the error itself, or that its outcome is unknown because of it. */
export function publicError(call: Call, failure: unknown): unknown {
  const error = errorFor(call, failure);
  return leavesOutcomeUnknown(call, failure) ? outcomeUnknown(call, error) : error;
}

/** The failure of an attempt as the error that tells of it. */
export function errorFor(call: Call, failure: unknown): unknown {
  if (failure instanceof Refusal) return apiError(call, failure.response, failure.waitMs ?? 0);
  if (failure instanceof Ended) return endingError(call, failure.ending);
  if (failure instanceof TransportFailure) return transportError(call, failure);
  return failure;
}

function transportError(call: Call, { reason, sent, head }: TransportFailure): unknown {
  switch (reason.kind) {
    case "ended":
      return endingError(call, call.lifetime.ending ?? { kind: "closed" });
    case "timeout":
      return new TimeoutError(
        `${call.title}: no complete answer within timeoutMs (${call.settings.timeoutMs} ms), ${attemptsText(call)}`,
        { clock: "timeoutMs", spent: call.spent, ...before(call) },
      );
    case "too large":
      return unreadable(call, head?.status ?? 0, "the answer is larger than maxResponseBytes", undefined);
    case "undecodable":
      return unreadable(call, head?.status ?? 0, "the answer cannot be decompressed", reason.cause);
    case "connection":
      if (call.request.successByStatus && head && isSuccess(head.status)) {
        return unreadable(call, head.status, "the connection broke within the answer", reason.cause);
      }
      return new ConnectionError(
        `${call.title}: ${sent ? "the connection broke" : "no connection, nothing was sent"}, ${attemptsText(call)}: ${withReason(reason.cause)}`,
        { cause: reason.cause },
      );
  }
}

function endingError(call: Call, ending: Ending): unknown {
  switch (ending.kind) {
    case "aborted":
      return ending.reason;
    case "closed":
      return new ConnectionError(`${call.title}: the client is closed`);
    case "out-of-time":
      return new TimeoutError(`${call.title}: ${outOfTime(call)}`, {
        clock: "totalTimeoutMs",
        spent: call.spent,
        ...before(call),
      });
  }
}

const before = (call: Call) => (call.failure === undefined ? {} : { cause: call.failure });

/**
 * Whether a write may have been applied though the call failed. Writes that may be repeated fail as reads do, unless the
 * caller has called one off.
 */
function leavesOutcomeUnknown(call: Call, failure: unknown): boolean {
  if (!call.isWrite) return false;
  if (failure instanceof Refusal) return !call.repeatable && isOutcomeOpen({ kind: "status", ...failure.response });
  const aborted = call.lifetime.ending?.kind === "aborted";
  if (failure instanceof Ended) return aborted && call.outcomeOpen;
  if (!(failure instanceof TransportFailure)) return false;
  if (failure.reason.kind === "ended")
    return (failure.sent && (aborted || !call.repeatable)) || (aborted && call.outcomeOpen);
  if (failure.reason.kind === "timeout") return failure.sent && !call.repeatable;
  if (failure.reason.kind !== "connection" || !failure.sent || call.repeatable) return false;
  return !(call.request.successByStatus && failure.head && isSuccess(failure.head.status));
}

const LOOK_FIRST = "Look before you send it again.";

function outcomeUnknown(call: Call, cause: unknown): OutcomeUnknownError {
  const { method, path, afterwards = LOOK_FIRST } = call.request;
  const { query, contentType, body } = call.payload;
  return new OutcomeUnknownError(
    `${call.title}: sent, but whether it was applied is not known (${withReason(cause).replace(`${call.title}: `, "")}). ${afterwards}`,
    {
      cause,
      request: {
        method,
        path,
        ...(Object.keys(query).length === 0 ? {} : { query }),
        // As it was sent: the caller may have changed its own object since.
        ...(body === undefined ? {} : { body: contentType === JSON_TYPE ? JSON.parse(body) : body }),
        sentAt: call.sentAt,
      },
    },
  );
}

/** The error for a success whose body cannot be used. */
export function unreadable(call: Call, status: number, problem: string, cause: unknown): ResponseValidationError {
  return new ResponseValidationError(`${call.title}: ${problem}${applied(call, status)}`, {
    status,
    issues: [{ path: [], message: problem }],
    ...(cause === undefined ? {} : { cause }),
  });
}

const ISSUES_SHOWN = 3;

/** The error for a success whose body is not what the service documents. */
export function answerIssues(call: Call, status: number, issues: Issue[], advice = ""): ResponseValidationError {
  const shown = issues.slice(0, ISSUES_SHOWN).map(describeIssue).join("; ");
  const more = issues.length > ISSUES_SHOWN ? ` and ${issues.length - ISSUES_SHOWN} more` : "";
  return new ResponseValidationError(
    `${call.title}: the answer is not what the service documents: ${shown}${more}${applied(call, status)}.${advice}`,
    { status, issues },
  );
}

/** A warning for a write that succeeded though its answer is of no use. */
export const applied = (call: Call, status: number) =>
  call.isWrite ? `. The service has applied it (HTTP ${status}): do not send it again` : "";

const attemptsText = (call: Call) => (call.attempts === 1 ? "1 attempt" : `${call.attempts} attempts`);

function withReason(cause: unknown): string {
  if (cause instanceof StocklotError || !(cause instanceof Error)) return messageOf(cause);
  // fetch says only "fetch failed" and puts the reason into the cause.
  return cause.cause instanceof Error ? `${messageOf(cause)}: ${messageOf(cause.cause)}` : messageOf(cause);
}

function outOfTime(call: Call): string {
  return call.attempts === 0
    ? "no token or slot within totalTimeoutMs, nothing was sent"
    : `totalTimeoutMs is up, or would be before the next attempt, ${attemptsText(call)}`;
}
