import { checkConfiguration } from "../../shared/schema.js";
import { MonotonicClock } from "../../shared/time/clock.js";
import { type RateLimitOptions, rateLimitOptionsSchema, rateLimitSettings } from "./options.js";
import { countedSlots, RateLimiter } from "./rate-limiter.js";

/**
 * Creates a rate limiter that several clients of one process can share.
 *
 * @example
 * import { createRateLimiter, InventoryClient } from "stocklot";
 *
 * const rateLimiter = createRateLimiter({ requests: 100, intervalMs: 60_000 });
 * const scanner = new InventoryClient({
 *   clientId: "scanner",
 *   clientSecret: "…",
 *   rateLimiter,
 * });
 * const reports = new InventoryClient({
 *   clientId: "reports",
 *   clientSecret: "…",
 *   rateLimiter,
 * });
 * @throws ConfigurationError if an option is wrong.
 */
export function createRateLimiter(options: RateLimitOptions = {}): RateLimiter {
  const settings = rateLimitSettings(checkConfiguration("createRateLimiter", rateLimitOptionsSchema(), options));
  const clock = new MonotonicClock();
  return new RateLimiter(settings, clock, countedSlots(settings, clock));
}
