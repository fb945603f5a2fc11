import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type BottleneckRateLimiterOptions, createBottleneckRateLimiter } from "../../src/bottleneck/index.js";
import { runs } from "../support/runs.js";
import { fixedWindow, mostInAnyWindow, type ServiceWindow, slidingWindow } from "../unit/limiter/service-windows.js";
import { anyCalls, anyLimits, type SimulatedCall, Simulation } from "../unit/limiter/simulation.js";
import { VirtualTime } from "../unit/limiter/virtual-time.js";

afterEach(() => {
  vi.unstubAllGlobals();
});

async function simulate(options: BottleneckRateLimiterOptions, calls: readonly SimulatedCall[]) {
  const time = new VirtualTime().install();
  const simulation = new Simulation(time, createBottleneckRateLimiter(options), options);
  await simulation.run(calls);
  return { time, simulation, counted: simulation.times(), pages: simulation.times(true) };
}

const refusals = (takes: ServiceWindow, counted: number[]) =>
  [...counted].sort((a, b) => a - b).filter((time) => !takes(time)).length;

const RUNS = { numRuns: runs(60) };

describe("a limiter on a Bottleneck of its own, whatever calls arrive and however the service counts", () => {
  test("admits no more requests in any interval than allowed, and no more pages than are not reserved", async () => {
    const phases = fc.double({ min: 0, max: 1, noNaN: true });
    await fc.assert(
      fc.asyncProperty(anyLimits(), anyCalls(), phases, async (options, calls, phase) => {
        const { counted, pages } = await simulate(options, calls);
        const { requests, intervalMs, reserved } = options;
        expect(mostInAnyWindow(counted, intervalMs)).toBeLessThanOrEqual(requests);
        expect(mostInAnyWindow(pages, intervalMs)).toBeLessThanOrEqual(requests - reserved);
        expect(refusals(slidingWindow(requests, intervalMs), counted)).toBe(0);
        expect(refusals(fixedWindow(requests, intervalMs, phase * intervalMs), counted)).toBe(0);
      }),
      RUNS,
    );
  });

  test("serves calls in order of urgency and arrival, and ends every one of them", async () => {
    await fc.assert(
      fc.asyncProperty(anyLimits(), anyCalls(), async (options, calls) => {
        const { simulation, time } = await simulate(options, calls);
        expect(simulation.broken).toEqual([]);
        expect(simulation.results).toHaveLength(calls.length);
        expect(time.pendingTimers).toBe(0);
      }),
      RUNS,
    );
  });
});

test("a limiter on a Bottleneck of its own uses at least 80 % of the limit at saturation, since a job starts some ms after it was scheduled", async () => {
  const [requests, intervalMs, rounds] = [40, 4_000, 6];
  const call = { at: 0, priority: "normal", slotKind: "single", latencyMs: 50, countedAt: 0.5 } as const;
  const calls = Array.from({ length: requests * rounds }, () => ({
    ...call,
    outcome: "completed" as const,
    pauseMs: 0,
  }));
  const { time } = await simulate({ requests, intervalMs, reserved: 0, maxConcurrent: requests }, calls);
  const idealMs = (rounds - 1) * (intervalMs + 50) + 50;
  expect(idealMs / (time.now() - 1_000)).toBeGreaterThanOrEqual(0.8);
});
