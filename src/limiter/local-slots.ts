import type { Clock } from "./clock.js";
import { guardMs } from "./guard.js";
import { createQuota } from "./quota.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import type { Crowd, SlotListener, SlotSource } from "./slot-source.js";

/** The slots of one process that has the whole limit for itself. */
export function localSlots(
  { requests, reserved, intervalMs }: RateLimitSettings,
  clock: Clock,
  listener: SlotListener,
): SlotSource {
  const all = createQuota(requests);
  const pages = createQuota(requests - reserved);
  let alarm: { time: number; stop: () => void } | undefined;

  const settle = () => {
    const now = clock.now();
    all.settle(now);
    pages.settle(now);
    return now;
  };

  const nextChance = (waiting: Crowd) => {
    if (waiting.all === 0) return undefined;
    if (all.free === 0) return all.nextReturn;
    // Slots that came back while somebody read the state, and nobody was let through.
    return waiting.all > waiting.pages || pages.free > 0 ? clock.now() : pages.nextReturn;
  };

  return {
    get available() {
      settle();
      return all.free;
    },
    take(bulk) {
      settle();
      const quotas = bulk ? [all, pages] : [all];
      if (quotas.some(({ free }) => free === 0)) return undefined;
      for (const quota of quotas) quota.take();
      return {
        release() {
          const time = clock.now() + intervalMs + guardMs(intervalMs);
          for (const quota of quotas) quota.returnAt(time);
        },
        giveBack() {
          for (const quota of quotas) quota.giveBack();
        },
      };
    },
    earliest(bulk, ahead) {
      const now = settle();
      const anySlot = all.earliest(ahead.all, now, intervalMs);
      return bulk ? Math.max(anySlot, pages.earliest(ahead.pages, now, intervalMs)) : anySlot;
    },
    expect(waiting) {
      const time = nextChance(waiting);
      if (time === alarm?.time) return;
      alarm?.stop();
      alarm = time === undefined ? undefined : { time, stop: clock.at(time, ring) };
    },
    pauseBegan() {},
  };

  function ring() {
    alarm = undefined;
    listener.slotsChanged();
  }
}
