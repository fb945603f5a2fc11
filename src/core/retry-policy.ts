import { copyOf } from "./request/copy-of.js";

/** When a call is repeated. */
export interface RetryOptions {
  /**
   * Retries after connection failures, attempt timeouts, 408 and 5xx other than 501; `0` for none. Writes that may have
   * been applied are never repeated.
   * @default 3
   */
  maxRetries?: number | undefined;
  /**
   * Upper bound of the first back-off in ms; it doubles each time. The wait is a random share of the bound.
   * @default 500
   */
  minDelayMs?: number | undefined;
  /**
   * Upper bound of any back-off in ms. A `Retry-After` of the service goes before it, up to 60 s.
   * @default 8_000
   */
  maxDelayMs?: number | undefined;
  /**
   * Retries after a 429; `0` for none.
   * @default 5
   */
  maxRateLimitRetries?: number | undefined;
  /**
   * Bounds in ms of the pause after a 429 without `Retry-After`. A pause lasts one hour at most, whatever asks for it.
   * @default [30_000, 60_000]
   */
  rateLimitDelayMs?: readonly [number, number] | undefined;
}

export type RetrySettings = { [Name in keyof RetryOptions]-?: NonNullable<RetryOptions[Name]> };

export const DEFAULT_RETRY: RetrySettings = {
  maxRetries: 3,
  minDelayMs: 500,
  maxDelayMs: 8_000,
  maxRateLimitRetries: 5,
  rateLimitDelayMs: [30_000, 60_000],
};

/** The settings with the caller's over them; what the caller leaves out or leaves `undefined` stays. */
export function mergeRetry(settings: RetrySettings, given: RetryOptions | false = {}): RetrySettings {
  const changes =
    given === false
      ? { maxRetries: 0, maxRateLimitRetries: 0 }
      : Object.fromEntries(Object.entries(copyOf(given)).filter(([, value]) => value !== undefined));
  return { ...settings, ...changes };
}

/** What a failed attempt came to, as far as repeating it goes. */
export interface AttemptOutcome {
  /** Whether the request may have left. */
  sent: boolean;
  /** The status of the answer, if there was one. */
  status?: number | undefined;
  /** The wait that the service asked for. */
  retryAfterMs?: number | undefined;
}

/** What has happened to the call before. */
export interface RetryState {
  /** Whether the service may get the request twice. */
  isIdempotent: boolean;
  retries: number;
  rateLimitRetries: number;
  /** 1 when the one replay after a 401 has been made, or a fresh token cannot help. */
  authRetries: number;
}

export interface RetryDecision {
  delayMs: number;
  /** What the retry counts as. */
  budget: "retries" | "rateLimitRetries" | "authRetries";
}

const LONGEST_RETRY_AFTER_MS = 60_000;

/** Whether an attempt that came to this leaves open what the service did. */
export function mayHaveBeenApplied({ sent, status }: AttemptOutcome): boolean {
  return status === undefined ? sent : status === 408 || (status >= 500 && status !== 501);
}

/** Whether to repeat a call, and after how long; `undefined` for not at all. */
export function decideRetry(
  outcome: AttemptOutcome,
  state: RetryState,
  settings: RetrySettings,
  random = Math.random(),
): RetryDecision | undefined {
  const { sent, status, retryAfterMs } = outcome;
  // After a 429 the limiter does the waiting, for all calls together.
  if (status === 429) return ifBudgetLeft(settings.maxRateLimitRetries, "rateLimitRetries", 0);
  if (status === 401) return ifBudgetLeft(1, "authRetries", 0);
  if (sent && !(state.isIdempotent && mayHaveBeenApplied(outcome))) return undefined;
  const bound = Math.min(settings.maxDelayMs, settings.minDelayMs * 2 ** state.retries);
  const backOffMs = retryAfterMs === undefined ? random * bound : Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS);
  return ifBudgetLeft(settings.maxRetries, "retries", backOffMs);

  function ifBudgetLeft(most: number, counts: RetryDecision["budget"], delayMs: number): RetryDecision | undefined {
    return state[counts] < most ? { delayMs, budget: counts } : undefined;
  }
}

/** A longer pause would stop all calls for good because of one mistaken response. */
export const LONGEST_PAUSE_MS = 3_600_000;

/** How long to pause after a 429. */
export function pauseMs(retryAfter: number | undefined, settings: RetrySettings, random = Math.random()): number {
  const [shortest, longest] = settings.rateLimitDelayMs;
  const from = Math.min(shortest, LONGEST_PAUSE_MS);
  const to = Math.min(longest, LONGEST_PAUSE_MS);
  return Math.round(Math.min(retryAfter ?? from + random * (to - from), LONGEST_PAUSE_MS));
}

/** Whether {@link pauseMs} is shorter than what was asked for. */
export const isPauseCapped = (retryAfter: number | undefined, { rateLimitDelayMs: [, longest] }: RetrySettings) =>
  (retryAfter ?? longest) > LONGEST_PAUSE_MS;

/**
 * Reads `Retry-After`, seconds or a date, as ms from now; `undefined` if there is none that makes sense. A date is taken
 * relative to the response's own `Date`, so that it does not matter whose clock is wrong.
 */
export function retryAfterMs(headers: Record<string, string>, now: number): number | undefined {
  const value = headers["retry-after"]?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return finite(Number(value) * 1_000);
  if (/^[-+\d.]/.test(value)) return undefined;
  const date = Date.parse(value);
  if (Number.isNaN(date)) return undefined;
  const served = Date.parse(headers.date ?? "");
  return Math.max(0, date - (Number.isNaN(served) ? now : served));
}

const finite = (delayMs: number) => (Number.isFinite(delayMs) ? delayMs : undefined);
