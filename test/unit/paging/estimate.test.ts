import { describe, expect, it } from "vitest";
import {
  countPagesAndRequests,
  EtaEstimator,
  estimateFromForecast,
  forecastDurationMs,
  pageAllowanceOf,
} from "../../../src/client/lists/estimate.js";
import { NO_LIMIT } from "./changing-list.js";

const FREE = { available: 90, share: 90, intervalMs: 60_000, pausedMs: 0 };
const { latencyMs: _, ...UNLIMITED } = NO_LIMIT;

describe("how long requests are likely to take", () => {
  it.each([
    { name: "none", requests: 0, allowance: { ...FREE, pausedMs: 5_000 }, ms: 0 },
    { name: "as many as there are slots", requests: 90, allowance: FREE, ms: 9_000 },
    { name: "one more than there are slots", requests: 91, allowance: FREE, ms: 60_100 },
    { name: "twice as many", requests: 180, allowance: FREE, ms: 69_000 },
    { name: "one more than twice as many", requests: 181, allowance: FREE, ms: 120_100 },
    { name: "a million records", requests: 4_000, allowance: FREE, ms: 44 * 60_000 + 4_000 },
    { name: "some while no slot is free", requests: 10, allowance: { ...FREE, available: 0 }, ms: 61_000 },
    { name: "some in a pause", requests: 10, allowance: { ...FREE, pausedMs: 30_000 }, ms: 31_000 },
    { name: "any number without a limit", requests: 4_000, allowance: UNLIMITED, ms: 400_000 },
    { name: "so slow that the limit does not delay them", requests: 1_800, pace: 1_000, ms: 1_800_000 },
    { name: "more than ever come", requests: 91, allowance: { ...FREE, intervalMs: Infinity }, ms: Infinity },
    { name: "as many as come but once", requests: 90, allowance: { ...FREE, intervalMs: Infinity }, ms: 9_000 },
  ])("$name: $ms ms", ({ requests, pace = 100, allowance = FREE, ms }) => {
    expect(forecastDurationMs(requests, pace, allowance)).toBe(ms);
  });
});

describe("what a limiter allows further pages", () => {
  const snapshot = { limit: 100, intervalMs: 60_000, available: 40, queued: 0, inFlight: 0, pausedUntil: null };
  const limiter = (changes: object, reserved = 10) => ({ snapshot: () => ({ ...snapshot, ...changes }), reserved });

  it("is what is left, without the reserved slots", () => {
    expect(pageAllowanceOf(limiter({}))).toEqual({ available: 30, share: 90, intervalMs: 60_000, pausedMs: 0 });
    expect(pageAllowanceOf(limiter({ available: 5 }))).toMatchObject({ available: 0, share: 90 });
    expect(pageAllowanceOf(limiter({ limit: Infinity, available: Infinity }, 0))).toMatchObject({
      available: Infinity,
      share: Infinity,
    });
  });

  it("is the whole share after a pause, which comes on top", () => {
    const paused = pageAllowanceOf(limiter({ available: 0, pausedUntil: Date.now() + 30_000 }));
    expect(paused).toMatchObject({ available: 90, share: 90 });
    expect(paused.pausedMs).toBeGreaterThan(29_000);
    const estimate = estimateFromForecast({ records: 10, pages: 1, requests: 1, paceMs: 100, allowance: paused });
    expect(estimate.durationMs).toBeGreaterThan(29_000);
    expect(estimate.durationMs).toBeLessThanOrEqual(30_101);
  });
});

describe("what it takes to read records", () => {
  it.each([
    { records: 0, pageSize: 250, gapless: false, pages: 1, requests: 1 },
    { records: 250, pageSize: 250, gapless: true, pages: 1, requests: 1 },
    { records: 251, pageSize: 250, gapless: false, pages: 2, requests: 2 },
    { records: 25_000, pageSize: 250, gapless: false, pages: 100, requests: 100 },
    { records: 25_000, pageSize: 250, gapless: true, pages: 100, requests: 111 },
    { records: 5_000, pageSize: 50, gapless: true, pages: 100, requests: 123 },
    { records: 2_500, pageSize: 25, gapless: true, pages: 100, requests: 132 },
  ])("$records at $pageSize a page, gapless $gapless", ({ records, pageSize, gapless, pages, requests }) => {
    expect(countPagesAndRequests(records, { pageSize, gapless })).toEqual({ pages, requests });
  });
});

describe("the end of an iteration", () => {
  const eta = (settings: object, pace: object = {}) =>
    new EtaEstimator({
      pace: () => ({ ...NO_LIMIT, latencyMs: 100, ...pace }),
      concurrency: 1,
      readAhead: 1,
      gapless: false,
      ...settings,
    });

  it.each([
    { name: "by the time of a request", settings: {}, ms: 1_000 },
    { name: "sooner with pages in parallel", settings: { concurrency: 4 }, ms: 250 },
    { name: "by the limit", settings: {}, pace: { available: 5, share: 5 }, ms: 60_500 },
    { name: "not while no request has been timed", settings: {}, pace: { latencyMs: Number.NaN }, ms: null },
    {
      name: "not if the limit never allows it",
      settings: {},
      pace: { available: 1, share: 1, intervalMs: Infinity },
      ms: null,
    },
  ])("is estimated $name", ({ settings, pace, ms }) => {
    expect(eta(settings, pace).remainingMs(2_500, 250)).toBe(ms);
  });

  it("is now when no record is left", () => {
    expect(eta({}, { latencyMs: Number.NaN }).remainingMs(0, 250)).toBe(0);
  });

  it.each([
    { readAhead: 1, least: 40, most: 5_000 },
    { readAhead: 0, least: 1_000 + 40, most: 6_000 },
  ])("counts what the consumer takes, beside the requests with readAhead $readAhead", async ({
    readAhead,
    least,
    most,
  }) => {
    const slow = eta({ readAhead }, { latencyMs: readAhead === 0 ? 100 : 1 });
    slow.pageEmitted();
    await new Promise((resolve) => setTimeout(resolve, 8));
    slow.pageRequested();
    const ms = slow.remainingMs(2_500, 250);
    expect(ms).toBeGreaterThanOrEqual(least);
    expect(ms).toBeLessThanOrEqual(most);
  });
});
