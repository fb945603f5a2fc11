import { LocalRateLimiter } from "./local-rate-limiter.js";
import { NO_LIMIT, type RateLimitOptions, rateLimitSettings } from "./rate-limit-options.js";
import type { RateLimiter } from "./rate-limiter.js";

/**
 * A rate limiter to be shared by several clients of one process: `new InventoryClient({ …, rateLimiter })`.
 *
 * @throws ConfigurationError when an option is wrong.
 */
export function createRateLimiter(options: RateLimitOptions = {}): RateLimiter {
  return new LocalRateLimiter(rateLimitSettings(options));
}

/** Lets everything through, but for the pause after a 429. */
export function createPauseOnly(): RateLimiter {
  return new LocalRateLimiter(NO_LIMIT);
}
