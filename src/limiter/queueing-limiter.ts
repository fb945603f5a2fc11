import type { MonotonicClock } from "./monotonic-clock.js";
import { createPause } from "./pause.js";
import { PriorityQueue } from "./priority-queue.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import { RATE_LIMITER, type RateLimiter, type Slot, type SlotRequest } from "./rate-limiter.js";
import type { SlotListener, SlotSource } from "./slot-source.js";

interface WaitingCall {
  readonly request: SlotRequest;
  readonly order: number;
  /** Leaves the queue, with a slot or with an error. */
  leave(slot: Slot | undefined, error?: unknown): void;
}

/** The queue, the pause and the bound on concurrency of a limiter, whoever keeps the slots. */
export function queueingLimiter(
  { requests, intervalMs, reserved, maxConcurrent }: RateLimitSettings,
  clock: MonotonicClock,
  sourceFor: (listener: SlotListener) => SlotSource,
): RateLimiter {
  const queue = new PriorityQueue<WaitingCall>();
  const pause = createPause(clock, grantSlots);
  let arrivals = 0;
  let inFlight = 0;
  const source = sourceFor({
    slotsChanged: grantSlots,
    slotsDelayed: cancelPastDeadline,
    pausedElsewhere(delayMs) {
      if (pause.begin(delayMs)) cancelPastDeadline(delayMs);
    },
    slotRefused(bulk, error) {
      let last: WaitingCall | undefined;
      for (const waiting of queue) if (waiting.request.bulk === bulk) last = waiting;
      last?.leave(undefined, error);
      publishDemand();
    },
    slotsFailed(error) {
      for (const waiting of queue) waiting.leave(undefined, error);
      publishDemand();
    },
  });

  const tryAcquire = (request: SlotRequest) => {
    if (queue.counts.all > 0) return undefined;
    const order = request.arrival ?? arrivals + 1;
    const slot = take(request, order);
    if (slot) arrivals = Math.max(arrivals, order);
    return slot;
  };

  return {
    [RATE_LIMITER]: true,
    tryAcquire,
    acquire(request) {
      // Not an async function: that would be one more promise for each call that waits.
      try {
        request.cancellation.throwIfCancelled();
        const slot = tryAcquire(request);
        if (slot) return Promise.resolve(slot);
        const order = request.arrival ?? ++arrivals;
        request.cancellation.ensureTimeFor(earliest(request) - clock.now());
        return enqueue(request, order);
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
      source.pauseStarted(delayMs);
      cancelPastDeadline(delayMs);
    },
    pausedMs: () => pause.totalMs,
    reserved,
    snapshot() {
      return {
        limit: requests,
        intervalMs,
        available: pause.until === undefined ? source.available : 0,
        queued: queue.counts.all,
        inFlight,
        pausedUntil: pausedUntil(),
      };
    },
  };

  function enqueue(request: SlotRequest, order: number): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const leave: WaitingCall["leave"] = (slot, error) => {
        forget();
        takeOut();
        if (slot) resolve(slot);
        else reject(error);
      };
      const takeOut = queue.add({ request, order, leave }, request, order);
      const forget = request.cancellation.onCancel(() => {
        leave(undefined, request.cancellation.toError());
        publishDemand();
      });
      grantSlots();
    });
  }

  /** Lets pass whoever may, the most urgent first. */
  function grantSlots(): void {
    for (const { request, order, leave } of queue.heads()) {
      const slot = take(request, order);
      if (slot) leave(slot);
    }
    publishDemand();
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
      else taken.returnUnused();
      grantSlots();
    };
    return { arrival: order, release: () => end(true), returnUnused: () => end(false) };
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
    const slot = source.earliestStart(request.bulk, queue.countsAhead(request));
    return Math.max(slot, pause.until ?? slot);
  }

  function cancelPastDeadline(delayMs: number): void {
    for (const { request } of queue) request.cancellation.cancelIfDeadlineBefore(delayMs);
    publishDemand();
  }

  /** Tells the source how many of the queue may start if there are slots for them, single calls first. */
  function publishDemand(): void {
    const { all, pages } = queue.counts;
    const count = allowance();
    pause.setWatched(all > 0);
    source.setDemand({ all: Math.min(all, count), pages: Math.min(pages, Math.max(0, count - all + pages)) });
  }
}
