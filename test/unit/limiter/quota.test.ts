import { describe, expect, test } from "vitest";
import { createSlotQuota } from "../../../src/client/limiter/quota.js";

const INTERVAL_MS = 1_000;

describe("a quota", () => {
  test("hands out as many slots as it has, and takes each back when its time has come", () => {
    const quota = createSlotQuota(2);
    quota.take();
    quota.take();
    expect(quota.free).toBe(0);
    expect(quota.nextFreeAt).toBeUndefined();
    quota.freeAt(100);
    quota.freeAt(200);
    expect(quota.nextFreeAt).toBe(100);
    quota.reclaim(99.9);
    expect(quota.free).toBe(0);
    quota.reclaim(100);
    expect(quota.free).toBe(1);
    expect(quota.nextFreeAt).toBe(200);
    quota.reclaim(10_000);
    expect(quota.free).toBe(2);
  });

  test("has a slot again at once when it was given back unused", () => {
    const quota = createSlotQuota(1);
    quota.take();
    quota.freeNow();
    expect(quota.free).toBe(1);
    expect(quota.nextFreeAt).toBeUndefined();
  });

  test("without a limit is never used up and remembers nothing", () => {
    const quota = createSlotQuota(Number.POSITIVE_INFINITY);
    for (let request = 0; request < 1_000; request += 1) {
      quota.take();
      quota.freeAt(request);
    }
    expect(quota.free).toBe(Number.POSITIVE_INFINITY);
    expect(quota.nextFreeAt).toBeUndefined();
    expect(quota.earliestStart(1_000_000, 5, INTERVAL_MS)).toBe(5);
  });

  test("keeps its order and its count through thousands of requests", () => {
    const quota = createSlotQuota(50);
    for (let time = 0; time < 20_000; time += 10) {
      quota.reclaim(time);
      if (quota.free === 0) continue;
      quota.take();
      quota.freeAt(time + 300);
      expect(quota.nextFreeAt).toBeGreaterThan(time);
      expect(50 - quota.free).toBeLessThanOrEqual(31);
    }
    quota.reclaim(100_000);
    expect(quota.free).toBe(50);
  });

  test("can come back never", () => {
    const quota = createSlotQuota(1);
    quota.take();
    quota.freeAt(Number.POSITIVE_INFINITY);
    quota.reclaim(1e12);
    expect(quota.free).toBe(0);
    expect(quota.earliestStart(0, 5, Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
  });

  describe("knows the earliest time for a request with others ahead", () => {
    // Five slots: one free, two that come back at 300 and 400, two in use by requests under way.
    const cases: [ahead: number, time: number, why: string][] = [
      [0, 100, "there is a free slot"],
      [1, 300, "the first that comes back"],
      [2, 400, "the second"],
      [3, 1_100, "a request under way ends now at the earliest"],
      [4, 1_100, "so does the other"],
      [5, 1_100, "the free slot, once it was used"],
      [6, 1_300, "the first that comes back, a second time"],
      [9, 2_100, "one under way, a second time"],
      [12, 2_400, "the second that comes back, a third time"],
    ];
    test.each(cases)("%i ahead: at %i (%s)", (ahead, time) => {
      const quota = createSlotQuota(5);
      for (let taken = 0; taken < 4; taken += 1) quota.take();
      quota.freeAt(300);
      quota.freeAt(400);
      expect(quota.earliestStart(ahead, 100, INTERVAL_MS)).toBe(time);
    });
  });
});
