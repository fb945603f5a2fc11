import { ConfigurationError } from "../errors/index.js";

/** How many requests may be sent, and when. */
export interface RateLimitOptions {
  /**
   * Requests in any interval, token requests included. `Infinity` for no limit.
   * @default 100
   */
  requests?: number | undefined;
  /**
   * Length of the interval in ms.
   * @default 60_000
   */
  intervalMs?: number | undefined;
  /**
   * Slots of each interval that further pages of iterations may not use, so that a bulk read leaves room for other calls.
   * Less than `requests`; `0` reserves none.
   * @default a tenth of `requests`
   */
  reserved?: number | undefined;
  /**
   * Requests under way at the same time. `Infinity` for any number.
   * @default 16
   */
  maxConcurrent?: number | undefined;
}

export type RateLimitSettings = { [Name in keyof RateLimitOptions]-?: number };

const DEFAULT_REQUESTS = 100;
const DEFAULT_INTERVAL_MS = 60_000;
const DEFAULT_MAX_CONCURRENT = 16;

export const NO_LIMIT: RateLimitSettings = {
  requests: Number.POSITIVE_INFINITY,
  intervalMs: DEFAULT_INTERVAL_MS,
  reserved: 0,
  maxConcurrent: Number.POSITIVE_INFINITY,
};

const NAMES = new Set<string>(Object.keys(NO_LIMIT));

/** The options with their defaults; throws a `ConfigurationError` naming each that is wrong. */
export function rateLimitSettings(options: RateLimitOptions): RateLimitSettings {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError("rate limit: the options must be an object");
  }
  const requests = options.requests ?? DEFAULT_REQUESTS;
  const settings = {
    requests,
    intervalMs: options.intervalMs ?? DEFAULT_INTERVAL_MS,
    reserved: options.reserved ?? (requests === Number.POSITIVE_INFINITY ? 0 : Math.floor(requests / 10)),
    maxConcurrent: options.maxConcurrent ?? DEFAULT_MAX_CONCURRENT,
  };
  const wrong = [
    ...Object.keys(options)
      .filter((name) => !NAMES.has(name))
      .map((name) => `there is no option "${name}"`),
    ...(isCount(requests) && requests > 0 ? [] : ["requests must be a whole number above 0, or Infinity"]),
    ...(typeof settings.intervalMs === "number" && settings.intervalMs > 0
      ? []
      : ["intervalMs must be a number of ms above 0, or Infinity"]),
    ...(isCount(settings.maxConcurrent) && settings.maxConcurrent > 0
      ? []
      : ["maxConcurrent must be a whole number above 0, or Infinity"]),
    ...(isCount(settings.reserved) && settings.reserved >= 0 && settings.reserved < requests
      ? []
      : ["reserved must be a whole number below requests, so that iterations can go on"]),
  ];
  if (wrong.length > 0) throw new ConfigurationError(`rate limit: ${wrong.join("; ")}`);
  return settings;
}

const isCount = (value: unknown) => Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY;
