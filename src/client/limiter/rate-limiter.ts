/*
 * Keeps the rate limit of a client: at most `requests` requests in any interval, however the service counts them.
 *
 * A request takes a slot when it starts. The service may count the request at any moment until it has ended, so the slot is free
 * again one interval (plus a margin for clocks) after the end of the request. Waiting requests are served by priority, then in
 * the order in which they came. Requests with the priority "low" leave `reserved` slots free, and requests with "normal" leave
 * half of them free (rounded up), so that the first writes of an interval find a slot. A "low" request that has waited for an
 * interval counts as "normal", so that nothing starves.
 *
 *   open       Requests start while there are slots.
 *   paused     After a 429, nothing starts until `#pausedUntil`. Further 429s do not prolong the pause.
 *   probe due  The pause has ended. One request may start, as the probe.
 *   probing    The probe is in flight, and nothing else starts. If it ends without a 429: open. If it was not sent: probe due.
 *
 * A 429 of the probe counts as a 429 for every waiting request, so that no request waits forever.
 *
 * Slots come from a source: a count in this process (`countedSlots`), Redis, or a Bottleneck. `take` returns a slot, or the time
 * after which to ask again. A timer runs only while a request waits, so an idle client keeps no process alive.
 */

import { BrandedError, brandErrorClasses } from "../../shared/errors/brand.js";
import { type Abortable, onAbort } from "../../shared/time/abort.js";
import type { MonotonicClock } from "../../shared/time/clock.js";
import type { RateLimitSettings } from "./options.js";

/** How urgent a call is. Writes are `high`, single reads `normal`, further pages of an iteration `low`. */
export type Priority = "high" | "normal" | "low";

/** The order in which waiting requests are served. Token requests come first, because all calls may be waiting for one. */
const RANKS = ["token", "high", "normal", "low"] as const;
type Rank = number;
const NORMAL: Rank = RANKS.indexOf("normal");

/** The right to send one request. */
export interface Slot {
  /** Ends the request. `sent`: the service may have counted it. If it was not sent, the slot is free again immediately. */
  end(sent: boolean): void;
  /** Whether another process may have the slot by now, because this process stood still. Then nothing may be sent with the slot. */
  hasExpired?(): boolean;
}

/** The result of a source that has no slot now. */
export interface Wait {
  /** The time after which to ask again, in ms. */
  waitMs: number;
  /** Whether all processes that share the limit pause until then, after a 429. */
  isPause?: boolean;
}

/** Where slots come from. */
export interface SlotSource {
  /** Takes a slot if more than `leaveFree` slots are free. If it throws or rejects, the waiting requests fail. */
  take(leaveFree: number): Slot | Wait | Promise<Slot | Wait>;
  /** Returns the shortest known wait of a request with this many requests ahead of it, in ms. */
  waitMs(ahead: number): number;
  /** How many slots are free, as far as is known. */
  readonly available: number;
  /** Called when a pause has begun in this process. */
  pause?(ms: number): void;
  /** Resolves when the end of each slot is stored where other processes see it. */
  flush?(): Promise<void>;
}

/** The state of a rate limiter at one moment. */
export interface RateLimitSnapshot {
  /** Requests allowed in any interval; `Infinity` without a limit. */
  limit: number;
  /** Length of the interval in ms. */
  intervalMs: number;
  /** Slots that bulk work leaves free: further pages of an iteration, writes of an outbox or a plan. */
  reserved: number;
  /** Slots that are free; 0 during a pause. `maxConcurrent` may allow fewer requests to start at the same time. */
  available: number;
  /** Calls that wait for a slot. */
  queued: number;
  /** Requests in flight. */
  inFlight: number;
  /** End of the pause after a 429, in ms since the epoch; null when there is none. */
  pausedUntil: number | null;
}

/** No slot will be free within the time of the call. */
export class SlotTooLate extends BrandedError {
  constructor(
    readonly waitMs: number,
    readonly pausedUntil: number | null,
  ) {
    super("no slot in time");
  }
}

/** The source of the slots failed. */
export class SlotSourceFailed extends BrandedError {}

// The limiter of one copy of the package (ES module or CommonJS) may serve clients of the other.
brandErrorClasses({ SlotTooLate, SlotSourceFailed });

