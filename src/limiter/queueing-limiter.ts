import type { Clock } from "./clock.js";
import { Lanes } from "./lanes.js";
import { createPause } from "./pause.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import type { RateLimiter, Slot, SlotRequest } from "./rate-limiter.js";
import type { SlotListener, SlotSource } from "./slot-source.js";

interface Waiting {
  readonly request: SlotRequest;
  readonly order: number;
  /** Leaves the queue, with a slot or with an error. */
  leave(slot: Slot | undefined, error?: unknown): void;
}

/** The queue, the pause and the bound on concurrency of a limiter, whoever keeps the slots. */
export function queueingLimiter(
  { requests, intervalMs, reserved, maxConcurrent }: RateLimitSettings,
  clock: Clock,
  sourceFor: (listener: SlotListener) => SlotSource,
): RateLimiter {
  const lanes = new Lanes<Waiting>();
  const pause = createPause(clock, serve);
  let arrivals = 0;
  let inFlight = 0;
  const source = sourceFor({
    slotsChanged: serve,
    slotsDelayed: callOffWhoeverIsTooLate,
    pauseLearned(delayMs) {
      if (pause.begin(delayMs)) callOffWhoeverIsTooLate(delayMs);
    },
    slotRefused(bulk, error) {
      let last: Waiting | undefined;
      for (const waiting of lanes) if (waiting.request.bulk === bulk) last = waiting;
      last?.leave(undefined, error);
      tellWhoWaits();
    },
    slotsFailed(error) {
      for (const waiting of lanes) waiting.leave(undefined, error);
      tellWhoWaits();
    },
  });

  const tryAcquire = (request: SlotRequest) => {
    if (lanes.crowd.all > 0) return undefined;
    const order = request.order ?? arrivals + 1;
    const slot = take(request, order);
    if (slot) arrivals = Math.max(arrivals, order);
    return slot;
  };

  return {
    tryAcquire,
    acquire(request) {
      // Not an async function: that would be one more promise for each call that waits.
      try {
        request.lifetime.throwIfEnded();
        const slot = tryAcquire(request);
        if (slot) return Promise.resolve(slot);
        const order = request.order ?? ++arrivals;
        request.lifetime.reserve(earliest(request) - clock.now());
        return wait(request, order);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    estimateWait(request) {
      return {
        waitMs: Math.max(0, earliest(request) - clock.now()),
        pausedUntil: pausedUntil(),
        pauseError: pause.error,
      };
    },
    pause(delayMs, error) {
      if (!pause.begin(delayMs, error)) return;
      source.pauseBegan(delayMs);
      callOffWhoeverIsTooLate(delayMs);
    },
    pausedMs: () => pause.totalMs,
    reserved,
    snapshot() {
      return {
        limit: requests,
        intervalMs,
        available: pause.until === undefined ? source.available : 0,
        queued: lanes.crowd.all,
        inFlight,
        pausedUntil: pausedUntil(),
      };
    },
  };

  function wait(request: SlotRequest, order: number): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const leave: Waiting["leave"] = (slot, error) => {
        forget();
        takeOut();
        if (slot) resolve(slot);
        else reject(error);
      };
      const takeOut = lanes.add({ request, order, leave }, request, order);
      const forget = request.lifetime.onEnd(() => {
        leave(undefined, request.lifetime.endedError());
        tellWhoWaits();
      });
      serve();
    });
  }

  /** Lets pass whoever may, the most urgent first. */
  function serve(): void {
    for (const { request, order, leave } of lanes.fronts()) {
      const slot = take(request, order);
      if (slot) leave(slot);
    }
    tellWhoWaits();
  }

  function take({ bulk }: SlotRequest, order: number): Slot | undefined {
    const taken = allowance() > 0 && source.take(bulk);
    if (!taken) return undefined;
    const endProbe = pause.start();
    inFlight += 1;
    let over = false;
    const end = (sent: boolean) => {
      if (over) return;
      over = true;
      inFlight -= 1;
      endProbe?.(sent);
      if (sent) taken.release();
      else taken.giveBack();
      serve();
    };
    return { order, release: () => end(true), giveBack: () => end(false) };
  }

  /** How many may start now if there are slots for them. */
  function allowance(): number {
    return Math.max(0, Math.min(maxConcurrent - inFlight, pause.allowance));
  }

  /** The end of the pause by the wall clock. */
  function pausedUntil(): number | null {
    const { until } = pause;
    return until === undefined ? null : Math.round(Date.now() + until - clock.now());
  }

  /** No slot for this request can come before this time, as far as is known now. */
  function earliest(request: SlotRequest): number {
    const slot = source.earliest(request.bulk, lanes.ahead(request));
    return Math.max(slot, pause.until ?? slot);
  }

  function callOffWhoeverIsTooLate(delayMs: number): void {
    for (const { request } of lanes) request.lifetime.endIfShorterThan(delayMs);
    tellWhoWaits();
  }

  /** Tells the source how many of the queue may start if there are slots for them, single calls first. */
  function tellWhoWaits(): void {
    const { all, pages } = lanes.crowd;
    const count = allowance();
    pause.watch(all > 0);
    source.expect({ all: Math.min(all, count), pages: Math.min(pages, Math.max(0, count - all + pages)) });
  }
}
