import fc from "fast-check";
import { type RateLimitOptions, rateLimitSettings } from "../../src/client/limiter/options.js";
import { type RateLimiter, type SlotRequest, SlotTooLate } from "../../src/client/limiter/rate-limiter.js";
import type { VirtualTime } from "./virtual-time.js";

/** A call, and what happens to its request. */
export interface SimulatedCall {
  /** The time at which the call arrives, in ms from the beginning. */
  at: number;
  priority: SlotRequest["priority"];
  /** The time that the service takes to respond, in ms. */
  latencyMs: number;
  /** When the service counts the request, as a share of that time, from 0 to 1. */
  countedAt: number;
  /** `unsent`: there is no connection. `refused`: a 429, after which the call queues once more. */
  outcome: "completed" | "unsent" | "refused";
  /** The pause after a 429, in ms. */
  pauseMs: number;
  abortedAfterMs?: number | undefined;
  totalTimeoutMs?: number | undefined;
}

/** The result of a call. */
export interface SimulatedResult {
  call: SimulatedCall;
  arrivedAt: number;
  /** The times at which its requests were sent. */
  sentAt: number[];
  endedAt: number;
  end: "completed" | "unsent" | "aborted" | "out-of-time";
}

/** The interval at which the state of the limiter is checked, and the time of the last check, in ms. */
export const LOOK_MS = 23;
const LAST_LOOK_MS = 5_000;

const URGENCY: SlotRequest["priority"][] = ["token", "high", "normal", "low"];

/** Sends calls through a limiter to a service in virtual time, and checks whether the limiter keeps its promises. */
export class Simulation {
  /** The time at which the service counted each request, and whether it was a page. */
  readonly counted: { time: number; isPage: boolean }[] = [];
  readonly results: SimulatedResult[] = [];
  /** The promises of the limiter that were broken. */
  readonly broken: string[] = [];
  readonly #waiting = new Map<number, { call: SimulatedCall; signal: AbortSignal; order: number }>();
  #inFlight = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** The probe, which must end after a pause before other requests are sent. */
  #probe: "due" | SimulatedCall | undefined;
  #ids = 0;
  #arrivals = 0;

  constructor(
    readonly time: VirtualTime,
    readonly limiter: RateLimiter,
    readonly options: RateLimitOptions,
  ) {}