export interface SlotRequest {
  priority: Priority | "token";
  /** Ends the wait. */
  signal: Abortable;
  /** How long the request can wait, in ms. */
  maxWaitMs: number;
  /** Called if the wait is expected to be long, and when a pause begins. */
  onLongWait?: ((waitMs: number, reason: "limit" | "pause") => void) | undefined;
  /** Called when the probe got a 429. Returns the error with which the waiting call fails, if it fails. */
  onFailedProbe?: (() => unknown) | undefined;
}

interface Waiter {
  readonly request: SlotRequest;
  rank: Rank;
  /** When the request joined the queue, by the clock of the limiter in ms. */
  readonly queuedAt: number;
  readonly waitsUntil: number;
  readonly start: (slot: Slot) => void;
  readonly fail: (error: unknown) => void;
  isWaiting: boolean;
  /** Stops listening to the signal. */
  stop: (() => void) | undefined;
}

const LONG_WAIT_MS = 1_500;

/**
 * Decides when requests may be sent. Create it with `createRateLimiter`, `createRedisRateLimiter` or
 * `createBottleneckRateLimiter`. Several clients can share one.
 */
export class RateLimiter {
  readonly #settings: RateLimitSettings;
  readonly #source: SlotSource;
  /** The waiting requests, by rank, then by arrival. */
  readonly #queue: Waiter[] = [];
  readonly #clock: MonotonicClock;
  readonly #setAlarm: (time: number | undefined) => void;
  #state: "open" | "paused" | "probe due" | "probing" = "open";
  #pausedUntil = 0;
  #inFlight = 0;
  #isAsking = false;
  /** Whether something has changed while the source was asked. */
  #hasChanged = false;
  /** The request that was sent as the latest probe. */
  #probe: Waiter | undefined;

  /** @internal */
  constructor(settings: RateLimitSettings, clock: MonotonicClock, source: SlotSource) {
    this.#settings = settings;
    this.#clock = clock;
    this.#source = source;
    this.#setAlarm = clock.createAlarm(() => void this.#serve());
  }

