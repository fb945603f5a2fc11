import { copyPlainData } from "../../shared/copy-of.js";
import { dateHeaderMs } from "./service-clock.js";

/** When a call is retried. */
export interface RetryOptions {
  /**
   * Retries after connection failures, attempt timeouts, 408 and 5xx other than 501; `0` for none. A POST or PATCH that
   * may have been applied is never retried.
   * @default 3
   */
  maxRetries?: number | undefined;
  /**
   * Upper bound of the first back-off in ms. The bound doubles with each retry; the wait is a random share of the
   * bound.
   * @default 500
   */
  minDelayMs?: number | undefined;
  /**
   * Upper bound of every back-off in ms. A `Retry-After` header of the service takes precedence, up to 60 s.
   * @default 8_000
   */
  maxDelayMs?: number | undefined;
  /**
   * Retries after a 429; `0` for none.
   * @default 5
   */
  maxRateLimitRetries?: number | undefined;
  /**
   * Bounds in ms of the pause after a 429 without `Retry-After`. A pause lasts at most one hour.
   * @default [30_000, 60_000]
   */
  rateLimitDelayMs?: readonly [number, number] | undefined;
}

export type RetrySettings = { [Name in keyof RetryOptions]-?: NonNullable<RetryOptions[Name]> };

export const DEFAULT_RETRY_SETTINGS: RetrySettings = {
  maxRetries: 3,
  minDelayMs: 500,
  maxDelayMs: 8_000,
  maxRateLimitRetries: 5,
  rateLimitDelayMs: [30_000, 60_000],
};

/** The settings of the caller, completed with the defaults. */
export function mergeRetryOptions(settings: RetrySettings, given: RetryOptions | false = {}): RetrySettings {
  const changes =
    given === false
      ? { maxRetries: 0, maxRateLimitRetries: 0 }
      : Object.fromEntries(Object.entries(copyPlainData(given)).filter(([, value]) => value !== undefined));
  return { ...settings, ...changes };
}

/** The outcome of a failed attempt, as the retry policy needs it. */
export interface AttemptOutcome {
  /** Whether any of the request may have been sent. */
  sent: boolean;
  /** It was not sent, because its slot had expired. */
  slotExpired?: boolean;
  /** The status of the response, if there was one. */
  status?: number | undefined;
  /** The wait that the service requested. */
  retryAfterMs?: number | undefined;
}

/** What the retry policy needs to know of the call. */
export interface RetryState {
  /** Whether the service may receive the request twice. */
  isIdempotent: boolean;
  retries: number;
  rateLimitRetries: number;
  /** 1 after the one retry after a 401, or if a fresh token cannot help. */
  authRetries: number;
}

export interface RetryDecision {
  delayMs: number;
  /** The budget that the retry counts against; none if it only needs another slot. */
  budget?: "retries" | "rateLimitRetries" | "authRetries";
}

const MAX_RETRY_AFTER_MS = 60_000;

/** The service failed to process a request, and may succeed later. Whether it has applied a write is not known. */
export const isTransientStatus = (status: number) => status === 408 || (status >= 500 && status !== 501);

/** Whether to retry a call, and after how long; `undefined` for no retry. */
export function decideRetry(
  outcome: AttemptOutcome,
  state: RetryState,
  settings: RetrySettings,
  random = Math.random(),
): RetryDecision | undefined {
  const { sent, slotExpired, status, retryAfterMs } = outcome;
  if (slotExpired) return { delayMs: 0 };
  // No back-off of its own: after a 429 the limiter pauses all calls.
  if (status === 429) return ifBudgetLeft(settings.maxRateLimitRetries, "rateLimitRetries", 0);
  if (status === 401) return ifBudgetLeft(1, "authRetries", 0);
  // Without a status, there was no response.
  const mayBeSentAgain = state.isIdempotent && (status === undefined || isTransientStatus(status));
  if (sent && !mayBeSentAgain) return undefined;
  const bound = Math.min(settings.maxDelayMs, settings.minDelayMs * 2 ** state.retries);
  const backOffMs = retryAfterMs === undefined ? random * bound : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
  return ifBudgetLeft(settings.maxRetries, "retries", backOffMs);

  function ifBudgetLeft(
    limit: number,
    budget: NonNullable<RetryDecision["budget"]>,
    delayMs: number,
  ): RetryDecision | undefined {
    return state[budget] < limit ? { delayMs, budget } : undefined;
  }
}

/** After one wrong response, a longer pause would stop all calls permanently. */
export const MAX_PAUSE_MS = 3_600_000;

/** How long to pause after a 429, and whether that is shorter than what the service or the settings request. */
export function choosePause(
  retryAfterMs: number | undefined,
  { rateLimitDelayMs: [shortest, longest] }: RetrySettings,
  random = Math.random(),
): { pauseMs: number; isShortened: boolean } {
  const from = Math.min(shortest, MAX_PAUSE_MS);
  const to = Math.min(longest, MAX_PAUSE_MS);
  const pauseMs = Math.round(Math.min(retryAfterMs ?? from + random * (to - from), MAX_PAUSE_MS));
  return { pauseMs, isShortened: (retryAfterMs ?? longest) > MAX_PAUSE_MS };
}

/**
 * Reads `Retry-After`, seconds or a date, as ms from now; `undefined` if it is missing or invalid. A date is
 * relative to the response's own `Date`, so that a wrong clock on either side does not matter.
 */
export function parseRetryAfterMs(headers: Record<string, string>, now: number): number | undefined {
  const value = headers["retry-after"]?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return finiteOrUndefined(Number(value) * 1_000);
  if (/^[-+\d.]/.test(value)) return undefined;
  const date = Date.parse(value);
  if (Number.isNaN(date)) return undefined;
  return Math.max(0, date - (dateHeaderMs(headers) ?? now));
}

const finiteOrUndefined = (delayMs: number) => (Number.isFinite(delayMs) ? delayMs : undefined);
