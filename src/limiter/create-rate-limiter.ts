import { localSlots } from "./local-slots.js";
import { MonotonicClock } from "./monotonic-clock.js";
import { queueingLimiter } from "./queueing-limiter.js";
import { NO_LIMIT, type RateLimitOptions, type RateLimitSettings, rateLimitSettings } from "./rate-limit-options.js";
import type { RateLimiter } from "./rate-limiter.js";

/**
 * A rate limiter to be shared by several clients of one process: `new InventoryClient({ …, rateLimiter })`.
 *
 * @throws ConfigurationError when an option is wrong.
 */
export function createRateLimiter(options: RateLimitOptions = {}): RateLimiter {
  return localLimiter(rateLimitSettings(options));
}

/** Has no limit, but pauses after a 429. */
export function createUnlimited(): RateLimiter {
  return localLimiter(NO_LIMIT);
}

function localLimiter(settings: RateLimitSettings): RateLimiter {
  const clock = new MonotonicClock();
  return queueingLimiter(settings, clock, (listener) => localSlots(settings, clock, listener));
}
