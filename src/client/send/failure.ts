/*
 * What is known of a failed attempt, and what follows. This table is the only place that decides whether a write may be
 * retried.
 *
 *   what happened                                              `applied`   again
 *   nothing was sent (no connection, `beforeSend` threw,
 *   aborted or closed in the queue)                            no          back-off, unless it cannot help
 *   the same, refused on this machine, before the client has
 *   received anything, with default retries                    no          twice, within a second: nothing is listening
 *   401 · 429                                                  no          once, with a new token · after the pause
 *   other 4xx, 501, other 3xx                                  no          never
 *   408, other 5xx, 302, 303, timeout, broken connection,
 *   aborted after sending, false success, 2xx cut off          unknown     back-off for GET, PUT and DELETE, but not after an
 *                                                                          abort or a false success; never for POST and PATCH
 *   2xx that is too large or cannot be decoded                 unknown     never
 *   2xx                                                        yes         –
 *
 * "Sent" is what the transport knows (`Exchange.sent`), never what an error code suggests.
 */
import { ConnectionError, ResponseValidationError, TimeoutError } from "../../shared/errors/index.js";
import { copyOfCause } from "../../shared/errors/redact.js";
import { messageOf, toOneLine } from "../../shared/unknown.js";
import { type Exchange, ExchangeFailure, type WireResponse } from "../transport/exchange.js";
import { describeNetworkFailure } from "../transport/network-failure.js";
import { createApiError, parseRetryAfterMs } from "./api-error.js";
import type { Call } from "./call.js";
import { hasDefaultRetries } from "./retry-options.js";

export type Retry = "never" | "with a new token" | "after the pause" | "after a back-off" | "after a moment";

/** How an attempt failed. */
export class Failure extends Error {
  constructor(
    /** What the caller receives. */
    readonly error: unknown,
    /** Of a write. */
    readonly applied: "no" | "unknown",
    readonly retry: Retry,
    /** In a few words, for log lines and the retry hook. */
    readonly reason: string,
    /** The wait that the service requests, in ms. */
    readonly retryAfterMs = 0,
  ) {
    super(reason);
  }
}

/** Others may have the slot by now, because this process stood still. Nothing was sent. */
export class SlotExpired extends Error {
  constructor() {
    super("the process stood still, and its slot has expired");
  }
}

/** The caller's `beforeSend`, or the slot, does not allow that the request is sent. Nothing was sent. */
export class Refusal extends Error {
  constructor(readonly thrown: unknown) {
    super("refused");
  }
}

/** Whether the status leaves open if a write was applied. After a write, 302 and 303 lead to its result. */
const leavesOpen = (status: number) => isTransientStatus(status) || status === 302 || status === 303;

const isTransientStatus = (status: number) => status === 408 || (status >= 500 && status !== 501);

/** The response has an error status. `pauseMs`: after a 429, the rest of the pause. */
export function failureOfStatus(call: Call, response: WireResponse, pauseMs: number): Failure {
  const { status } = response;
  const error = createApiError(call, response, pauseMs);
  const reason = `HTTP ${status}`;
  if (status === 429) return new Failure(error, "no", "after the pause", reason);
  if (status === 401 && !call.request.isTokenRequest) return new Failure(error, "no", "with a new token", reason);
  if (!leavesOpen(status)) return new Failure(error, "no", "never", reason);
  const retry = isTransientStatus(status) ? repeatedIf(call.mayRepeat) : "never";
  return new Failure(error, "unknown", retry, reason, parseRetryAfterMs(response.headers) ?? 0);
}

/** The status is a success, but the response reports none. */
export function failureOfFalseSuccess(call: Call, { status }: WireResponse, problem: string): Failure {
  const message = `${call.label}: ${status}, but ${problem}. It may or may not have been applied. ${call.request.recoveryHint ?? ""}`;
  const error = new ResponseValidationError(message.trim(), { status, issues: [{ path: [], message: problem }] });
  return new Failure(error, "unknown", "never", problem);
}

/**
 * The exchange has failed. Of an error response that was cut off, the status is enough: see `attempt`. `hasResponded`: the
 * client has received a response before.
 */
export function failureOfExchange(call: Call, exchange: Exchange, thrown: unknown, hasResponded: boolean): Failure {
  const { sent } = exchange;
  const applied = sent ? "unknown" : "no";
  const again = repeatedIf(!sent || call.mayRepeat);
  if (!(thrown instanceof ExchangeFailure)) return new Failure(thrown, applied, "never", messageOf(thrown));
  const { kind, cause } = thrown;
  switch (kind) {
    case "aborted":
      return new Failure(cause, applied, "never", kind);
    case "timeout": {
      const problem = `no complete response within timeoutMs (${call.settings.timeoutMs} ms)${call.attemptCount}`;
      const error = new TimeoutError(`${call.label}: ${problem}${call.lastFailure}`, {
        clock: "timeoutMs",
        cause: call.lastError,
      });
      return new Failure(error, applied, again, kind);
    }
    case "too large":
    case "undecodable": {
      const problem = UNREADABLE[kind];
      const init = { status: exchange.head?.status ?? 0, issues: [{ path: [], message: problem }], cause };
      return new Failure(new ResponseValidationError(`${call.label}: ${problem}`, init), applied, "never", kind);
    }
    case "exception":
      if (isRefusal(cause)) return failureOfRefusal(call, cause.thrown);
      // Unchanged, unless it shows a secret: a fetch function may put the request into its errors.
      return new Failure(sent ? copyOfCause(cause) : cause, applied, "never", messageOf(cause));
    case "connection": {
      const network = describeNetworkFailure(cause);
      const { problem = "no usable response", detail = toOneLine(messageOf(cause)), advice = "" } = network ?? {};
      const unsent = sent ? "" : ", nothing was sent";
      const message = `${call.label}: ${problem}${unsent}${call.attemptCount} (${detail}). ${advice}`.trim();
      const error = new ConnectionError(message, { cause });
      const isAbsent =
        network?.isRefusedHere && !hasResponded && again !== "never" && hasDefaultRetries(call.settings.retry);
      const retry = network?.permanent ? "never" : isAbsent ? "after a moment" : again;
      return new Failure(error, applied, retry, `${problem}: ${detail}`);
    }
  }
}

function isRefusal(cause: unknown): cause is Refusal {
  try {
    return cause instanceof Refusal;
  } catch {
    // A Proxy of the caller's.
    return false;
  }
}

function failureOfRefusal(call: Call, thrown: unknown): Failure {
  if (!(thrown instanceof SlotExpired)) return new Failure(thrown, "no", "never", messageOf(thrown));
  const error = new ConnectionError(`${call.label}: ${thrown.message}. Nothing was sent.`);
  return new Failure(error, "no", "after a back-off", thrown.message);
}

const repeatedIf = (allowed: boolean): Retry => (allowed ? "after a back-off" : "never");

const UNREADABLE = {
  "too large": "the response is larger than maxResponseBytes",
  undecodable: "the response cannot be decoded",
};
