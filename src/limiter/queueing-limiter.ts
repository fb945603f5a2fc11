import type { Clock } from "./clock.js";
import { Lanes } from "./lanes.js";
import { Pause } from "./pause.js";
import type { RateLimitSettings } from "./rate-limit-options.js";
import type { RateLimiter, RateLimitSnapshot, Slot, SlotRequest } from "./rate-limiter.js";
import type { Crowd, SlotListener, SlotSource } from "./slot-source.js";

interface Waiting {
  readonly request: SlotRequest;
  readonly order: number;
  /** Leaves the queue, with a slot or with an error. */
  leave(slot: Slot | undefined, error?: unknown): void;
}

/** The queue, the pause and the bound on concurrency of a limiter, whoever keeps the slots. */
export class QueueingLimiter implements RateLimiter, SlotListener {
  readonly #settings: RateLimitSettings;
  readonly #clock: Clock;
  readonly #source: SlotSource;
  readonly #lanes = new Lanes<Waiting>();
  readonly #pause: Pause;
  #arrivals = 0;
  #inFlight = 0;

  constructor(settings: RateLimitSettings, clock: Clock, source: (listener: SlotListener) => SlotSource) {
    this.#settings = settings;
    this.#clock = clock;
    this.#pause = new Pause(clock, () => this.#serve());
    this.#source = source(this);
  }

  async acquire(request: SlotRequest): Promise<Slot> {
    request.lifetime.throwIfEnded();
    const order = request.order ?? ++this.#arrivals;
    const slot = this.#lanes.crowd.all === 0 ? this.#take(request, order) : undefined;
    if (slot) return slot;
    if (this.#earliest(request) - this.#clock.now() > request.lifetime.remainingMs) {
      request.lifetime.end({ kind: "out-of-time" });
    }
    request.lifetime.throwIfEnded();
    return this.#wait(request, order);
  }

  pause(delayMs: number): void {
    if (!this.#pause.begin(delayMs)) return;
    this.#source.pauseBegan(delayMs);
    this.#callOffWhoeverIsTooLate(delayMs);
  }

  pauseLearned(delayMs: number): void {
    if (this.#pause.begin(delayMs)) this.#callOffWhoeverIsTooLate(delayMs);
  }

  slotsChanged(): void {
    this.#serve();
  }

  slotsDelayed(delayMs: number): void {
    this.#callOffWhoeverIsTooLate(delayMs);
  }

  slotsFailed(error: unknown): void {
    for (const waiting of this.#lanes) waiting.leave(undefined, error);
    this.#tellWhoWaits();
  }

  pausedMs(): number {
    return this.#pause.totalMs;
  }

  snapshot(): RateLimitSnapshot {
    const { requests, intervalMs } = this.#settings;
    const until = this.#pause.until;
    return {
      limit: requests,
      intervalMs,
      available: until === undefined ? this.#source.available : 0,
      queued: this.#lanes.crowd.all,
      inFlight: this.#inFlight,
      pausedUntil: until === undefined ? null : Math.round(Date.now() + until - this.#clock.now()),
    };
  }

  #wait(request: SlotRequest, order: number): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const leave = (slot: Slot | undefined, error?: unknown) => {
        forget();
        takeOut();
        if (slot) resolve(slot);
        else reject(error);
      };
      const takeOut = this.#lanes.add({ request, order, leave }, request, order);
      const forget = request.lifetime.onEnd(() => {
        leave(undefined, request.lifetime.endedError());
        this.#tellWhoWaits();
      });
      this.#serve();
    });
  }

  /** Lets pass whoever may, the most urgent first. */
  #serve(): void {
    for (const { request, order, leave } of this.#lanes.fronts()) {
      const slot = this.#take(request, order);
      if (slot) leave(slot);
    }
    this.#tellWhoWaits();
  }

  #take({ bulk }: SlotRequest, order: number): Slot | undefined {
    if (this.#allowance <= 0) return undefined;
    const taken = this.#source.take(bulk);
    if (!taken) return undefined;
    const probe = this.#pause.start();
    this.#inFlight += 1;
    let over = false;
    const end = (sent: boolean) => {
      if (over) return;
      over = true;
      this.#inFlight -= 1;
      probe?.end(sent);
      if (sent) taken.release();
      else taken.giveBack();
      this.#serve();
    };
    return { order, release: () => end(true), giveBack: () => end(false) };
  }

  /** How many may start now if there are slots for them. */
  get #allowance(): number {
    return Math.min(this.#settings.maxConcurrent - this.#inFlight, this.#pause.allowance);
  }

  /** No slot for this request can come before this time, as far as is known now. */
  #earliest(request: SlotRequest): number {
    const slot = this.#source.earliest(request.bulk, this.#lanes.ahead(request));
    return Math.max(slot, this.#pause.until ?? slot);
  }

  #callOffWhoeverIsTooLate(delayMs: number): void {
    for (const { request } of this.#lanes) {
      if (request.lifetime.remainingMs < delayMs) request.lifetime.end({ kind: "out-of-time" });
    }
    this.#tellWhoWaits();
  }

  #tellWhoWaits(): void {
    const { all, pages } = this.#lanes.crowd;
    this.#pause.watch(all > 0);
    this.#source.expect(firstOf({ all, pages }, Math.max(0, this.#allowance)));
  }
}

/** As many of the crowd as may start, single calls first. */
function firstOf({ all, pages }: Crowd, count: number): Crowd {
  const singles = all - pages;
  return { all: Math.min(all, count), pages: Math.min(pages, Math.max(0, count - singles)) };
}
