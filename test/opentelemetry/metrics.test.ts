import { createRateLimiter, InventoryClient } from "stocklot";
import { instrumentStocklot } from "stocklot/opentelemetry";
import type { SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ClientOptions } from "../../src/index.js";
import { collectGarbage } from "../support/garbage.js";
import { RUN_ALL } from "../support/runs.js";
import { connect, type Point, SECRET, startMetrics } from "./support.js";

/** Creates a client whose calls are measured. */
async function measured(options: ClientOptions = {}, service: SandboxOptions = {}) {
  const metrics = startMetrics();
  const connected = await connect(options, service);
  const stop = instrumentStocklot({ meterProvider: metrics.meterProvider });
  onTestFinished(stop);
  return { ...connected, ...metrics, stop };
}

const countOf = (points: readonly Point[] = []) =>
  points.reduce((sum, { value }) => sum + (typeof value === "number" ? value : value.count), 0);

describe("the metrics of calls", () => {
  it("are durations of calls and attempts, by endpoint and outcome", async () => {
    const { client, sandbox, collect, port } = await measured();
    sandbox.addFault({ path: "/Item", times: 1, fault: 503 });
    await client.items.list().page();
    await client.items.get("NONE").catch(() => {});
    const metrics = await collect();
    const endpoint = (method: string, path: string) => ({
      "http.request.method": method,
      "server.address": "127.0.0.1",
      "server.port": port,
      "url.template": `/api/v1${path}`,
    });
    const countsOf = (name: string) =>
      metrics.get(name)?.points.map(({ attributes, value }) => [attributes, typeof value === "object" && value.count]);
    expect(countsOf("stocklot.call.duration")).toEqual([
      [{ ...endpoint("POST", "/Token"), "http.response.status_code": 200 }, 1],
      [{ ...endpoint("GET", "/Item"), "http.response.status_code": 200 }, 1],
      [{ ...endpoint("GET", "/Item"), "http.response.status_code": 404, "error.type": "NotFoundError" }, 1],
    ]);
    expect(countsOf("http.client.request.duration")).toEqual([
      [{ ...endpoint("POST", "/Token"), "http.response.status_code": 200 }, 1],
      [{ ...endpoint("GET", "/Item"), "http.response.status_code": 503, "error.type": "503" }, 1],
      [{ ...endpoint("GET", "/Item"), "http.response.status_code": 200 }, 1],
      [{ ...endpoint("GET", "/Item"), "http.response.status_code": 404, "error.type": "404" }, 1],
    ]);
    expect(metrics.get("stocklot.call.retries")?.points).toEqual([
      { attributes: { ...endpoint("GET", "/Item"), "error.type": "503" }, value: 1 },
    ]);
    expect(metrics.get("stocklot.token.requests")?.points).toEqual([
      { attributes: { ...endpoint("POST", "/Token"), "http.response.status_code": 200 }, value: 1 },
    ]);
    for (const name of ["stocklot.call.duration", "http.client.request.duration"]) {
      expect(metrics.get(name)?.unit).toBe("s");
      for (const { value } of metrics.get(name)?.points ?? []) expect((value as { sum: number }).sum).toBeLessThan(10);
    }
    expect(JSON.stringify([...metrics])).not.toContain(SECRET);
  });

  it("count 429s and pauses, and measure waits for a slot", async () => {
    const { client, sandbox, collect } = await measured({ rateLimit: { requests: 2, reserved: 0, intervalMs: 300 } });
    sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
    const startedAt = performance.now();
    await Promise.all([client.items.list().page(), client.items.list().page()]);
    const lastedS = (performance.now() - startedAt) / 1_000;
    const metrics = await collect();
    expect(countOf(metrics.get("stocklot.rate_limit.rejections")?.points)).toBe(1);
    expect(countOf(metrics.get("stocklot.rate_limit.pause.duration")?.points)).toBe(1);
    const waits = metrics.get("stocklot.rate_limit.wait.duration")?.points ?? [];
    // The token request, two calls and one retry have waited.
    expect(countOf(waits)).toBe(4);
    const waitedS = waits.reduce((sum, { value }) => sum + ((value as { sum?: number }).sum ?? 0), 0);
    expect(waitedS).toBeGreaterThan(0.2);
    expect(waitedS).toBeLessThan(4 * lastedS);
  });
});

describe("the gauges of the rate limit", () => {
  const gauges = async (collect: Awaited<ReturnType<typeof measured>>["collect"]) => {
    const metrics = await collect();
    return ["stocklot.rate_limit.queue.length", "stocklot.rate_limit.slots.available"].map(
      (name) => metrics.get(name)?.points.map(({ value }) => value) ?? [],
    );
  };

  it.skipIf(!RUN_ALL)("show queue and slots at the moment of collection, also while all calls wait", async () => {
    const { client, collect } = await measured({ rateLimit: { requests: 3, reserved: 0, intervalMs: 1_000 } });
    await client.items.list().page();
    const waiting = Promise.all(Array.from({ length: 5 }, () => client.items.list().page()));
    await expect.poll(() => client.rateLimit.queued).toBe(4);
    expect(await gauges(collect)).toEqual([[4], [0]]);
    await waiting;
    await expect.poll(() => client.rateLimit.available).toBe(3);
    expect(await gauges(collect)).toEqual([[0], [3]]);
    await client.close();
    expect(await gauges(collect)).toEqual([[0], [0]]);
  });

  it("add the clients of a server up, and count a shared limiter once", async () => {
    const rateLimiter = createRateLimiter({ requests: 10 });
    const { client, settings, collect } = await measured({ rateLimiter });
    const others = [{ ...settings }, { ...settings, rateLimiter: createRateLimiter({ requests: 20 }) }].map(
      (options) => new InventoryClient(options),
    );
    onTestFinished(() => Promise.all(others.map((other) => other.close())).then(() => {}));
    for (const one of [client, ...others]) await one.items.list().page();
    // Each client has sent a token request and a page request. Two clients share a limiter.
    expect(await gauges(collect)).toEqual([[0], [10 - 4 + (20 - 2)]]);
  });

  it("do not keep a client from being collected", async () => {
    const { settings, collect } = await measured();
    const collected = vi.fn();
    const registry = new FinalizationRegistry(collected);
    await (async () => {
      const client = new InventoryClient({ ...settings });
      registry.register(client.items, undefined);
      await client.items.list().page();
    })();
    await vi.waitFor(
      async () => {
        collectGarbage();
        await new Promise((resolve) => setTimeout(resolve, 10));
        expect(collected).toHaveBeenCalled();
      },
      { timeout: 30_000 },
    );
    await collect();
  });
});
