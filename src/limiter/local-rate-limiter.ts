import { Ended } from "../time/lifetime.js";
import { Clock } from "./clock.js";
import { Lane, type Place } from "./lane.js";
import { Quota } from "./quota.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import type { RateLimiter, RateLimitSnapshot, Slot, SlotRequest } from "./rate-limiter.js";

/**
 * The service's clock and ours run at slightly different speeds, and it may count in whole milliseconds: a slot comes
 * back this much later than the interval says.
 */
const guardMs = (intervalMs: number) => 3 + intervalMs / 10_000;

/** From the most urgent to the least. Pages have lanes of their own, since they may have to wait while others need not. */
const LANES = ["token", "high", "high pages", "normal", "normal pages", "low", "low pages"] as const;
type LaneName = (typeof LANES)[number];

interface Waiting {
  request: SlotRequest;
  admit(slot: Slot): void;
  fail(error: unknown): void;
}

/** The rate limiter of one process. */
export class LocalRateLimiter implements RateLimiter {
  readonly #settings: RateLimitSettings;
  readonly #clock = new Clock();
  readonly #all: Quota;
  readonly #pages: Quota;
  readonly #lanes = new Map(LANES.map((name) => [name, new Lane<Waiting>()]));
  #arrivals = 0;
  #queued = 0;
  #inFlight = 0;
  #pause: { from: number; until: number } | undefined;
  #earlierPausesMs = 0;
  /** After a pause one request goes first; the rest follow when it has not met another 429. */
  #probe: "none" | "due" | "under way" = "none";
  #alarm: { time: number; stop: () => void } | undefined;

  constructor(settings: RateLimitSettings) {
    this.#settings = settings;
    this.#all = new Quota(settings.requests);
    this.#pages = new Quota(settings.requests - settings.reserved);
  }

  async acquire(request: SlotRequest): Promise<Slot> {
    request.lifetime.throwIfEnded();
    this.#settle();
    const order = request.order ?? ++this.#arrivals;
    if (this.#queued === 0 && this.#mayPass(request)) return this.#take(request, order);
    if (this.#earliest(request) - this.#clock.now() > request.lifetime.remainingMs) {
      throw new Ended({ kind: "out-of-time" });
    }
    return this.#wait(request, order);
  }

  pause(delayMs: number): void {
    this.#settle();
    if (this.#pause) return;
    const from = this.#clock.now();
    this.#pause = { from, until: from + delayMs };
    for (const lane of this.#lanes.values()) {
      for (const { request, fail } of lane) {
        if (request.lifetime.remainingMs < delayMs) fail(new Ended({ kind: "out-of-time" }));
      }
    }
    this.#wakeUp();
  }

  pausedMs(): number {
    this.#settle();
    return this.#earlierPausesMs + (this.#pause ? this.#clock.now() - this.#pause.from : 0);
  }

  snapshot(): RateLimitSnapshot {
    this.#settle();
    return {
      limit: this.#settings.requests,
      intervalMs: this.#settings.intervalMs,
      available: this.#pause ? 0 : Math.min(this.#all.free, this.#settings.maxConcurrent - this.#inFlight),
      queued: this.#queued,
      inFlight: this.#inFlight,
      pausedUntil: this.#pause ? Math.round(Date.now() + this.#pause.until - this.#clock.now()) : null,
    };
  }

  #wait(request: SlotRequest, order: number): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const lane = this.#lane(request);
      const leave = (settle: () => void) => {
        lane.remove(place);
        this.#queued -= 1;
        forget();
        settle();
      };
      const place: Place<Waiting> = lane.add(
        {
          request,
          admit: (slot) => leave(() => resolve(slot)),
          fail: (error) => leave(() => reject(error)),
        },
        order,
      );
      this.#queued += 1;
      const forget = request.lifetime.onEnd((ending) => {
        place.value.fail(new Ended(ending));
        this.#serve();
      });
      this.#serve();
    });
  }

  /** Lets pass whoever may, the most urgent first. */
  #serve(): void {
    this.#settle();
    for (const name of LANES) {
      const lane = this.#lanes.get(name);
      for (let place = lane?.first; place && this.#mayPass(place.value.request); place = lane?.first) {
        const { request, admit } = place.value;
        admit(this.#take(request, place.order));
      }
    }
    this.#wakeUp();
  }

  #mayPass({ bulk }: SlotRequest): boolean {
    return (
      !this.#pause &&
      this.#probe !== "under way" &&
      this.#inFlight < this.#settings.maxConcurrent &&
      this.#all.free > 0 &&
      (!bulk || this.#pages.free > 0)
    );
  }

  #take({ bulk }: SlotRequest, order: number): Slot {
    const isProbe = this.#probe === "due";
    if (isProbe) this.#probe = "under way";
    const quotas = bulk ? [this.#all, this.#pages] : [this.#all];
    for (const quota of quotas) quota.take();
    this.#inFlight += 1;
    let over = false;
    const end = (settleQuota: (quota: Quota) => void, nextProbe: "none" | "due") => {
      if (over) return;
      over = true;
      this.#inFlight -= 1;
      for (const quota of quotas) settleQuota(quota);
      // After another pause, begun by a 429 of this probe or of an older request, the next probe is due anyway.
      if (isProbe && this.#probe === "under way") this.#probe = nextProbe;
      this.#serve();
    };
    const returnTime = () => this.#clock.now() + this.#settings.intervalMs + guardMs(this.#settings.intervalMs);
    return {
      order,
      release: () => end((quota) => quota.returnAt(returnTime()), "none"),
      giveBack: () => end((quota) => quota.giveBack(), "due"),
    };
  }

  /** Brings the books up to the clock. */
  #settle(): void {
    const now = this.#clock.now();
    this.#all.settle(now);
    this.#pages.settle(now);
    if (!this.#pause || this.#pause.until > now) return;
    this.#earlierPausesMs += this.#pause.until - this.#pause.from;
    this.#pause = undefined;
    this.#probe = "due";
  }

  /** No slot for this request can come before this time, as far as is known now. */
  #earliest({ bulk }: SlotRequest): number {
    if (this.#pause) return this.#pause.until;
    const now = this.#clock.now();
    const whenFree = (quota: Quota) => (quota.free > 0 ? now : (quota.nextReturn ?? now + this.#settings.intervalMs));
    return Math.max(whenFree(this.#all), bulk ? whenFree(this.#pages) : now);
  }

  /** Sets the alarm for the next moment at which somebody may pass; none while nobody waits. */
  #wakeUp(): void {
    const time =
      this.#queued === 0
        ? undefined
        : (this.#pause?.until ?? (this.#all.free > 0 ? this.#pages.nextReturn : this.#all.nextReturn));
    if (time === this.#alarm?.time) return;
    this.#alarm?.stop();
    this.#alarm = undefined;
    if (time === undefined) return;
    const ring = () => {
      this.#alarm = undefined;
      this.#serve();
    };
    this.#alarm = { time, stop: this.#clock.at(time, ring) };
  }

  #lane({ priority, bulk }: SlotRequest): Lane<Waiting> {
    const name: LaneName = bulk && priority !== "token" ? `${priority} pages` : priority;
    const lane = this.#lanes.get(name);
    if (!lane) throw new Error(`no lane ${name}`);
    return lane;
  }
}
