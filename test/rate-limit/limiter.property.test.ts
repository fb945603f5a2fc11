import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createRateLimiter } from "../../src/client/limiter/create-rate-limiter.js";
import { marginMs } from "../../src/client/limiter/rate-limiter.js";
import { runs } from "../support/runs.js";
import { fixedWindow, mostInAnyWindow, type ServiceWindow, slidingWindow, tokenBucket } from "./service-windows.js";
import { anyCalls, anyLimits, LOOK_MS, type SimulatedCall, Simulation } from "./simulation.js";
import { VirtualTime } from "./virtual-time.js";

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Timers that fire up to 1 ms early or 3 ms late, like real timers. The delay depends only on the time, not on other timers. */
function shakyTime(seed: number): VirtualTime {
  return new VirtualTime((time) => {
    const random = Math.sin(seed + time * 12.9898) * 43_758.5453;
    return (random - Math.floor(random)) * 4 - 0.99;
  }).install();
}

async function simulate(
  options: ReturnType<typeof limitsOf>,
  calls: readonly SimulatedCall[],
  { seed = 1, lookMs = LOOK_MS } = {},
) {
  const time = shakyTime(seed);
  const limiter = createRateLimiter(options);
  const simulation = new Simulation(time, limiter, options);
  await simulation.run(calls, lookMs);
  return { time, limiter, simulation, counted: simulation.times(), pages: simulation.times(true) };
}
const limitsOf = (requests: number, intervalMs: number, maxConcurrent = Number.POSITIVE_INFINITY, reserved = 0) => ({
  requests,
  intervalMs,
  maxConcurrent,
  reserved,
});

const refusals = (takes: ServiceWindow, counted: number[]) =>
  [...counted].sort((a, b) => a - b).filter((time) => !takes(time)).length;

describe("whatever comes, and however the service counts", () => {
  test("the limit holds, calls go in order, and each comes to its end within its time", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyLimits(),
        anyCalls(),
        fc.nat(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (options, calls, seed, phase) => {
          const { simulation, limiter, time, counted, pages } = await simulate(options, calls, { seed });
          const { requests, intervalMs, reserved } = options;
          expect(mostInAnyWindow(counted, intervalMs)).toBeLessThanOrEqual(requests);
          // A page that has waited for an interval counts as a single call, so pages may use half of the reserved slots.
          expect(mostInAnyWindow(pages, intervalMs)).toBeLessThanOrEqual(requests - Math.ceil(reserved / 2));
          expect(refusals(slidingWindow(requests, intervalMs), counted)).toBe(0);
          expect(refusals(fixedWindow(requests, intervalMs, phase * intervalMs), counted)).toBe(0);
          expect(refusals(tokenBucket(requests, intervalMs), counted)).toBe(0);

          // Calls go by urgency and arrival, not too many at once, and never during a pause or before its probe has ended.
          expect(simulation.broken).toEqual([]);

          expect(simulation.results).toHaveLength(calls.length);
          for (const { call, arrivedAt, endedAt, end } of simulation.results) {
            const allowedMs = Math.min(call.abortedAfterMs ?? 1e9, call.totalTimeoutMs ?? 1e9) + 5;
            expect(endedAt - arrivedAt).toBeLessThanOrEqual(allowedMs);
            if (end === "aborted") expect(call.abortedAfterMs).toBeDefined();
            if (end === "out-of-time") expect(call.totalTimeoutMs).toBeDefined();
          }

          // Afterwards the limiter is as it was before.
          expect(time.pendingTimers).toBe(0);
          await time.run(time.now() + 1_000 + intervalMs + marginMs(intervalMs));
          const limits = { limit: requests, intervalMs, reserved, available: requests };
          expect(limiter.snapshot()).toEqual({ ...limits, queued: 0, inFlight: 0, pausedUntil: null });
        },
      ),
      { numRuns: runs(400) },
    );
  });

  test("reading the state changes nothing", async () => {
    await fc.assert(
      fc.asyncProperty(anyLimits(), anyCalls(), fc.nat(), async (options, calls, seed) => {
        const often = await simulate(options, calls, { seed, lookMs: 7 });
        const never = await simulate(options, calls, { seed, lookMs: Infinity });
        expect(often.counted).toEqual(never.counted);
        expect(often.simulation.results).toEqual(never.simulation.results);
      }),
      { numRuns: runs(30) },
    );
  });

  test("a call is never failed early that would have had its turn in time", async () => {
    const steady = anyCalls({ areSteady: true });
    await fc.assert(
      fc.asyncProperty(anyLimits(), steady, fc.nat(), async (options, calls, which) => {
        const first = await simulate(options, calls);
        const chosen = calls[which % calls.length];
        const before = first.simulation.results.find(({ call }) => call === chosen);
        const waitedMs = (before?.sentAt[0] ?? 0) - (before?.arrivedAt ?? 0);
        const limited = calls.map((call) => (call === chosen ? { ...call, totalTimeoutMs: waitedMs + 8 } : call));
        const second = await simulate(options, limited);
        const after = second.simulation.results.find(({ call }) => call.totalTimeoutMs !== undefined);
        expect(after?.sentAt).toHaveLength(1);
      }),
      { numRuns: runs(200) },
    );
  });
});

