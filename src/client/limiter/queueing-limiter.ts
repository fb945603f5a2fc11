import type { MonotonicClock } from "../../shared/time/clock.js";
import { createPause } from "./pause.js";
import { createPriorityQueue } from "./priority-queue.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import { RATE_LIMITER_BRAND, type RateLimiter, type SlotRequest } from "./rate-limiter.js";
import { type Slot, type SlotListener, type SlotSource, totalCountOf } from "./slot-source.js";

/** A call that waits in the queue. It leaves the queue with a slot or with an error. */
interface Waiter {
  readonly request: SlotRequest;
  leave(): void;
  resolve(slot: Slot): void;
  reject(error: unknown): void;
}

/** The queue, the pause and the concurrency limit of a limiter; `sourceFor` creates the source of its slots. */
export function createQueueingLimiter(
  { requests, intervalMs, reserved, maxConcurrent }: RateLimitSettings,
  clock: MonotonicClock,
  sourceFor: (listener: SlotListener) => SlotSource,
): RateLimiter {
  const queue = createPriorityQueue<Waiter>();
  const pause = createPause(clock, grantSlots);
  let arrivals = 0;
  let inFlight = 0;
  const source = sourceFor({
    slotsChanged: grantSlots,
    slotsDelayed: cancelPastDeadline,
    pausedElsewhere(pauseMs) {
      if (pause.begin(pauseMs)) cancelPastDeadline(pauseMs);
    },
    slotRefused(kind, error) {
      let last: Waiter | undefined;
      for (const waiter of queue) if (waiter.request.slotKind === kind) last = waiter;
      if (last) fail(last, error);
      publishWanted();
    },
    slotsFailed(error) {
      for (const waiter of queue) fail(waiter, error);
      publishWanted();
    },
  });

  return {
    [RATE_LIMITER_BRAND]: true,
    tryAcquire: (request) => (totalCountOf(queue.counts) > 0 ? undefined : takeSlot(request)),
    acquire: (request) => new Promise((resolve, reject) => enqueue(request, resolve, reject)),
    estimateWait(request) {
      return {
        waitMs: Math.max(0, earliestStart(request) - clock.now()),
        pausedUntil: pausedUntil(),
        pauseError: pause.error,
      };
    },
    pause(pauseMs, error) {
      if (!pause.begin(pauseMs, error)) return;
      source.pauseStarted?.(pauseMs);
      cancelPastDeadline(pauseMs);
    },
    totalPausedMs: () => pause.totalMs,
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

  /** Throws if the call was canceled, or would be before it could have a slot. */
  function enqueue(request: SlotRequest, resolve: Waiter["resolve"], reject: Waiter["reject"]): void {
    request.cancellation.ensureTimeFor(earliestStart(request) - clock.now());
    request.arrival ??= ++arrivals;
    const leave = () => {
      unsubscribe();
      removeFromQueue();
    };
    const waiter: Waiter = { request, leave, resolve, reject };
    const removeFromQueue = queue.add(waiter, request, request.arrival);
    const unsubscribe = request.cancellation.onCancel(() => {
      fail(waiter, request.cancellation.toError());
      publishWanted();
    });
    grantSlots();
  }

  /** Grants slots to waiting calls, by priority. */
  function grantSlots(): void {
    for (const waiter of queue.heads()) {
      const slot = takeSlot(waiter.request);
      if (!slot) continue;
      waiter.leave();
      waiter.resolve(slot);
    }
    publishWanted();
  }

  function fail(waiter: Waiter, error: unknown): void {
    waiter.leave();
    waiter.reject(error);
  }

  function takeSlot(request: SlotRequest): Slot | undefined {
    const slot = allowedStarts() > 0 && source.take(request.slotKind);
    if (!slot) return undefined;
    request.arrival ??= ++arrivals;
    const endProbe = pause.requestStarts();
    inFlight += 1;
    let ended = false;
    const end = (sent: boolean) => {
      if (ended) return;
      ended = true;
      inFlight -= 1;
      endProbe?.(sent);
      if (sent) slot.endSent();
      else slot.endUnsent();
      grantSlots();
    };
    return { endSent: () => end(true), endUnsent: () => end(false), hasExpired: () => slot.hasExpired?.() === true };
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
    const slot = source.earliestStart(request.slotKind, queue.countsAhead(request));
    return Math.max(slot, pause.until ?? slot);
  }

  function cancelPastDeadline(delayMs: number): void {
    for (const { request } of queue) request.cancellation.cancelIfDeadlineBefore(delayMs);
    publishWanted();
  }

  /**
   * Reports to the source how many waiting calls may start if there are slots for them, single calls first; and to the pause
   * whether calls wait. Every change of the queue, of the pause or of the requests in flight ends with this, or a call would
   * wait without a timer. Only `tryAcquire` need not: no call waits then.
   */
  function publishWanted(): void {
    const waiting = queue.counts;
    const starts = allowedStarts();
    const single = Math.min(waiting.single, starts);
    pause.setAwaited(totalCountOf(waiting) > 0);
    source.setWanted({ single, bulk: Math.min(waiting.bulk, starts - single) });
  }
}
