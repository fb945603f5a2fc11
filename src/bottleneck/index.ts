/**
 * Slots of the rate limit from a Bottleneck.
 *
 * @module stocklot/bottleneck
 */

import Bottleneck from "bottleneck";
import {
  createQueueingLimiter,
  finiteRateLimitOptionsSchema,
  rateLimitSettings,
  UNLIMITED_SETTINGS,
} from "../client/for-add-ons.js";
import type { RateLimiter, RateLimitOptions } from "../client/index.js";
import { checkConfiguration } from "../shared/check.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { MonotonicClock } from "../shared/time/clock.js";
import { createBottleneckSlots } from "./bottleneck-slots.js";

export type { RateLimiter, RateLimitOptions, RateLimitSnapshot } from "../client/index.js";

/** The limit of a Bottleneck that the limiter creates for itself. */
export interface BottleneckRateLimiterOptions extends RateLimitOptions {
  /** Requests in any interval, token requests included. Not `Infinity`. */
  requests: number;
  /** Length of the interval in ms. Not `Infinity`. */
  intervalMs: number;
}

/**
 * Creates a rate limiter whose slots are jobs of a Bottleneck. The queue, its priorities and the pause after a 429 are
 * stocklot's own.
 *
 * With **options**, it creates its own Bottleneck. At most `requests` jobs run at the same time, and each job runs
 * until `intervalMs` after its response. So no interval contains more than `requests` requests.
 *
 * With **your own Bottleneck**, stocklot and the jobs that your program schedules there share one limit, also if that
 * Bottleneck is clustered. Each request is a job that runs until the request has ended. Your Bottleneck decides how
 * many requests are admitted, and when. Its `reservoir` is a fixed window, which admits up to twice the number within
 * one interval. A call whose job is dropped or refused rejects with a `ConnectionError`; the other calls continue.
 *
 * If your program does not use Bottleneck otherwise, prefer `createRateLimiter`: it adds no latency.
 *
 * @example
 * import { InventoryClient } from "stocklot";
 * import { createBottleneckRateLimiter } from "stocklot/bottleneck";
 *
 * const client = new InventoryClient({ rateLimiter: createBottleneckRateLimiter({ requests: 100, intervalMs: 60_000 }) });
 * @throws ConfigurationError if the argument is neither a Bottleneck nor valid options.
 */
export function createBottleneckRateLimiter(bottleneck: Bottleneck | BottleneckRateLimiterOptions): RateLimiter {
  if (isBottleneck(bottleneck)) {
    const clock = new MonotonicClock();
    const bottlenecks = { single: bottleneck, bulk: bottleneck };
    return createQueueingLimiter(UNLIMITED_SETTINGS, clock, (listener) =>
      createBottleneckSlots({ bottlenecks, clock, listener }),
    );
  }
  return createWithOwnBottleneck(bottleneck);
}

function createWithOwnBottleneck(options: BottleneckRateLimiterOptions): RateLimiter {
  if (options?.requests === undefined || options.intervalMs === undefined) {
    throw new ConfigurationError(
      "createBottleneckRateLimiter: must be a Bottleneck or an object with requests and intervalMs",
    );
  }
  checkConfiguration("createBottleneckRateLimiter", finiteRateLimitOptionsSchema(), options);
  const settings = rateLimitSettings(options);
  const { requests, intervalMs, reserved } = settings;
  // No `expiration`: Bottleneck's timer would keep the process alive, and free the slot of a request that is still in
  // progress.
  const single = new Bottleneck({ maxConcurrent: requests });
  const bulk = new Bottleneck({ maxConcurrent: requests - reserved }).chain(single);
  const clock = new MonotonicClock();
  const window = { requests, intervalMs };
  return createQueueingLimiter(settings, clock, (listener) =>
    createBottleneckSlots({ bottlenecks: { single, bulk }, window, clock, listener }),
  );
}

const isBottleneck = (value: object): value is Bottleneck =>
  "schedule" in Object(value) && typeof Reflect.get(Object(value), "schedule") === "function";
