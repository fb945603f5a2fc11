/*
 * Decides what follows from a failed attempt. No other place decides whether a write may be retried.
 *
 *   what happened                                              `applied`   again
 *   nothing was sent (no connection, `beforeSend` threw,
 *   aborted or closed in the queue)                            no          back-off, unless it cannot help
 *   connection refused on this machine before the client has
 *   received any response, with default retries                no          twice within a second, since nothing is listening
 *   401                                                        no          once, with a new token
 *   429                                                        no          after the pause
 *   any other error status                                     no          never
 *   a status after which a write may have been applied
 *   (`mayHaveApplied`), timeout, broken connection,
 *   aborted after sending, false success, 2xx cut off          unknown     back-off for GET, PUT and DELETE, but not after an
 *                                                                          abort or a false success; never for POST and PATCH
 *   2xx that is too large or cannot be decoded                 unknown     never
 *   2xx                                                        yes         –
 *
 * "Sent" is what the transport knows (`ExchangeEnd.sent`), never what an error code suggests.
 */
import { isTransientStatus, mayHaveApplied } from "../../service/status.js";
import { messageOf } from "../../shared/unknown.js";
import type { WireResponse } from "../transport/exchange.js";
import type { NetworkFailure } from "../transport/network-failure.js";
import { parseRetryAfterMs } from "./api-error.js";
import type { Call } from "./call.js";
import { hasDefaultRetries } from "./retry-options.js";

export type Retry = "never" | "with a new token" | "after the pause" | "after a back-off" | "after a moment";

/** The problem of an attempt, or of the wait for the attempt. */
export type Problem =
  /** An error status. `pauseMs`: the remaining time of the pause after a 429, in ms. */
  | { readonly kind: "status"; readonly response: WireResponse; readonly pauseMs: number }
  /** The status is a success, but the response does not report one. */
  | { readonly kind: "false success"; readonly status: number; readonly text: string }
  /** `hasResponded`: whether the client has received any response before. */
  | {
      readonly kind: "connection";
      readonly network: NetworkFailure;
      readonly cause: unknown;
      readonly sent: boolean;
      readonly hasResponded: boolean;
    }
  | { readonly kind: "timeout"; readonly sent: boolean }
  | {
      readonly kind: "too large" | "undecodable";
      readonly cause: unknown;
      readonly sent: boolean;
      readonly status: number;
    }
  /** The caller's signal, `totalTimeoutMs` or `close()` has ended the call. */
  | { readonly kind: "end"; readonly reason: unknown; readonly sent: boolean }
  /** No slot will be free in time. */
  | { readonly kind: "slot too late"; readonly waitMs: number; readonly pausedUntil: number | null }
  /** The source of slots failed. */
  | { readonly kind: "slot source failed"; readonly message: string; readonly cause: unknown }
  /** This process stood still for so long that another process may have the slot by now. */
  | { readonly kind: "slot expired" }
  /** There is no token. Several calls may share `error`, the error of the token request. */
  | { readonly kind: "no token"; readonly error: unknown }
  /** The caller's `beforeSend` threw, so the request must not be sent. */
  | { readonly kind: "veto"; readonly thrown: unknown }
  /** The transport or the caller's code threw something that is no failure of the network. */
  | { readonly kind: "exception"; readonly thrown: unknown; readonly sent: boolean };

/** The consequence of a problem. */
export interface Consequence {
  /** Whether the attempt may have been applied, if it was a write. */
  readonly applied: "no" | "unknown";
  readonly retry: Retry;
  /** The reason in a few words, for log lines and the retry hook. */
  readonly reason: string;
  /** The wait that the service requests, in ms. */
  readonly retryAfterMs?: number | undefined;
}

/** How an attempt failed. */
export interface Failure extends Consequence {
  readonly problem: Problem;
  /** The error that the caller receives if no attempt follows. */
  readonly error: unknown;
}

export const SLOT_EXPIRED = "the process stood still, and its slot has expired";

export function consequenceOf(call: Call, problem: Problem): Consequence {
  const { kind } = problem;
  switch (kind) {
    case "status":
      return afterStatus(call, problem.response);
    case "false success":
      return { applied: "unknown", retry: "never", reason: problem.text };
    case "connection": {
      const { network, sent, hasResponded } = problem;
      const again = repeatedIf(!sent || call.mayRepeat);
      const isAbsent =
        network.isRefusedHere && !hasResponded && again !== "never" && hasDefaultRetries(call.settings.retry);
      const retry = network.permanent ? "never" : isAbsent ? "after a moment" : again;
      return { applied: ifSent(sent), retry, reason: `${network.problem}: ${network.detail}` };
    }
    case "timeout":
      return { applied: ifSent(problem.sent), retry: repeatedIf(!problem.sent || call.mayRepeat), reason: kind };
    case "too large":
    case "undecodable":
    case "end":
      return { applied: ifSent(problem.sent), retry: "never", reason: kind === "end" ? "aborted" : kind };
    case "slot expired":
      return { applied: "no", retry: "after a back-off", reason: SLOT_EXPIRED };
    case "slot too late":
    case "slot source failed":
    case "no token":
      return { applied: "no", retry: "never", reason: kind };
    case "veto":
      return { applied: "no", retry: "never", reason: messageOf(problem.thrown) };
    case "exception":
      return { applied: ifSent(problem.sent), retry: "never", reason: messageOf(problem.thrown) };
  }
}

function afterStatus(call: Call, { status, headers }: WireResponse): Consequence {
  const reason = `HTTP ${status}`;
  if (status === 429) return { applied: "no", retry: "after the pause", reason };
  if (status === 401 && !call.request.isTokenRequest) return { applied: "no", retry: "with a new token", reason };
  if (!mayHaveApplied(status)) return { applied: "no", retry: "never", reason };
  const retry = isTransientStatus(status) ? repeatedIf(call.mayRepeat) : "never";
  return { applied: "unknown", retry, reason, retryAfterMs: parseRetryAfterMs(headers) };
}

const ifSent = (sent: boolean) => (sent ? "unknown" : "no");

const repeatedIf = (allowed: boolean): Retry => (allowed ? "after a back-off" : "never");
