import type { MonotonicClock } from "./monotonic-clock.js";
import { createQuota, safetyMarginMs } from "./quota.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import type { QueueCounts, SlotListener, SlotSource } from "./slot-source.js";

/** The slots of one process that has the whole limit for itself. */
export function localSlots(
  { requests, reserved, intervalMs }: RateLimitSettings,
  clock: MonotonicClock,
  listener: SlotListener,
): SlotSource {
  const all = createQuota(requests);
  const pages = createQuota(requests - reserved);
  let wakeUpTimer: { time: number; stop: () => void } | undefined;

  const reclaim = () => {
    const now = clock.now();
    all.reclaim(now);
    pages.reclaim(now);
    return now;
  };

  const nextGrantTime = (waiting: QueueCounts) => {
    if (waiting.all === 0) return undefined;
    if (all.free === 0) return all.nextReturnAt;
    // Slots that came back while somebody read the state, and nobody was let through.
    return waiting.all > waiting.pages || pages.free > 0 ? clock.now() : pages.nextReturnAt;
  };

  return {
    get available() {
      reclaim();
      return all.free;
    },
    take(bulk) {
      reclaim();
      const quotas = bulk ? [all, pages] : [all];
      if (quotas.some(({ free }) => free === 0)) return undefined;
      for (const quota of quotas) quota.take();
      return {
        release() {
          const time = clock.now() + intervalMs + safetyMarginMs(intervalMs);
          for (const quota of quotas) quota.returnAt(time);
        },
        returnUnused() {
          for (const quota of quotas) quota.returnUnused();
        },
      };
    },
    earliestStart(bulk, ahead) {
      const now = reclaim();
      const anySlot = all.earliestStart(ahead.all, now, intervalMs);
      return bulk ? Math.max(anySlot, pages.earliestStart(ahead.pages, now, intervalMs)) : anySlot;
    },
    setDemand(waiting) {
      const time = nextGrantTime(waiting);
      if (time === wakeUpTimer?.time) return;
      wakeUpTimer?.stop();
      wakeUpTimer = time === undefined ? undefined : { time, stop: clock.at(time, wakeUp) };
    },
    pauseStarted() {},
  };

  function wakeUp() {
    wakeUpTimer = undefined;
    listener.slotsChanged();
  }
}
