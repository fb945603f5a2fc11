import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRateLimiter } from "../../src/client/limiter/create-rate-limiter.js";
import type { RateLimitOptions } from "../../src/client/limiter/options.js";
import { RateLimiter, type SlotRequest, SlotTooLate } from "../../src/client/limiter/rate-limiter.js";
import { ConfigurationError } from "../../src/shared/errors/index.js";
import { MonotonicClock } from "../../src/shared/time/clock.js";
import { useCountedTimers } from "../support/own-timers.js";
import { VirtualTime } from "./virtual-time.js";

const ask = (limiter: RateLimiter, request: Partial<SlotRequest> = {}) =>
  limiter.acquire({ priority: "normal", signal: new AbortController().signal, maxWaitMs: Infinity, ...request });

/** Whether the promise is settled after everything has run that waits for no timer. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await vi.advanceTimersByTimeAsync(0);
  return settled;
}

const endingOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "a slot",
    (error: unknown) => (error instanceof SlotTooLate ? "too late" : error),
  );

const limiterOf = (options: RateLimitOptions) => createRateLimiter({ intervalMs: 1_000, reserved: 0, ...options });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a slot", () => {
  test("never comes back where the interval is Infinity", async () => {
    const limiter = limiterOf({ requests: 1, intervalMs: Number.POSITIVE_INFINITY });
    (await ask(limiter)).end(true);
    expect(await endingOf(ask(limiter, { maxWaitMs: 1e9 }))).toBe("too late");
  });
});

describe("a call whose time is too short for the queue", () => {
  test("fails at once when others are ahead of it for longer, unless it is more urgent than they are", async () => {
    const limiter = limiterOf({ requests: 2 });
    for (const slot of await Promise.all([ask(limiter), ask(limiter)])) slot.end(true);
    const ahead = Array.from({ length: 4 }, () => ask(limiter));
    expect(await endingOf(ask(limiter, { maxWaitMs: 2_500 }))).toBe("too late");
    const urgent = ask(limiter, { priority: "high", maxWaitMs: 2_500 });
    expect(await isSettled(urgent)).toBe(false);
    expect(limiter.snapshot().queued).toBe(5);
    await vi.advanceTimersByTimeAsync(1_010);
    expect(await isSettled(urgent)).toBe(true);
    expect(ahead).toHaveLength(4);
  });

  test("fails at once when a pause begins that lasts longer; the others wait on", async () => {
    const limiter = limiterOf({ requests: 1 });
    const slot = await ask(limiter);
    const short = ask(limiter, { maxWaitMs: 20_000 });
    const long = ask(limiter, { maxWaitMs: 40_000 });
    limiter.pause(30_000);
    expect(await endingOf(short)).toBe("too late");
    slot.end(true);
    expect(limiter.snapshot().queued).toBe(1);
    await vi.advanceTimersByTimeAsync(30_010);
    expect(await isSettled(long)).toBe(true);
  });
});

describe("a source that only knows when it was asked", () => {
  test("fails a call at once if no slot will be free in its time", async () => {
    let freeInMs = 0;
    const take = async () => {
      freeInMs = 60_000;
      return { waitMs: 500 };
    };
    const settings = { requests: 1, intervalMs: 60_000, reserved: 0, maxConcurrent: 1 };
    const limiter = new RateLimiter(settings, new MonotonicClock(), { take, waitMs: () => freeInMs, available: 1 });
    const short = endingOf(ask(limiter, { maxWaitMs: 10_000 }));
    const long = ask(limiter);
    expect([await isSettled(short), await isSettled(long)]).toEqual([true, false]);
    expect(await short).toBe("too late");
  });
});

describe("a pause", () => {
  test("holds back everything, then lets one request go first and the rest when it has ended", async () => {
    const limiter = limiterOf({ requests: 10 });
    limiter.pause(30_000);
    const waiting = Array.from({ length: 3 }, () => ask(limiter));
    await vi.advanceTimersByTimeAsync(29_990);
    expect(await Promise.all(waiting.map(isSettled))).toEqual([false, false, false]);
    await vi.advanceTimersByTimeAsync(20);
    expect(await Promise.all(waiting.map(isSettled))).toEqual([true, false, false]);
    expect(limiter.snapshot()).toMatchObject({ available: 9, queued: 2, pausedUntil: null });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all(waiting.map(isSettled))).toEqual([true, false, false]);
    (await waiting[0])?.end(true);
    expect(await Promise.all(waiting.map(isSettled))).toEqual([true, true, true]);
  });

  test("is neither made longer nor repeated by further 429s while it lasts", async () => {
    const limiter = limiterOf({ requests: 10 });
    limiter.pause(1_000);
    const { pausedUntil } = limiter.snapshot();
    await vi.advanceTimersByTimeAsync(500);
    limiter.pause(60_000);
    expect(limiter.snapshot().pausedUntil).toBe(pausedUntil);
    await vi.advanceTimersByTimeAsync(510);
    expect(limiter.snapshot().pausedUntil).toBeNull();
  });

  test("leaves the probe to another when the first was not sent", async () => {
    const limiter = limiterOf({ requests: 10 });
    limiter.pause(1_000);
    const waiting = Array.from({ length: 3 }, () => ask(limiter));
    await vi.advanceTimersByTimeAsync(1_010);
    (await waiting[0])?.end(false);
    expect(await Promise.all(waiting.map(isSettled))).toEqual([true, true, false]);
  });

  test("is all that holds back calls without a limit", async () => {
    const limiter = createRateLimiter({ requests: Infinity, maxConcurrent: Infinity });
    expect(limiter.snapshot()).toMatchObject({ limit: Number.POSITIVE_INFINITY, available: Number.POSITIVE_INFINITY });
    await Promise.all(Array.from({ length: 1_000 }, () => ask(limiter, { priority: "low" })));
    limiter.pause(1_000);
    const waiting = ask(limiter);
    expect(await isSettled(waiting)).toBe(false);
    await vi.advanceTimersByTimeAsync(1_010);
    expect(await isSettled(waiting)).toBe(true);
  });
});

/** A clock that shows 0 for a number of reads, and then 1,000 ms, the end of a pause. */
class JumpingClock extends MonotonicClock {
  alarm: { time: number; ring: () => void } | undefined;
  #time = 0;
  #reads = 0;

