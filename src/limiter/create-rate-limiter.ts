import { checkConfiguration } from "../schemas/check.js";
import { MonotonicClock } from "../time/clock.js";
import { createLocalSlots } from "./local-slots.js";
import { createQueueingLimiter } from "./queueing-limiter.js";
import {
  type RateLimitOptions,
  type RateLimitSettings,
  rateLimitOptionsSchema,
  rateLimitSettings,
  UNLIMITED_SETTINGS,
} from "./rate-limit-options.js";
import type { RateLimiter } from "./rate-limiter.js";

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
  return createLocalRateLimiter(rateLimitSettings(options));
}

/** Has no limit, but pauses after a 429. */
export function createUnlimitedRateLimiter(): RateLimiter {
  return createLocalRateLimiter(UNLIMITED_SETTINGS);
}

function createLocalRateLimiter(settings: RateLimitSettings): RateLimiter {
  const clock = new MonotonicClock();
  return createQueueingLimiter(settings, clock, (listener) => createLocalSlots(settings, clock, listener));
}
