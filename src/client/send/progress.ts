import type { StocklotError } from "../../shared/errors/index.js";
import type { ResponseHead, WireResponse } from "../transport/exchange.js";
import type { Failure } from "./failure.js";

/** How far a call has come. A `Progress` is never changed: each attempt returns a new one. */
export interface Progress {
  /** How many attempts have begun, including those that failed before anything was sent. */
  readonly attempts: number;
  /** How many retries after a back-off it has used up. */
  readonly retries: number;
  /** How many 429s it has had, including the 429s of other calls' probes. */
  readonly rateLimitRetries: number;
  /** Whether it has continued with a new token after a 401. */
  readonly hasRenewedToken: boolean;
  /** Whether a write was applied: `unknown` once an attempt may have been applied, `yes` once a success has arrived. */
  readonly applied: StocklotError["applied"];
  /** The error of the last attempt that failed. */
  readonly lastError: unknown;
  /** The last attempt. */
  readonly sending: Sending;
  /** Status and headers of the last attempt's response. */
  readonly responseHead: ResponseHead | undefined;
}

/** Facts that were recorded when an attempt began. */
export interface Sending {
  /** When it began, in ms since the epoch. */
  readonly sentAt: number;
  /** When it began, by the monotonic clock in ms. */
  readonly begunAtMs: number;
  /** How far the service's clock was ahead, at least, in ms; `undefined` if that was not known. */
  readonly clockAheadMs: number | undefined;
  /** The highest record number that was seen before, see `SentRequest`. */
  readonly lastRecNo: number | undefined;
}

/** A call before its first attempt. */
export const NOT_BEGUN: Progress = {
  attempts: 0,
  retries: 0,
  rateLimitRetries: 0,
  hasRenewedToken: false,
  applied: "no",
  lastError: undefined,
  sending: { sentAt: 0, begunAtMs: 0, clockAheadMs: undefined, lastRecNo: undefined },
  responseHead: undefined,
};

/** How an attempt, or all attempts of a call, ended. */
export type AttemptResult =
  | { readonly progress: Progress; readonly response: WireResponse; readonly failure?: undefined }
  | { readonly progress: Progress; readonly response?: undefined; readonly failure: Failure };