  /** Waits for a slot. Rejects with the reason of the signal, or immediately if none will be free in time. @internal */
  async acquire(request: SlotRequest): Promise<Slot> {
    const { priority, signal, maxWaitMs, onLongWait } = request;
    if (signal.aborted) throw signal.reason;
    const rank = RANKS.indexOf(priority);
    if (maxWaitMs !== Infinity || onLongWait) {
      const waitMs = this.waitMs(priority);
      if (waitMs > maxWaitMs) throw new SlotTooLate(waitMs, this.#pauseEnd);
      if (waitMs >= LONG_WAIT_MS) onLongWait?.(waitMs, this.#pauseMs > 0 ? "pause" : "limit");
    }
    const queuedAt = this.#clock.now();
    const waitsUntil = queuedAt + maxWaitMs;
    return new Promise((start, fail) => {
      const waiter: Waiter = { request, rank, queuedAt, waitsUntil, start, fail, isWaiting: true, stop: undefined };
      this.#queue.splice(this.#countUpTo(rank), 0, waiter);
      void this.#serve();
      // Usually there is a slot, and nothing to wait for.
      if (waiter.isWaiting) waiter.stop = onAbort(signal, () => this.#fail(waiter, signal.reason));
    });
  }

  /** Begins a pause after a 429, unless there is one. @internal */
  pause(ms: number): void {
    if (this.#pauseMs > 0) return;
    this.#source.pause?.(ms);
    this.#beginPause(ms, this.#state === "probing");
    void this.#serve();
  }

  /** Resolves when the end of each slot is stored where other processes see it. @internal */
  async flush(): Promise<void> {
    await this.#source.flush?.();
  }

  /** Returns the shortest known wait of a request that came now, with `ahead` requests in front of it, in ms. @internal */
  waitMs(priority: Priority | "token", ahead = 0): number {
    const rank = RANKS.indexOf(priority);
    const before = this.#countUpTo(rank) + ahead;
    const waitMs = this.#source.waitMs(before + this.#leaveFree(rank));
    if (RANKS[rank] !== "low") return Math.max(waitMs, this.#pauseMs);
    const promotedMs = Math.max(this.#settings.intervalMs, this.#source.waitMs(before + this.#leaveFree(NORMAL)));
    return Math.max(Math.min(waitMs, promotedMs), this.#pauseMs);
  }

  /** Returns the state at this moment. */
  snapshot(): RateLimitSnapshot {
    const { requests, intervalMs, reserved } = this.#settings;
    return {
      limit: requests,
      intervalMs,
      reserved,
      available: this.#pauseMs > 0 ? 0 : this.#source.available,
      queued: this.#queue.length,
      inFlight: this.#inFlight,
      pausedUntil: this.#pauseEnd,
    };
  }

  /** Starts waiting requests, as long as there are slots. */
  async #serve(): Promise<void> {
    this.#hasChanged = true;
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      while (this.#hasChanged) {
        this.#hasChanged = false;
        await this.#grant();
      }
    } catch (error) {
      for (const waiter of [...this.#queue]) this.#fail(waiter, error);
    } finally {
      this.#isAsking = false;
    }
  }

  async #grant(): Promise<void> {
    for (let next = this.#nextToStart(); next; next = this.#nextToStart()) {
      const leaveFree = this.#leaveFree(next.rank);
      const answer = this.#source.take(leaveFree);
      const taken = answer instanceof Promise ? await answer : answer;
      if ("waitMs" in taken) {
        if (taken.isPause && this.#pauseMs <= 0) this.#beginPause(taken.waitMs);
        this.#failLate(Math.max(taken.waitMs, this.#source.waitMs(leaveFree)), leaveFree);
        return this.#askAgainAt(Math.min(this.#clock.now() + Math.max(1, taken.waitMs), this.#promotedAt(next)));
      }
      // The queue may have changed meanwhile. The slot is for the request that is first now.
      const first = this.#nextToStart();
      if (first && this.#leaveFree(first.rank) <= leaveFree) this.#start(first, taken);
      else taken.end(false);
    }
    // Reads the state, not the clock: if the pause has ended since the clock was read, no alarm would be set.
    this.#askAgainAt(this.#state === "paused" ? this.#pausedUntil : undefined);
  }

  /** Returns the request that may start next; `undefined` during a pause or while too many requests are in flight. */
  #nextToStart(): Waiter | undefined {
    if (this.#state === "paused" && this.#pauseMs <= 0) this.#state = "probe due";
    this.#promote();
    const mayStart = this.#state === "open" || this.#state === "probe due";
    return mayStart && this.#inFlight < this.#settings.maxConcurrent ? this.#queue[0] : undefined;
  }

  /** Gives "low" requests that have waited for an interval the rank of "normal". */
  #promote(): void {
    const now = this.#clock.now();
    // Requests of one rank stand in the order in which they came, so a promoted request keeps its place.
    for (const waiter of this.#queue) if (this.#promotedAt(waiter) <= now) waiter.rank = NORMAL;
  }

  #promotedAt = ({ rank, queuedAt }: Waiter) =>
    RANKS[rank] === "low" ? queuedAt + this.#settings.intervalMs : Infinity;

  #start(waiter: Waiter, slot: Slot): void {
    const isProbe = this.#state === "probe due";
    if (isProbe) {
      this.#state = "probing";
      this.#probe = waiter;
    }
    this.#remove(waiter);
    this.#inFlight += 1;
    let hasEnded = false;
    waiter.start({
      hasExpired: () => slot.hasExpired?.() ?? false,
      end: (sent) => {
        if (hasEnded) return;
        hasEnded = true;
        this.#inFlight -= 1;
        // If another 429 has begun a pause meanwhile, there will be another probe.
        if (this.#probe === waiter && this.#state === "probing") this.#state = sent ? "open" : "probe due";
        slot.end(sent);
        void this.#serve();
      },
    });
  }

  #beginPause(ms: number, hasProbeFailed = false): void {
    this.#state = "paused";
    this.#pausedUntil = this.#clock.now() + ms;
    this.#failLate(ms);
    for (const waiter of [...this.#queue]) {
      const failure = hasProbeFailed ? waiter.request.onFailedProbe?.() : undefined;
      if (failure !== undefined) this.#fail(waiter, failure);
      else waiter.request.onLongWait?.(ms, "pause");
    }
  }

  /**
   * Fails the waiting requests that must leave at least `leaveFree` slots free and cannot wait for `waitMs`. A "low"
   * request may get a slot earlier: once promoted, it only needs the slot of a "normal" request. If `leaveFree` is 0,
   * for example during a pause, no rank gets a slot before `waitMs`.
   */
  #failLate(waitMs: number, leaveFree = 0): void {
    const now = this.#clock.now();
    const normalMs = leaveFree > 0 ? this.#source.waitMs(this.#leaveFree(NORMAL)) : waitMs;
    const late = this.#queue.filter((waiter) => {
      const slotAfterPromotion = Math.max(this.#promotedAt(waiter), now + normalMs);
      const earliestSlot = Math.min(now + waitMs, slotAfterPromotion);
      return waiter.waitsUntil < earliestSlot && this.#leaveFree(waiter.rank) >= leaveFree;
    });
    for (const waiter of late) this.#fail(waiter, new SlotTooLate(waitMs, this.#pauseEnd));
  }

  #fail(waiter: Waiter, error: unknown): void {
    this.#remove(waiter);
    waiter.fail(error);
  }

  #remove(waiter: Waiter): void {
    const index = this.#queue.indexOf(waiter);
    if (index >= 0) {
      this.#queue.splice(index, 1);
      waiter.isWaiting = false;
      waiter.stop?.();
    }
    if (this.#queue.length === 0) this.#setAlarm(undefined);
  }

  #askAgainAt(time: number | undefined): void {
    this.#setAlarm(this.#queue.length > 0 ? time : undefined);
  }

  get #pauseMs(): number {
    return this.#state === "paused" ? Math.max(0, this.#pausedUntil - this.#clock.now()) : 0;
  }

  /** The end of the pause, in ms since the epoch. */
  get #pauseEnd(): number | null {
    const pauseMs = this.#pauseMs;
    return pauseMs > 0 ? Math.round(Date.now() + pauseMs) : null;
  }

  /** Returns how many waiting requests are at least as urgent. Searches from the end, where most requests join the queue. */
  #countUpTo = (rank: Rank) => this.#queue.findLastIndex((waiter) => waiter.rank <= rank) + 1;

  #leaveFree(rank: Rank): number {
    const { reserved } = this.#settings;
    return RANKS[rank] === "low" ? reserved : rank === NORMAL ? Math.ceil(reserved / 2) : 0;
  }
}

/** Returns a margin for the service's clock, which runs at a slightly different speed and may count whole ms. */
export const marginMs = (intervalMs: number) => 3 + intervalMs / 10_000;

/** Returns the source of slots for a process that has the whole limit to itself. */
export function countedSlots({ requests, intervalMs }: RateLimitSettings, clock: MonotonicClock): SlotSource {
  let free = requests;
  /** When the slots of ended requests become free again, in ascending order. */
  const returns: number[] = [];
  const holdMs = intervalMs + marginMs(intervalMs);
  const reclaim = () => {
    const now = clock.now();
    const stillHeld = returns.findIndex((time) => time > now);
    const ended = stillHeld < 0 ? returns.length : stillHeld;
    if (ended > 0) free += returns.splice(0, ended).length;
    return now;
  };
  const waitMs = (ahead: number) => {
    const now = reclaim();
    if (ahead < free) return 0;
    const index = (ahead % requests) - free;
    // The other slots belong to requests in flight, which have not ended yet: such a slot is not free before `holdMs`
    // from now.
    const next = index < 0 ? now : (returns[index] ?? now + holdMs);
    const rounds = Math.floor(ahead / requests);
    return next - now + (rounds === 0 ? 0 : rounds * holdMs);
  };
  return {
    waitMs,
    take(leaveFree) {
      const wait = waitMs(leaveFree);
      if (wait > 0) return { waitMs: wait };
      free -= 1;
      return {
        end(sent) {
          if (sent && requests !== Infinity) returns.push(clock.now() + holdMs);
          else free += 1;
        },
      };
    },
    get available() {
      reclaim();
      return free;
    },
  };
}
