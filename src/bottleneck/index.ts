/**
 * Slots of the rate limit from a Bottleneck.
 *
 * @module stocklot/bottleneck
 */

import type Bottleneck from "bottleneck";
import {
  countedSlots,
  NoSlots,
  RateLimiter,
  rateLimitSchema,
  rateLimitSettings,
  type Slot,
  type SlotSource,
  UNLIMITED,
} from "../client/for-add-ons.js";
import type { RateLimitOptions } from "../client/index.js";
import { checkConfiguration } from "../shared/check.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { MonotonicClock } from "../shared/time/clock.js";
import { fieldOf, messageOf } from "../shared/unknown.js";

/** The limit of a rate limiter that has no Bottleneck of the caller's. */
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
 * With **options**, the slots are its own. One is free again `intervalMs` after the response, so no interval contains more
 * than `requests` requests.
 *
 * With **your own Bottleneck**, stocklot and the jobs that your program schedules there share one limit, also if that
 * Bottleneck is clustered. Each request is a job that runs until the request has ended. Your Bottleneck decides how
 * many requests are admitted, and when. Its `reservoir` is a fixed window, which admits up to twice the number within
 * one interval. If it drops or refuses a job, the calls that wait reject with a `ConnectionError`. It is based on the
 * system's clock: if that is set back, it waits until the clock is where it was.
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
export function createBottleneckRateLimiter(given: Bottleneck | BottleneckRateLimiterOptions): RateLimiter {
  const clock = new MonotonicClock();
  if (isBottleneck(given)) return new RateLimiter(rateLimitSettings(UNLIMITED), clock, jobSlots(given));
  const settings = rateLimitSettings(checkOptions(given));
  return new RateLimiter(settings, clock, countedSlots(settings, clock));
}

function checkOptions(given: BottleneckRateLimiterOptions): RateLimitOptions {
  const options = checkConfiguration("createBottleneckRateLimiter", rateLimitSchema({ mustLimit: true }), given ?? {});
  if (options.requests !== undefined && options.intervalMs !== undefined) return options;
  throw new ConfigurationError(
    "createBottleneckRateLimiter: must be a Bottleneck or an object with requests and intervalMs",
  );
}

/** Slots that are jobs. Each lasts until its request has ended. */
const jobSlots = (bottleneck: Bottleneck): SlotSource => ({
  waitMs: () => 0,
  take: () =>
    new Promise<Slot>((resolve, reject) => {
      let hasStarted = false;
      const job = () =>
        new Promise<void>((finish) => {
          // A job that has failed may be started again by the caller's `failed` listener.
          if (hasStarted) return finish();
          hasStarted = true;
          resolve({ end: () => finish() });
        });
      bottleneck.schedule({}, job).catch((error: unknown) => {
        // One that expired has started: its request is in progress or has ended.
        if (!hasStarted) reject(new NoSlots(`the Bottleneck refused a slot: ${messageOf(error)}`, { cause: error }));
      });
    }),
  available: Infinity,
});

const isBottleneck = (value: unknown): value is Bottleneck => typeof fieldOf(value, "schedule") === "function";
