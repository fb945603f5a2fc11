/*
 * The rate limit of a client: at most `requests` requests in any interval, however the service counts them.
 *
 * A request takes a slot when it starts. The service may count it at any moment until it has ended, so its slot is free again
 * one interval (and a margin for clocks) after its end. Waiting requests are served by priority, then in the order in which
 * they came. Those of the priority "low" leave `reserved` slots free, those of "normal" half of them (rounded up), so that the
 * first writes of an interval find a slot. A "low" one that has waited for an interval counts as "normal": nothing starves.
 *
 *   open       requests start while there are slots
 *   paused     after a 429 nothing starts until `#pausedUntil`. Further 429s do not prolong the pause
 *   probe due  the pause has ended: one request may start, as the probe
 *   probing    it is in flight, and nothing else starts. If it ends without a 429: open. If it was not sent: probe due
 *
 * A 429 of the probe counts as one for every request that waits, so that none of them waits forever.
 *
 * Slots come from a source: a count in this process (`countedSlots`), Redis, or a Bottleneck. `take` returns a slot, or after
 * how many ms to ask again. A timer runs only while a request waits, so an idle client keeps no process alive.
 */

import { BrandedError, brandErrorClasses } from "../../shared/errors/brand.js";
import { type Abortable, onAbort } from "../../shared/time/abort.js";
import type { MonotonicClock } from "../../shared/time/clock.js";
import type { RateLimitSettings } from "./options.js";

/** How urgent a call is. Writes are `high`, single reads `normal`, further pages of an iteration `low`. */
export type Priority = "high" | "normal" | "low";

/** The order in which waiting requests are served. All calls may be waiting for a token request. */
const RANKS = ["token", "high", "normal", "low"] as const;
type Rank = number;
const NORMAL: Rank = RANKS.indexOf("normal");

/** The right to send one request. */
export interface Slot {
  /** `sent`: the service may have counted it. Otherwise the slot is free again immediately. */
  end(sent: boolean): void;
  /** Whether another process may have the slot by now, because this one stood still: nothing may be sent with it. */
  hasExpired?(): boolean;
}

/** There is no slot now. */
export interface Wait {
  /** When to ask again, in ms. */
  waitMs: number;
  /** All processes that share the limit pause until then, after a 429. */
  isPause?: boolean;
}

/** Where slots come from. */
export interface SlotSource {
  /** Takes a slot if more than `leaveFree` are free. Throws or rejects if there is none to be had: waiting requests fail. */
  take(leaveFree: number): Slot | Wait | Promise<Slot | Wait>;
  /** The least wait of a request that has this many others ahead of it, in ms, as far as is known. */
  waitMs(ahead: number): number;
  /** Free slots, as far as is known. */
  readonly available: number;
  /** A pause has begun here. */
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

/** No slot can be had, because its source failed. */
export class NoSlots extends BrandedError {}

// The limiter of one copy of the package may serve clients of the other.
brandErrorClasses({ SlotTooLate, NoSlots });

export interface SlotRequest {
  priority: Priority | "token";
  /** Ends the wait. */
  signal: Abortable;
  /** How long the request can wait, in ms. */
  maxWaitMs: number;
  /** Called if the wait is expected to be long, and when a pause begins. */
  onLongWait?: ((waitMs: number, reason: "limit" | "pause") => void) | undefined;
  /** A request that was sent as a probe got a 429. Returns what the waiting call fails with, if it fails. */
  onFailedProbe?: (() => unknown) | undefined;
}

interface Waiter {
  readonly request: SlotRequest;
  rank: Rank;
  /** By the clock of the limiter. */
  readonly queuedAt: number;
  readonly waitsUntil: number;
  readonly start: (slot: Slot) => void;
  readonly fail: (error: unknown) => void;
  isWaiting: boolean;
  /** Ends listening to the signal. */
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
  /** By rank, then by arrival. */
  readonly #queue: Waiter[] = [];
  readonly #clock: MonotonicClock;
  readonly #setAlarm: (time: number | undefined) => void;
  #state: "open" | "paused" | "probe due" | "probing" = "open";
  #pausedUntil = 0;
  #inFlight = 0;
  #isAsking = false;
  /** Something has changed while the source was asked. */
  #hasChanged = false;
  /** The last request that was sent as a probe. */
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

