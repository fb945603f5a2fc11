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
   * Bounds in ms of the pause after a 429 without `Retry-After`.
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

/** What an attempt came to, as far as repeating it goes. */
export type Outcome =
  | { kind: "status"; status: number; retryAfterMs?: number | undefined }
  | { kind: "no answer"; sent: boolean };

/** What has happened to the call before. */
export interface RetryState {
  /** Whether the service may get the request twice. */
  repeatable: boolean;
  retries: number;
  rateLimitRetries: number;
  /** The one replay after a 401 has been made, or a fresh token cannot help. */
  replayed: boolean;
}

export type Decision =
  | { retry: false }
  | { retry: true; delayMs: number; counts: "retries" | "rateLimitRetries" | "replayed" };

const LONGEST_RETRY_AFTER_MS = 60_000;

/** Whether an attempt that came to this leaves open what the service did. */
export function isOutcomeOpen(outcome: Outcome): boolean {
  if (outcome.kind === "no answer") return outcome.sent;
  return outcome.status === 408 || (outcome.status >= 500 && outcome.status !== 501);
}

/** Whether to repeat a call, and after how long. */
export function decide(outcome: Outcome, state: RetryState, settings: RetrySettings, random = Math.random()): Decision {
  if (outcome.kind === "status" && outcome.status === 401) {
    return state.replayed ? { retry: false } : { retry: true, delayMs: 0, counts: "replayed" };
  }
  if (outcome.kind === "status" && outcome.status === 429) {
    // The limiter does the waiting, for all calls together.
    return state.rateLimitRetries < settings.maxRateLimitRetries
      ? { retry: true, delayMs: 0, counts: "rateLimitRetries" }
      : { retry: false };
  }
  const open = isOutcomeOpen(outcome);
  const surelyNotApplied = outcome.kind === "no answer" && !outcome.sent;
  if (!surelyNotApplied && !(open && state.repeatable)) return { retry: false };
  if (state.retries >= settings.maxRetries) return { retry: false };
  return { retry: true, delayMs: backOffMs(outcome, state.retries, settings, random), counts: "retries" };
}

function backOffMs(outcome: Outcome, retries: number, settings: RetrySettings, random: number): number {
  if (outcome.kind === "status" && outcome.retryAfterMs !== undefined) {
    return Math.min(outcome.retryAfterMs, LONGEST_RETRY_AFTER_MS);
  }
  return random * Math.min(settings.maxDelayMs, settings.minDelayMs * 2 ** retries);
}

/** How long to pause after a 429. */
export function pauseMs(retryAfter: number | undefined, settings: RetrySettings, random = Math.random()): number {
  const [shortest, longest] = settings.rateLimitDelayMs;
  return Math.round(retryAfter ?? shortest + random * (longest - shortest));
}
