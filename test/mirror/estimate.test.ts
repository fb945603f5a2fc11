import { describe, expect, it } from "vitest";
import { type ClientOptions, InventoryClient } from "../../src/index.js";
import { createMirror, type MirrorOptions } from "../../src/mirror/index.js";
import { estimateMirrorRun } from "../../src/mirror/run/estimate.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { MemorySink } from "../support/memory-sink.js";

const MINUTE_MS = 60_000;

function setUp(rateLimit: ClientOptions["rateLimit"], options: Partial<MirrorOptions> = {}) {
  const sandbox = createSandbox({ lots: 3_000, items: 10, rateLimit: false });
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    ...sandbox.credentials,
    fetch: sandbox.fetch,
    retry: false,
    ...(rateLimit !== undefined && { rateLimit }),
  });
  const mirror = createMirror({ client, sink: new MemorySink(), resources: ["lots"], ...options });
  return { sandbox, client, mirror };
}

describe("the estimate of a run", () => {
  it("leaves the reserved slots to other calls, as the estimate of a list does", async () => {
    for (const reserved of [2, 9, 17]) {
      const { client, mirror } = setUp({ requests: 20, intervalMs: MINUTE_MS, reserved });
      const list = await client.inventory.listLots({}, { gapless: true, concurrency: 2 }).estimate();
      const { durationMs, requests } = await mirror.estimate();
      // A mirror asks for more than pages.
      expect(requests).toBe(list.requests + 3);
      // The token, and the two estimates.
      const free = Math.max(0, 20 - 3 - reserved);
      const intervals = Math.ceil((requests - free) / (20 - reserved));
      expect(Math.floor(durationMs / MINUTE_MS), `${reserved} reserved`).toBe(intervals);
    }
  });

  it("counts the increment that a run makes before a full pass", async () => {
    const { mirror } = setUp(false, { resources: ["items"], fullPassEveryMs: 1 });
    await mirror.run();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const { resources } = await mirror.estimate();
    const report = await mirror.run();
    expect(report.resources.items?.modes).toEqual(["increment", "full"]);
    expect(resources.items).toMatchObject({ mode: "full", requests: report.resources.items?.requests });
    expect((await mirror.estimate({ full: true })).requests).toBe((await mirror.run({ full: true })).requests);
  });

  it("counts a pause once, and the slots that are free once, however many resources there are", () => {
    const forecast = { records: 5, pages: 1, requests: 1, paceMs: 100, mode: "full" } as const;
    const limited = { available: 10, share: 90, intervalMs: MINUTE_MS };
    const estimate = (requests: number, pausedMs: number) =>
      estimateMirrorRun(
        (["items", "lots", "stockLevels"] as const).map((resource) => ({
          ...forecast,
          resource,
          requests,
          allowance: { ...limited, pausedMs },
        })),
      );
    expect(estimate(1, 0)).toMatchObject({ records: 15, pages: 3, requests: 3, durationMs: 300 });
    expect(estimate(1, 30_000).durationMs).toBe(30_300);
    expect(estimate(1, 30_000).resources.lots).toMatchObject({ durationMs: 30_100, mode: "full" });
    // 30 requests, 10 of them now.
    expect(estimate(10, 0).durationMs).toBe(MINUTE_MS + 20 * 100);
    expect(estimate(10, 0).resources.lots?.durationMs).toBe(10 * 100);
    expect(estimate(10, 30_000).durationMs).toBe(30_000 + MINUTE_MS + 20 * 100);
  });

  it("is as short as the requests are without a limit", async () => {
    const { mirror } = setUp(false);
    expect((await mirror.estimate()).durationMs).toBeLessThan(MINUTE_MS);
  });

  it("adds up the requests of all resources, which share one limit", async () => {
    const { mirror } = setUp(
      { requests: 10, intervalMs: MINUTE_MS, reserved: 2 },
      { resources: ["items", "lots", "stockLevels"] },
    );
    const { durationMs, requests, resources } = await mirror.estimate();
    expect(requests).toBe(Object.values(resources).reduce((sum, estimate) => sum + estimate.requests, 0));
    // The token and three estimates have used four of the eight slots.
    const intervals = Math.ceil((requests - 4) / 8);
    expect(Math.floor(durationMs / MINUTE_MS)).toBe(intervals);
  });
});