  constructor(readonly readsBeforeTheEnd: number) {
    super();
  }

  override now(): number {
    this.#reads += 1;
    if (this.#reads > this.readsBeforeTheEnd) this.#time = Math.max(this.#time, 1_000);
    return this.#time;
  }

  override createAlarm(ring: () => void) {
    return (time: number | undefined) => {
      this.alarm = time === undefined ? undefined : { time, ring };
    };
  }

  ring(): void {
    const { alarm } = this;
    this.alarm = undefined;
    this.#time = Math.max(this.#time, alarm?.time ?? 0);
    alarm?.ring();
  }
}

test("a pause ends for a call that waits, between whichever two looks at the clock its time is over", async () => {
  for (let reads = 0; reads < 30; reads += 1) {
    const clock = new JumpingClock(reads);
    const settings = { requests: 10, intervalMs: 60_000, reserved: 0, maxConcurrent: 10 };
    const limiter = new RateLimiter(settings, clock, { take: () => ({ end() {} }), waitMs: () => 0, available: 10 });
    limiter.pause(1_000);
    const waiting = ask(limiter);
    if (await isSettled(waiting)) continue;
    expect(clock.alarm, `after ${reads} looks`).toBeDefined();
    clock.ring();
    expect(await isSettled(waiting), `after ${reads} looks`).toBe(true);
  }
});

describe("the estimate of a wait", () => {
  test("is the time to the next slot, and one interval longer for each round of calls ahead", async () => {
    const limiter = limiterOf({ requests: 1 });
    (await ask(limiter)).end(true);
    await vi.advanceTimersByTimeAsync(400);
    expect(limiter.waitMs("normal")).toBeCloseTo(603, -1);
    const waiting = [ask(limiter), ask(limiter)];
    expect(limiter.waitMs("normal")).toBeCloseTo(2_609, -1);
    expect(limiter.waitMs("high")).toBeCloseTo(603, -1);
    expect(waiting).toHaveLength(2);
  });
});

describe("a call that waits", () => {
  test("counts each 429 of a probe, and fails when it has had enough", async () => {
    const limiter = limiterOf({ requests: 10 });
    limiter.pause(100);
    const probe = ask(limiter, { priority: "high" });
    let refusals = 0;
    const patient = ask(limiter, {
      onFailedProbe: () => {
        refusals += 1;
        return refusals > 1 ? "too many 429s" : undefined;
      },
    });
    await vi.advanceTimersByTimeAsync(110);
    limiter.pause(100);
    (await probe).end(true);
    expect(await isSettled(patient)).toBe(false);
    const second = ask(limiter, { priority: "high" });
    await vi.advanceTimersByTimeAsync(110);
    await second;
    limiter.pause(100);
    expect(await endingOf(patient)).toBe("too many 429s");
  });
});

describe("timers", () => {
  test("are set only while somebody waits", async () => {
    const timers = useCountedTimers();
    const limiter = limiterOf({ requests: 1 });
    const slot = await ask(limiter);
    slot.end(true);
    limiter.pause(5_000);
    expect(timers()).toBe(0);
    const controller = new AbortController();
    const waiting = ask(limiter, { signal: controller.signal });
    await isSettled(waiting);
    expect(timers()).toBe(1);
    controller.abort("enough");
    await endingOf(waiting);
    expect(timers()).toBe(0);
  });

  test.each<[string, Parameters<typeof vi.useFakeTimers>[0]]>([
    ["the timers but not the clock", { toFake: ["setTimeout", "clearTimeout"] }],
    ["the timers and the wall clock, as node:test does", { toFake: ["setTimeout", "clearTimeout", "Date"] }],
    ["everything", {}],
  ])("drive a pause of a minute in a test that mocks %s", async (_, config) => {
    vi.useRealTimers();
    const limiter = limiterOf({ requests: 1, intervalMs: 60_000 });
    (await ask(limiter)).end(true);
    vi.useFakeTimers(config);
    const next = ask(limiter);
    limiter.pause(45_000);
    await vi.advanceTimersByTimeAsync(44_000);
    expect(await isSettled(next)).toBe(false);
    await vi.advanceTimersByTimeAsync(17_000);
    expect(await isSettled(next)).toBe(true);
  });

  test("wake at the time, not before, though they fire up to a millisecond early", async () => {
    vi.useRealTimers();
    const time = new VirtualTime(() => -0.9).install();
    const clock = new MonotonicClock();
    const late: number[] = [];
    for (const at of [1_000.5, 1_001.2, 1_250, 4_000.7]) clock.startTimerAt(at, () => late.push(time.now() - at));
    await time.run();
    vi.unstubAllGlobals();
    expect(late).toHaveLength(4);
    for (const ms of late) {
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThan(2);
    }
  });

  test("are believed where only the clock is mocked and stands still", async () => {
    vi.useFakeTimers({ toFake: ["performance", "Date"] });
    const limiter = createRateLimiter({ requests: 1, intervalMs: 20 });
    (await ask(limiter)).end(true);
    (await ask(limiter)).end(true);
    limiter.pause(15);
    await ask(limiter);
    expect(limiter.snapshot()).toMatchObject({ inFlight: 1, queued: 0, pausedUntil: null });
  });
});

describe("the options", () => {
  const wrong: [name: string, options: unknown, message: RegExp][] = [
    ["an unknown name", { request: 5 }, /request: unknown option, did you mean "requests"\?/],
    ["no requests", { requests: 0 }, /requests: (must|is required)/],
    ["no interval", { intervalMs: 0 }, /intervalMs: (must|is required)/],
    ["all reserved", { requests: 5, reserved: 5 }, /reserved: (must|is required)/],
    ["none at a time", { maxConcurrent: 0 }, /maxConcurrent: (must|is required)/],
    ["a number", 100, /options: Invalid input/],
  ];
  test.each(wrong)("that are wrong are refused by name: %s", (_, options, message) => {
    const create = () => Reflect.apply(createRateLimiter, undefined, [options]);
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(message);
  });

  test("are not changed, and one that is undefined has its default", () => {
    const options = Object.freeze({ requests: undefined, intervalMs: 500 });
    expect(createRateLimiter(options).snapshot()).toMatchObject({ limit: 100, intervalMs: 500 });
  });
});