  /** Runs all calls to their end, and checks the state of the limiter meanwhile. */
  async run(calls: readonly SimulatedCall[], lookMs: number): Promise<void> {
    const startedAt = this.time.now();
    const settled: Promise<void>[] = [];
    for (const call of calls) {
      this.time.at(startedAt + call.at, () => settled.push(this.#run(call)));
    }
    // Reading the state must not affect waiting calls.
    for (let ms = lookMs; ms < LAST_LOOK_MS; ms += lookMs) this.time.at(startedAt + ms, () => this.#look());
    await this.time.run();
    const stuck = this.#waiting.size;
    if (stuck > 0) this.broken.push(`${stuck} calls wait for ever`);
    else await Promise.all(settled);
  }

  #look(): void {
    const { available, queued } = this.limiter.snapshot();
    if (queued !== this.#waiting.size) this.broken.push(`${queued} calls are queued, but ${this.#waiting.size} wait`);
    if (!(available >= 0 && available <= (this.options.requests ?? 100)))
      this.broken.push(`${available} slots are free`);
    const waitMs = this.limiter.waitMs("normal");
    if (!(waitMs >= 0)) this.broken.push(`a wait of ${waitMs} ms is expected`);
  }

  times(pagesOnly = false): number[] {
    return this.counted.filter(({ isPage }) => isPage || !pagesOnly).map(({ time }) => time);
  }

  async #run(call: SimulatedCall): Promise<void> {
    const result: SimulatedResult = { call, arrivedAt: this.time.now(), sentAt: [], endedAt: 0, end: "completed" };
    const end = new AbortController();
    const endsAt = this.time.now() + (call.totalTimeoutMs ?? Number.POSITIVE_INFINITY);
    const endAfter = (ms: number | undefined, reason: "aborted" | "out-of-time") => {
      if (ms !== undefined) this.time.at(this.time.now() + ms, () => end.abort(reason));
    };
    endAfter(call.abortedAfterMs, "aborted");
    endAfter(call.totalTimeoutMs, "out-of-time");
    try {
      const isRefused = await this.#attempt(call, end.signal, endsAt, result);
      if (isRefused) await this.#attempt({ ...call, outcome: "completed" }, end.signal, endsAt, result);
    } catch (error) {
      if (error instanceof SlotTooLate) result.end = "out-of-time";
      else if (error === "aborted" || error === "out-of-time") result.end = error;
      else throw error;
    } finally {
      result.endedAt = this.time.now();
      this.results.push(result);
    }
  }

  /** Makes one attempt. Returns whether the call has to queue again. */
  async #attempt(call: SimulatedCall, signal: AbortSignal, endsAt: number, result: SimulatedResult): Promise<boolean> {
    const slot = await this.#slot(call, signal, endsAt);
    this.#noteStart(call);
    const startedAt = this.time.now();
    await Promise.race([
      this.time.sleep(call.latencyMs),
      new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve());
      }),
    ]);
    const now = this.time.now();
    this.#inFlight -= 1;
    if (this.#probe === call) this.#probe = call.outcome === "unsent" ? "due" : undefined;
    if (call.outcome === "unsent") {
      result.end = "unsent";
      slot.end(false);
      return false;
    }
    result.sentAt.push(startedAt);
    const time = startedAt + call.countedAt * (now - startedAt);
    this.counted.push({ time, isPage: call.priority === "low" });
    const comesBack = call.outcome === "refused" && !signal.aborted;
    if (comesBack) {
      this.limiter.pause(call.pauseMs);
      if (now >= this.#pausedUntil) {
        this.#pausedUntil = now + call.pauseMs;
        this.#probe = "due";
      }
    }
    slot.end(true);
    // Further calls must have no effect: a slot must not be returned twice.
    slot.end(true);
    slot.end(false);
    signal.throwIfAborted();
    return comesBack;
  }

  async #slot(call: SimulatedCall, signal: AbortSignal, endsAt: number) {
    const id = ++this.#ids;
    const place = ++this.#arrivals;
    const queuedAt = this.time.now();
    this.#waiting.set(id, { call, signal, order: place });
    try {
      const { priority } = call;
      const slot = await this.limiter.acquire({ priority, signal, maxWaitMs: endsAt - this.time.now() });
      this.#waiting.delete(id);
      void this.#noteGrant(call, place, queuedAt);
      return slot;
    } finally {
      this.#waiting.delete(id);
    }
  }

  async #noteGrant(call: SimulatedCall, order: number, queuedAt: number): Promise<void> {
    // A page that has waited for an interval counts as a single call, so it may pass others.
    const isPromoted = call.priority === "low" && this.time.now() - queuedAt >= (this.options.intervalMs ?? 60_000);
    if (isPromoted) return;
    const rank = URGENCY.indexOf(call.priority);
    const passed: { id: number; signal: AbortSignal; broken: string }[] = [];
    for (const [id, { call: other, signal, order: otherOrder }] of this.#waiting) {
      const otherRank = URGENCY.indexOf(other.priority);
      if (otherRank === rank && otherOrder < order)
        passed.push({ id, signal, broken: "a call was passed by one that came later" });
      if (otherRank < rank)
        passed.push({ id, signal, broken: `a ${other.priority} call was passed by a ${call.priority} one` });
    }
    // Waits until calls that were granted a slot at the same moment have left the queue.
    for (let turn = 0; turn < 8; turn += 1) await Promise.resolve();
    for (const { id, signal, broken } of passed) if (!signal.aborted && this.#waiting.has(id)) this.broken.push(broken);
  }

  #noteStart(call: SimulatedCall): void {
    if (this.time.now() < this.#pausedUntil) this.broken.push("a request was sent during a pause");
    if (typeof this.#probe === "object") this.broken.push("a request was sent before the probe had ended");
    if (this.#probe === "due") this.#probe = call;
    this.#inFlight += 1;
    if (this.#inFlight > (this.options.maxConcurrent ?? 16)) this.broken.push("too many requests at the same time");
  }
}

/** Generates limits, with all options set. */
export const anyLimits = () =>
  fc
    .record({
      requests: fc.integer({ min: 1, max: 8 }),
      intervalMs: fc.integer({ min: 50, max: 2_000 }),
      reservedShare: fc.double({ min: 0, max: 0.99, noNaN: true }),
      maxConcurrent: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(Number.POSITIVE_INFINITY)),
    })
    .map(({ reservedShare, ...limits }) => {
      const options = { ...limits, reserved: Math.floor(limits.requests * reservedShare) };
      return rateLimitSettings(options);
    });

const sometimes = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

/** Generates calls in bursts and one by one, with all priorities and outcomes. If `areSteady`, all calls succeed. */
export function anyCalls({ areSteady = false } = {}): fc.Arbitrary<SimulatedCall[]> {
  const fates: SimulatedCall["outcome"][] = ["completed", "completed", "completed", "completed", "unsent", "refused"];
  const limit = (min: number) => (areSteady ? fc.constant(undefined) : sometimes(fc.integer({ min, max: 3_000 })));
  return fc.array(
    fc.record({
      at: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_000 })),
      priority: fc.constantFrom<SlotRequest["priority"]>("token", "high", "normal", "low"),
      latencyMs: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1_500 })),
      countedAt: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
      outcome: areSteady ? fc.constant<SimulatedCall["outcome"]>("completed") : fc.constantFrom(...fates),
      pauseMs: fc.integer({ min: 1, max: 1_000 }),
      abortedAfterMs: limit(0),
      totalTimeoutMs: limit(1),
    }),
    { minLength: 1, maxLength: 60 },
  );
}
