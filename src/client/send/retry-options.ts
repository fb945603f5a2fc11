import * as z from "zod";
import { countOrInfinitySchema, durationMsSchema } from "../../shared/option.js";
import { lazy } from "../../shared/schema.js";

/** When a call is retried. */
export interface RetryOptions {
  /**
   * Retries after connection failures, attempt timeouts, 408 and 5xx other than 501; `0` for none. A POST or PATCH that
   * may have been applied is never retried.
   * @default 3
   * @example
   * // A nightly job has time: ride out an outage of some minutes.
   * new InventoryClient({ retry: { maxRetries: 10, maxDelayMs: 60_000 } });
   */
  maxRetries?: number | undefined;
  /**
   * Shortest wait before the first retry, in ms. It doubles with each retry, and a random share of up to its length is added.
   * @default 500
   * @example
   * new InventoryClient({ retry: { minDelayMs: 2_000 } });
   */
  minDelayMs?: number | undefined;
  /**
   * Longest wait before a retry, in ms. A `Retry-After` header of the service takes precedence, up to 60 s.
   * @default 8_000
   * @example
   * // Retry quickly: a visitor is waiting.
   * new InventoryClient({ retry: { minDelayMs: 100, maxDelayMs: 500 } });
   */
  maxDelayMs?: number | undefined;
  /**
   * Retries after a 429; `0` for none.
   * @default 5
   * @example
   * // A 429 is reported at once, although all calls still pause.
   * new InventoryClient({ retry: { maxRateLimitRetries: 0 } });
   */
  maxRateLimitRetries?: number | undefined;
  /**
   * Shortest and longest pause after a 429 without `Retry-After`, in ms. No pause is longer than an hour. After a
   * `Retry-After`, a pause lasts at least a second.
   * @default [30_000, 60_000]
   * @example
   * // Your contract says that ten seconds are enough.
   * new InventoryClient({ retry: { rateLimitDelayMs: [10_000, 15_000] } });
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

/** Whether these are the default retries. */
export const hasDefaultRetries = ({ maxRetries, minDelayMs, maxDelayMs }: RetrySettings) =>
  maxRetries === DEFAULT_RETRY_SETTINGS.maxRetries &&
  minDelayMs === DEFAULT_RETRY_SETTINGS.minDelayMs &&
  maxDelayMs === DEFAULT_RETRY_SETTINGS.maxDelayMs;

/** The settings of the caller, completed with the defaults. */
export function mergeRetryOptions(settings: RetrySettings, given: RetryOptions | false = {}): RetrySettings {
  const changes =
    given === false
      ? { maxRetries: 0, maxRateLimitRetries: 0 }
      : Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...settings, ...changes };
}

export const retryOptionsSchema = /* @__PURE__ */ lazy(() => {
  const options = {
    maxRetries: countOrInfinitySchema(),
    minDelayMs: durationMsSchema(),
    maxDelayMs: durationMsSchema(),
    maxRateLimitRetries: countOrInfinitySchema(),
    rateLimitDelayMs: z
      .tuple([durationMsSchema(), durationMsSchema()])
      .refine(([shortest, longest]) => shortest <= longest, "must be [shortest, longest]"),
  };
  return z.union([z.literal(false), z.strictObject(options).partial()], {
    error: `must be false or an object of ${Object.keys(options).join(", ")}`,
  });
});