  /** The least wait of a request that would come now, behind `ahead` others that will come, in ms, as far as is known. @internal */
  waitMs(priority: Priority | "token", ahead = 0): number {
    const rank = RANKS.indexOf(priority);
    const before = this.#countUpTo(rank) + ahead;
    const waitMs = this.#source.waitMs(before + this.#leaveFree(rank));
    if (RANKS[rank] !== "low") return Math.max(waitMs, this.#pauseMs);
    const promotedMs = Math.max(this.#settings.intervalMs, this.#source.waitMs(before + this.#leaveFree(NORMAL)));
    return Math.max(Math.min(waitMs, promotedMs), this.#pauseMs);
  }

  /** The state at this moment. */
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
    for (let head = this.#head(); head; head = this.#head()) {
      const leaveFree = this.#leaveFree(head.rank);
      const answer = this.#source.take(leaveFree);
      const taken = answer instanceof Promise ? await answer : answer;
      if ("waitMs" in taken) {
        if (taken.isPause && this.#pauseMs <= 0) this.#beginPause(taken.waitMs);
        this.#failLate(Math.max(taken.waitMs, this.#source.waitMs(leaveFree)), leaveFree);
        return this.#askAgainAt(Math.min(this.#clock.now() + Math.max(1, taken.waitMs), this.#promotedAt(head)));
      }
      // The queue may have changed: the slot is for the request that is first now.
      const first = this.#head();
      if (first && this.#leaveFree(first.rank) <= leaveFree) this.#start(first, taken);
      else taken.end(false);
    }
    // Not by the clock: the pause may have ended since it was read, and then nobody would ask again.
    this.#askAgainAt(this.#state === "paused" ? this.#pausedUntil : undefined);
  }

  /** The request that may start next; none during a pause, or while too many are in flight. */
  #head(): Waiter | undefined {
    if (this.#state === "paused" && this.#pauseMs <= 0) this.#state = "probe due";
    this.#promote();
    const mayStart = this.#state === "open" || this.#state === "probe due";
    return mayStart && this.#inFlight < this.#settings.maxConcurrent ? this.#queue[0] : undefined;
  }

  /** Bulk requests that have waited for an interval count as normal ones. */
  #promote(): void {
    const now = this.#clock.now();
    // Those of one rank stand in the order in which they came, so those that are promoted stay where they are.
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
        // If another 429 has begun a pause, there will be another probe.
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

  /** Fails the requests for which that wait is too long, of those that leave this many slots free. */
  #failLate(waitMs: number, leaveFree = 0): void {
    const now = this.#clock.now();
    const promotedMs = leaveFree > 0 ? this.#source.waitMs(this.#leaveFree(NORMAL)) : waitMs;
    const late = this.#queue.filter((waiter) => {
      const promoted = Math.max(this.#promotedAt(waiter), now + promotedMs);
      return waiter.waitsUntil < Math.min(now + waitMs, promoted) && this.#leaveFree(waiter.rank) >= leaveFree;
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

  /** In ms since the epoch. */
  get #pauseEnd(): number | null {
    const pauseMs = this.#pauseMs;
    return pauseMs > 0 ? Math.round(Date.now() + pauseMs) : null;
  }

  /** How many wait that are as urgent or more. Searched from the end, where most requests join the queue. */
  #countUpTo = (rank: Rank) => this.#queue.findLastIndex((waiter) => waiter.rank <= rank) + 1;

  #leaveFree(rank: Rank): number {
    const { reserved } = this.#settings;
    return RANKS[rank] === "low" ? reserved : rank === NORMAL ? Math.ceil(reserved / 2) : 0;
  }
}

/** The service's clock runs at a slightly different speed, and may count in whole ms. */
export const marginMs = (intervalMs: number) => 3 + intervalMs / 10_000;

/** The slots of one process that has the whole limit to itself. */
export function countedSlots({ requests, intervalMs }: RateLimitSettings, clock: MonotonicClock): SlotSource {
  let free = requests;
  /** When the slots of ended requests are free again, in ascending order. */
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
    // Of requests in flight it is only known that they have not ended.
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
