import type { Clock } from "./clock.js";
import { guardMs } from "./guard.js";
import { Quota } from "./quota.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import type { Crowd, SlotListener, SlotSource, TakenSlot } from "./slot-source.js";

/** The slots of one process that has the whole limit for itself. */
export class LocalSlots implements SlotSource {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #all: Quota;
  readonly #pages: Quota;
  readonly #listener: SlotListener;
  #alarm: { time: number; stop: () => void } | undefined;

  constructor({ requests, reserved, intervalMs }: RateLimitSettings, clock: Clock, listener: SlotListener) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#all = new Quota(requests);
    this.#pages = new Quota(requests - reserved);
    this.#listener = listener;
  }

  get available(): number {
    this.#settle();
    return this.#all.free;
  }

  take(bulk: boolean): TakenSlot | undefined {
    this.#settle();
    if (this.#all.free === 0 || (bulk && this.#pages.free === 0)) return undefined;
    const quotas = bulk ? [this.#all, this.#pages] : [this.#all];
    for (const quota of quotas) quota.take();
    return {
      release: () => {
        const time = this.#clock.now() + this.#intervalMs + guardMs(this.#intervalMs);
        for (const quota of quotas) quota.returnAt(time);
      },
      giveBack: () => {
        for (const quota of quotas) quota.giveBack();
      },
    };
  }

  earliest(bulk: boolean, ahead: Crowd): number {
    const now = this.#settle();
    const anySlot = this.#all.earliest(ahead.all, now, this.#intervalMs);
    return bulk ? Math.max(anySlot, this.#pages.earliest(ahead.pages, now, this.#intervalMs)) : anySlot;
  }

  expect(waiting: Crowd): void {
    const time = this.#nextChance(waiting);
    if (time === this.#alarm?.time) return;
    this.#alarm?.stop();
    this.#alarm = undefined;
    if (time === undefined) return;
    const stop = this.#clock.at(time, () => {
      this.#alarm = undefined;
      this.#listener.slotsChanged();
    });
    this.#alarm = { time, stop };
  }

  pauseBegan(): void {}

  #nextChance({ all, pages }: Crowd): number | undefined {
    if (all === 0) return undefined;
    if (this.#all.free === 0) return this.#all.nextReturn;
    // Slots that came back while somebody read the state, and nobody was let through.
    if (all > pages || this.#pages.free > 0) return this.#clock.now();
    return this.#pages.nextReturn;
  }

  #settle(): number {
    const now = this.#clock.now();
    this.#all.settle(now);
    this.#pages.settle(now);
    return now;
  }
}