const plainCall: SimulatedCall = {
  at: 0,
  priority: "normal",
  latencyMs: 40,
  countedAt: 1,
  outcome: "completed",
  pauseMs: 0,
};

describe("at saturation", () => {
  const cases: [name: string, requests: number, intervalMs: number, latencyMs: number, countedAt: number][] = [
    ["100 a minute, counted on arrival", 100, 60_000, 80, 0.1],
    ["100 a minute, counted with the response", 100, 60_000, 400, 1],
    ["40 in 4 s", 40, 4_000, 50, 0.5],
    ["1 a second", 1, 1_000, 120, 0],
    ["1000 a minute, slow responses", 1_000, 60_000, 5_000, 0.5],
  ];
  test.each(
    cases,
  )("at least 98 % of what is possible is used and nothing is refused: %s", async (_, requests, intervalMs, latencyMs, countedAt) => {
    const rounds = requests > 100 ? 3 : 8;
    const calls = Array.from({ length: requests * rounds }, () => ({ ...plainCall, latencyMs, countedAt }));
    const { simulation, counted, time } = await simulate(limitsOf(requests, intervalMs), calls);
    // A slot is in use until one interval after its response. Ideally, it is then used again at once.
    const idealMs = (rounds - 1) * (intervalMs + latencyMs) + latencyMs;
    expect(idealMs / (time.now() - 1_000)).toBeGreaterThanOrEqual(0.98);
    expect(simulation.results.every(({ end }) => end === "completed")).toBe(true);
    expect(refusals(slidingWindow(requests, intervalMs), counted)).toBe(0);
    expect(refusals(tokenBucket(requests, intervalMs), counted)).toBe(0);
    for (const phase of [0, 0.25, 0.5, 0.75, 0.999]) {
      expect(refusals(fixedWindow(requests, intervalMs, phase * intervalMs), counted)).toBe(0);
    }
  });

  test("pages leave the reserved slots free, later half of them, and a write never waits for them", async () => {
    const pages = Array.from({ length: 60 }, () => ({
      ...plainCall,
      priority: "low" as const,
    }));
    const writes = Array.from({ length: 12 }, (_, index) => ({
      ...plainCall,
      priority: "high" as const,
      at: 100 + index * 600,
    }));
    const { simulation } = await simulate(limitsOf(10, 1_000, 16, 4), [...pages, ...writes]);
    for (const { call, sentAt, arrivedAt } of simulation.results) {
      if (call.priority !== "low") expect((sentAt[0] ?? 0) - arrivedAt).toBeLessThan(1);
    }
    expect(mostInAnyWindow(simulation.times(true), 1_000)).toBe(8);
    expect(simulation.times(true).filter((time) => time < 2_000)).toHaveLength(6);
  });

  test("a bulk call that has waited for an interval goes before single calls that come later: nothing starves", async () => {
    const singles = Array.from({ length: 200 }, (_, index) => ({ ...plainCall, at: index * 20 }));
    const page = { ...plainCall, priority: "low" as const, at: 100 };
    const { simulation } = await simulate(limitsOf(10, 1_000, 16, 2), [...singles, page]);
    const [result] = simulation.results.filter(({ call }) => call.priority === "low");
    expect((result?.sentAt[0] ?? Infinity) - (result?.arrivedAt ?? 0)).toBeLessThan(20_000);
    expect(
      simulation.results.filter(({ sentAt }) => (sentAt[0] ?? 0) > (result?.sentAt[0] ?? 0)).length,
    ).toBeGreaterThan(0);
  });
});
