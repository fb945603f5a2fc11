import type { MonotonicClock } from "../time/clock.js";
import { createPause } from "./pause.js";
import { PriorityQueue } from "./priority-queue.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import { RATE_LIMITER_BRAND, type RateLimiter, type Slot, type SlotRequest } from "./rate-limiter.js";
import { type SlotListener, type SlotSource, totalCountOf } from "./slot-source.js";

interface WaitingCall {
  readonly request: SlotRequest;
  readonly arrival: number;
  /** Leaves the queue, with a slot or with an error. */
  settle(slot: Slot | undefined, error?: unknown): void;
}

/** The queue, the pause and the concurrency limit of a limiter; `sourceFor` creates the source of its slots. */
export function createQueueingLimiter(
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
    slotRefused(isBulk, error) {
      let last: WaitingCall | undefined;
      for (const waiting of queue) if (waiting.request.isBulk === isBulk) last = waiting;
      last?.settle(undefined, error);
      publishDemand();
    },
    slotsFailed(error) {
      for (const waiting of queue) waiting.settle(undefined, error);
      publishDemand();
    },
  });

  const tryAcquire = (request: SlotRequest) => {
    if (totalCountOf(queue.counts) > 0) return undefined;
    const arrival = request.arrival ?? arrivals + 1;
    const slot = takeSlot(request, arrival);
    if (slot) arrivals = Math.max(arrivals, arrival);
    return slot;
  };

  return {
    [RATE_LIMITER_BRAND]: true,
    tryAcquire,
    acquire(request) {
      // Not an async function: its promise would take memory in every queued call (bench: memory).
      try {
        request.cancellation.throwIfCancelled();
        const slot = tryAcquire(request);
        if (slot) return Promise.resolve(slot);
        const arrival = request.arrival ?? ++arrivals;
        request.cancellation.ensureTimeFor(earliestStart(request) - clock.now());
        return enqueue(request, arrival);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    estimateWait(request) {
      return {
        waitMs: Math.max(0, earliestStart(request) - clock.now()),
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
        queued: totalCountOf(queue.counts),
        inFlight,
        pausedUntil: pausedUntil(),
      };
    },
  };

  function enqueue(request: SlotRequest, arrival: number): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const settle: WaitingCall["settle"] = (slot, error) => {
        unsubscribe();
        removeFromQueue();
        if (slot) resolve(slot);
        else reject(error);
      };
      const removeFromQueue = queue.add({ request, arrival, settle }, request, arrival);
      const unsubscribe = request.cancellation.onCancel(() => {
        settle(undefined, request.cancellation.toError());
        publishDemand();
      });
      grantSlots();
    });
  }

  /** Grants slots to waiting calls, by priority. */
  function grantSlots(): void {
    for (const { request, arrival, settle } of queue.heads()) {
      const slot = takeSlot(request, arrival);
      if (slot) settle(slot);
    }
    publishDemand();
  }

  function takeSlot({ isBulk }: SlotRequest, arrival: number): Slot | undefined {
    const granted = allowedStarts() > 0 && source.take(isBulk);
    if (!granted) return undefined;
    const endProbe = pause.start();
    inFlight += 1;
    let ended = false;
    const end = (sent: boolean) => {
      if (ended) return;
      ended = true;
      inFlight -= 1;
      endProbe?.(sent);
      if (sent) granted.endSent();
      else granted.endUnsent();
      grantSlots();
    };
    return { arrival, endSent: () => end(true), endUnsent: () => end(false) };
  }

  /** How many requests may start now if there are slots for them. */
  function allowedStarts(): number {
    return Math.max(0, Math.min(maxConcurrent - inFlight, pause.allowance));
  }

  /** The end of the pause by the wall clock. */
  function pausedUntil(): number | null {
    const { until } = pause;
    return until === undefined ? null : Math.round(Date.now() + until - clock.now());
  }

  /** The earliest time at which this request can have a slot, as far as is known. */
  function earliestStart(request: SlotRequest): number {
    const slot = source.earliestStart(request.isBulk, queue.countsAhead(request));
    return Math.max(slot, pause.until ?? slot);
  }

  function cancelPastDeadline(delayMs: number): void {
    for (const { request } of queue) request.cancellation.cancelIfDeadlineBefore(delayMs);
    publishDemand();
  }

  /** Reports to the source how many waiting calls may start if there are slots for them, single calls first. */
  function publishDemand(): void {
    const waiting = queue.counts;
    const starts = allowedStarts();
    const singles = Math.min(waiting.singles, starts);
    pause.setWatched(totalCountOf(waiting) > 0);
    source.setDemand({ singles, pages: Math.min(waiting.pages, starts - singles) });
  }
}
