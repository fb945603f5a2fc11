/**
 * Slots of the rate limit from a Bottleneck.
 *
 * @module stocklot/bottleneck
 */

import type Bottleneck from "bottleneck";
import {
  RateLimiter,
  rateLimitSettings,
  type Slot,
  type SlotSource,
  SlotSourceFailed,
  UNLIMITED,
} from "../client/for-add-ons.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { MonotonicClock } from "../shared/time/clock.js";
import { fieldOf, messageOf } from "../shared/unknown.js";

/**
 * Creates a rate limiter whose slots are jobs of your Bottleneck. Each request is a job that runs until the request has
 * ended, so stocklot and the other jobs of the Bottleneck share one limit. The Bottleneck may be clustered.
 *
 * Your Bottleneck decides how many requests are admitted, and when. Its `reservoir` is a fixed window, which admits up to twice
 * the number within one interval. If the Bottleneck drops or refuses a job, the waiting calls reject with a
 * `ConnectionError`. The Bottleneck uses the system's clock: if the clock is set back, the Bottleneck waits until the
 * clock has caught up. The queue, its priorities and the pause after a 429 are stocklot's own.
 *
 * If your program does not use Bottleneck otherwise, prefer `createRateLimiter`: it adds no latency.
 *
 * @example
 * import Bottleneck from "bottleneck";
 * import { InventoryClient } from "stocklot";
 * import { createBottleneckRateLimiter } from "stocklot/bottleneck";
 *
 * const bottleneck = new Bottleneck({ maxConcurrent: 4, minTime: 600 });
 * const client = new InventoryClient({
 *   rateLimiter: createBottleneckRateLimiter(bottleneck),
 * });
 * @throws ConfigurationError if the argument is not a Bottleneck.
 */
export function createBottleneckRateLimiter(bottleneck: Bottleneck): RateLimiter {
  if (typeof fieldOf(bottleneck, "schedule") !== "function")
    throw new ConfigurationError(
      "createBottleneckRateLimiter: must be called with a Bottleneck. For a limit without one, use createRateLimiter.",
    );
  return new RateLimiter(rateLimitSettings(UNLIMITED), new MonotonicClock(), jobSlots(bottleneck));
}

/** Returns a source whose slots are jobs. A job lasts until its request has ended. */
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
        // A job that has expired has also started: its request is in progress or has ended.
        if (!hasStarted)
          reject(new SlotSourceFailed(`the Bottleneck refused a slot: ${messageOf(error)}`, { cause: error }));
      });
    }),
  available: Infinity,
});
