import { checkConfiguration } from "../../shared/check.js";
import { MonotonicClock } from "../../shared/time/clock.js";
import { createQueueingLimiter } from "./queueing-limiter.js";
import { createSlotQuota, safetyMarginMs } from "./quota.js";
import {
  type RateLimitOptions,
  type RateLimitSettings,
  rateLimitOptionsSchema,
  rateLimitSettings,
  UNLIMITED_SETTINGS,
} from "./rate-limit-options.js";
import type { RateLimiter } from "./rate-limiter.js";
import { type SlotCounts, type SlotListener, type SlotSource, totalCountOf } from "./slot-source.js";

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

/** The slots of one process that uses the whole limit alone. */
function createLocalSlots(
  { requests, reserved, intervalMs }: RateLimitSettings,
  clock: MonotonicClock,
  listener: SlotListener,
): SlotSource {
  const allQuota = createSlotQuota(requests);
  const bulkQuota = createSlotQuota(requests - reserved);
  const setWakeUp = clock.createAlarm(listener.slotsChanged);

  const reclaim = () => {
    const now = clock.now();
    allQuota.reclaim(now);
    bulkQuota.reclaim(now);
    return now;
  };

  const nextGrantTime = (wanted: SlotCounts) => {
    if (totalCountOf(wanted) === 0) return undefined;
    if (allQuota.free === 0) return allQuota.nextFreeAt;
    // A snapshot reclaims slots without granting them, so free slots may be waiting here.
    return wanted.single > 0 || bulkQuota.free > 0 ? clock.now() : bulkQuota.nextFreeAt;
  };

  return {
    get available() {
      reclaim();
      return allQuota.free;
    },
    take(kind) {
      reclaim();
      const quotas = kind === "bulk" ? [allQuota, bulkQuota] : [allQuota];
      if (quotas.some(({ free }) => free === 0)) return undefined;
      for (const quota of quotas) quota.take();
      return {
        endSent() {
          const time = clock.now() + intervalMs + safetyMarginMs(intervalMs);
          for (const quota of quotas) quota.freeAt(time);
        },
        endUnsent() {
          for (const quota of quotas) quota.freeNow();
        },
      };
    },
    earliestStart(kind, ahead) {
      const now = reclaim();
      const anySlot = allQuota.earliestStart(totalCountOf(ahead), now, intervalMs);
      return kind === "single" ? anySlot : Math.max(anySlot, bulkQuota.earliestStart(ahead.bulk, now, intervalMs));
    },
    setWanted(wanted) {
      setWakeUp(nextGrantTime(wanted));
    },
  };
}
