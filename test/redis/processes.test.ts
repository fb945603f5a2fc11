import { afterAll, describe, expect, test } from "vitest";
import { mostInAnyWindow } from "../rate-limit/service-windows.js";
import { FaultServer } from "../support/fault-server.js";
import { newKey, sleep } from "./support/limiters.js";
import { findOwnRedis, findRedis, type TestRedis } from "./support/redis-server.js";
import { startWorkers, type Worker, type WorkerOptions } from "./support/workers.js";

const [shared, own] = [await findRedis(), await findOwnRedis()];
afterAll(() => Promise.all([shared?.close(), own?.close()]));

const REQUESTS = 40;
const INTERVAL_MS = 2_000;
const DURATION_MS = 5 * INTERVAL_MS;
const WORKERS = 4;
/**
 * The least share of the limit that must be used. On an idle machine it is 98 to 100 %. Beside other tests, processes get to run
 * too late for some slots. Time in which a process stands still is added to the share, because the limiter does not cause it. The
 * benchmark (quota) measures the share exactly. Here it shows that all processes go on.
 */
const USED_SHARE = 0.65;

interface Scene {
  /** Options of the worker with this number. */
  worker?(index: number): Partial<WorkerOptions>;
  /** Acts on the workers while they run. It sleeps until the moments at which something is to happen. */
  meanwhile?(workers: Worker[]): Promise<unknown>;
}

/** Runs four processes that want more slots than there are, and returns how they have used the limit. */
async function play(redis: TestRedis | undefined, { worker, meanwhile }: Scene) {
  const service = await FaultServer.start();
  service.latencyMs = 20;
  const rateLimit = { requests: REQUESTS, intervalMs: INTERVAL_MS, reserved: 0 };
  const places = { redisUrl: redis?.url ?? "", baseUrl: service.baseUrl, key: newKey(), rateLimit };
  try {
    const workers = await startWorkers(WORKERS, places, worker);
    // The first interval does not count, because the workers that are ready first take its slots.
    await sleep(INTERVAL_MS);
    const from = performance.now();
    await Promise.all([sleep(DURATION_MS), meanwhile?.(workers)]);
    const to = performance.now();
    const counted = service.requests.filter(({ at }) => at >= from && at < to);
    const reports = await Promise.all(workers.map((worker) => worker.stop()));
    const stoodStillMs = reports.reduce((sum, report) => sum + (report?.stoodStillMs ?? 0), 0);
    return {
      mostInAWindow: mostInAnyWindow(
        service.requests.map(({ at }) => at),
        INTERVAL_MS,
      ),
      tokenRequests: service.tokenRequests,
      usedShare: counted.length / (((to - from) / INTERVAL_MS) * REQUESTS) + stoodStillMs / (WORKERS * (to - from)),
      ofEach: workers.map(({ name }) => counted.filter(({ headers }) => headers["x-worker"] === name).length),
      reports,
    };
  } finally {
    await service.close();
  }
}

const HOUR_MS = 3_600_000;

describe.skipIf(!shared || !own).concurrent("four processes at the limit of one service", () => {
  test("use it up, with one token, though their clocks disagree", async () => {
    const result = await play(shared, { worker: (index) => ({ skewMs: [0, HOUR_MS, -HOUR_MS, 90_000][index] ?? 0 }) });
    expect(result.mostInAWindow).toBeLessThanOrEqual(REQUESTS);
    expect(result.tokenRequests).toBe(1);
    expect(result.usedShare).toBeGreaterThanOrEqual(USED_SHARE);
    for (const report of result.reports) {
      // Calls that wait when the client is closed reject with this error. Nothing else fails, and the process ends by itself.
      expect(Object.keys(report?.failures ?? {})).toEqual(["ClientClosedError"]);
      expect(report?.exitCode).toBe(0);
    }
  });

  test("lose nothing when one of them is killed, and another one stopped and continued", async () => {
    const result = await play(shared, {
      async meanwhile([, killed, stopped]) {
        await sleep(DURATION_MS * 0.3);
        killed?.signal("SIGKILL");
        await sleep(DURATION_MS * 0.1);
        stopped?.signal("SIGSTOP");
        await sleep(INTERVAL_MS * 1.6);
        stopped?.signal("SIGCONT");
      },
    });
    expect(result.mostInAWindow).toBeLessThanOrEqual(REQUESTS);
    expect(result.usedShare).toBeGreaterThanOrEqual(USED_SHARE);
    expect(result.ofEach[2]).toBeGreaterThan(0);
  });

  test("stay within it if one stands still between being granted slots and sending", async () => {
    const result = await play(shared, { worker: (index) => (index === 0 ? { standsStillMs: 2 * INTERVAL_MS } : {}) });
    expect(result.mostInAWindow).toBeLessThanOrEqual(REQUESTS);
    expect(result.ofEach[0]).toBeGreaterThan(0);
    // The calls of the suspended process get other slots, so that none fails.
    expect(Object.keys(result.reports[0]?.failures ?? {})).toEqual(["ClientClosedError"]);
  });

  test("go on within the limit when Redis is started again, with nothing left in it", async () => {
    const result = await play(own, {
      async meanwhile() {
        await sleep(DURATION_MS * 0.4);
        await own?.control?.stop();
        await own?.control?.start();
      },
    });
    expect(result.mostInAWindow).toBeLessThanOrEqual(REQUESTS);
    expect(result.usedShare).toBeGreaterThanOrEqual(USED_SHARE);
    for (const report of result.reports) expect(report?.exitCode).toBe(0);
  });
});
