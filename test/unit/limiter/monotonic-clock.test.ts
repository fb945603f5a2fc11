import { afterEach, describe, expect, test, vi } from "vitest";
import { MonotonicClock } from "../../../src/shared/time/clock.js";
import { VirtualTime } from "./virtual-time.js";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the limiter's clock", () => {
  test("wakes at the time, not before, though a timer fires up to a millisecond early", async () => {
    const time = new VirtualTime(() => -0.9).install();
    const clock = new MonotonicClock();
    const woken: number[] = [];
    for (const at of [1_000.5, 1_001.2, 1_250, 4_000.7]) clock.startTimerAt(at, () => woken.push(time.now()));
    await time.run();
    expect(woken).toHaveLength(4);
    expect(woken.map((now, index) => now - ([1_000.5, 1_001.2, 1_250, 4_000.7][index] ?? 0))).toSatisfy(
      (late: number[]) => late.every((ms) => ms >= 0 && ms < 2),
    );
    expect(clock.now()).toBe(time.now());
  });

  test("never goes back, also when a test replaces the clock or takes its own away", () => {
    const clock = new MonotonicClock();
    const before = clock.now();
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const mocked = clock.now();
    expect(mocked).toBeGreaterThanOrEqual(before);
    vi.advanceTimersByTime(30_000);
    const later = clock.now();
    expect(later).toBeGreaterThanOrEqual(mocked + 30_000 - 0.01);
    vi.useRealTimers();
    expect(clock.now()).toBeGreaterThanOrEqual(later);
  });

  test("does not call back after it was stopped", async () => {
    const time = new VirtualTime().install();
    const clock = new MonotonicClock();
    const stop = clock.startTimerAt(5_000, () => expect.unreachable());
    stop();
    expect(time.pendingTimers).toBe(0);
    await time.run();
  });
});
