import { checkConfiguration } from "../../shared/check.js";
import { MonotonicClock } from "../../shared/time/clock.js";
import {
  type RateLimitOptions,
  type RateLimitSettings,
  rateLimitOptionsSchema,
  rateLimitSettings,
  UNLIMITED_SETTINGS,
} from "./options.js";
import { countedSlots, RateLimiter } from "./rate-limiter.js";

/**
 * Creates a rate limiter that several clients of one process can share.
 *
 * @example
 * import { createRateLimiter, InventoryClient } from "stocklot";
 *
 * const rateLimiter = createRateLimiter({ requests: 100, intervalMs: 60_000 });
 * const scanner = new InventoryClient({ clientId: "scanner", clientSecret: "…", rateLimiter });
 * const reports = new InventoryClient({ clientId: "reports", clientSecret: "…", rateLimiter });
 * @throws ConfigurationError if an option is wrong.
 */
export function createRateLimiter(options: RateLimitOptions = {}): RateLimiter {
  checkConfiguration("createRateLimiter", rateLimitOptionsSchema(), options);
  return createCountedLimiter(rateLimitSettings(options));
}

/** Has no limit, but pauses after a 429. */
export const createUnlimitedRateLimiter = (): RateLimiter => createCountedLimiter(UNLIMITED_SETTINGS);

function createCountedLimiter(settings: RateLimitSettings): RateLimiter {
  const clock = new MonotonicClock();
  return new RateLimiter(settings, clock, countedSlots(settings, clock));
}
