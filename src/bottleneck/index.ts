/**
 * Slots of the rate limit from a Bottleneck.
 *
 * @module stocklot/bottleneck
 */

import Bottleneck from "bottleneck";
import {
  marginMs,
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
 * one interval. If it drops or refuses a job, the calls that wait reject with a `ConnectionError`.
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
  if (isBottleneck(given))
    return new RateLimiter(rateLimitSettings(UNLIMITED), clock, jobSlots(given, clock, Infinity, 0));
  const options = checkConfiguration("createBottleneckRateLimiter", rateLimitSchema({ mustLimit: true }), given ?? {});
  if (options.requests === undefined || options.intervalMs === undefined)
    throw new ConfigurationError(
      "createBottleneckRateLimiter: must be a Bottleneck or an object with requests and intervalMs",
    );
  const settings = rateLimitSettings(options);
  const { requests, intervalMs } = settings;
  const bottleneck = new Bottleneck({ maxConcurrent: requests });
  return new RateLimiter(settings, clock, jobSlots(bottleneck, clock, requests, intervalMs + marginMs(intervalMs)));
}

/** Slots that are jobs: each lasts until `holdMs` after its request has ended. */
function jobSlots(bottleneck: Bottleneck, clock: MonotonicClock, capacity: number, holdMs: number): SlotSource {
  let running = 0;
  /** When the jobs of ended requests end, in ascending order. */
  const ends: number[] = [];
  const waitMs = (ahead: number) => {
    const index = running + ahead - capacity;
    // Of requests in flight it is only known that they have not ended.
    return index < 0 ? 0 : Math.max(1, (ends[index] ?? clock.now() + holdMs) - clock.now());
  };
  const hold = (end: () => void) => {
    if (holdMs === 0) return end();
    ends.push(clock.now() + holdMs);
    // Does not keep the process alive. If a call waits, the limiter's own timer does.
    setTimeout(() => {
      ends.shift();
      end();
    }, holdMs).unref?.();
  };
  return {
    waitMs,
    take(leaveFree) {
      const wait = waitMs(leaveFree);
      if (wait > 0) return { waitMs: wait };
      running += 1;
      return new Promise<Slot>((resolve, reject) => {
        let hasStarted = false;
        const job = () =>
          new Promise<void>((finish) => {
            // A job that has failed may be started again by the caller's `failed` listener.
            if (hasStarted) return finish();
            hasStarted = true;
            const end = () => {
              running -= 1;
              finish();
            };
            resolve({ end: (sent) => (sent ? hold(end) : end()) });
          });
        bottleneck.schedule({}, job).catch((error: unknown) => {
          // One that expired has started: its request is in progress or has ended.
          if (hasStarted) return;
          running -= 1;
          reject(new NoSlots(`the Bottleneck refused a slot: ${messageOf(error)}`, { cause: error }));
        });
      });
    },
    get available() {
      return Math.max(0, capacity - running);
    },
  };
}

const isBottleneck = (value: unknown): value is Bottleneck => typeof fieldOf(value, "schedule") === "function";
