import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Agent } from "undici";
import { describe, expect, it, vi } from "vitest";
import { ConnectionError, createRateLimiter } from "../../src/index.js";
import { builtProgram } from "../support/built-program.js";
import * as faults from "../support/faults.js";
import { passTime, stopTime } from "../support/loop-time.js";
import { RUN_ALL } from "../support/runs.js";
import { connect, errorOf, startServer, waitUntil } from "../support/with-server.js";

const program = await builtProgram(new URL("../support/one-call.ts", import.meta.url));

/** Enough for a process that ends by itself, but less than the shortest pause in `one-call.ts`, in ms. */
const EXIT_LIMIT_MS = 100_000;

/** Runs a process that must end by itself, and returns its output. */
async function runUntilExit(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], {
    timeout: EXIT_LIMIT_MS,
  });
  return stdout.trim();
}

describe("a process that does not close its client", { timeout: EXIT_LIMIT_MS + 10_000 }, () => {
  const ENDS: [string, string, string | RegExp][] = [
    ["a call", "call", "BOLT"],
    ["a call through fetch", "fetch", "BOLT"],
    ["a call with slots of a Bottleneck", "bottleneck", "BOLT"],
    ["a loop that it leaves", "loop", /^\d+$/],
    ["a 429 that it does not wait for", "pause", "RateLimitError"],
    ["a call that it aborts", "abort", "TimeoutError"],
  ];
  // Each case starts a process.
  it.each(RUN_ALL ? ENDS : ENDS.slice(0, 1))("ends by itself after %s", async (_, what, output) => {
    const server = await startServer();
    for (let count = 0; count < 100; count += 1) server.service.addLot({});
    if (what === "pause") server.plan(faults.rateLimited());
    if (what === "abort") server.plan(faults.hang({ applies: false }));
    expect(await runUntilExit(server.baseUrl, what)).toMatch(output);
  });
});

describe("close()", () => {
  it("lets calls on their way end, and rejects those that wait", async () => {
    const server = await startServer();
    const client = connect(server, { rateLimit: { maxConcurrent: 2 } });
    await client.items.get("BOLT");
    const release = server.hold();
    const asked = server.requests.length;
    const inFlight = [
      client.items.get("BOLT"),
      client.inventory.receive({ itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 }),
    ];
    await waitUntil(() => server.requests.length === asked + 2);
    const waiting = [client.items.get("BOLT"), client.items.create({ shortID: "NUT" })].map(errorOf);
    const closed = client.close();
    release();
    await closed;
    expect(await Promise.all(inFlight)).toMatchObject([{ shortID: "BOLT" }, { recNo: expect.any(Number) }]);
    for (const error of await Promise.all(waiting)) {
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ message: expect.stringContaining("closed") });
    }
    expect(server.effects("create")).toBe(0);
    expect(server.requests).toHaveLength(asked + 2);
    await waitUntil(() => server.connections === 0);
  });

  it("rejects calls that are paused after a 429, wait between attempts, or wait for a token", async () => {
    const server = await startServer();
    const retries: number[] = [];
    const client = connect(server, {
      retry: { minDelayMs: 600_000, maxDelayMs: 600_000 },
      hooks: { retry: ({ attempt }) => void retries.push(attempt) },
    });
    await client.items.get("BOLT");
    server.plan(faults.status(503));
    const between = errorOf(client.items.get("BOLT"));
    await waitUntil(() => retries.length === 1);
    server.plan(faults.rateLimited());
    const paused = errorOf(client.items.get("BOLT"));
    await waitUntil(() => client.rateLimit.pausedUntil !== null);
    stopTime();
    await client.close();
    for (const error of await Promise.all([between, paused])) expect(error).toBeInstanceOf(ConnectionError);

    const other = connect(server);
    server.plan(faults.hang({ applies: false }), { on: ({ path }) => path === "/Token" });
    const tokenless = errorOf(other.items.get("BOLT"));
    await waitUntil(() => server.tokenRequests === 2);
    await other.close();
    expect(await tokenless).toBeInstanceOf(ConnectionError);
  });

  it("may be called again, and before any call; calls that come later reject", async () => {
    const server = await startServer();
    const client = connect(server);
    await Promise.all([client.close(), client.close()]);
    await client.close();
    await client[Symbol.asyncDispose]();
    for (const call of [client.items.get("X"), client.items.list().toArray(), client.items.create({ shortID: "X" })])
      expect(await errorOf(call)).toMatchObject({
        name: "ClientClosedError",
        message: expect.stringContaining("the client is closed"),
      });
    expect(server.requests).toEqual([]);
  });

  it("ends an iteration that is waiting for its next page", async () => {
    const server = await startServer();
    for (let count = 0; count < 100; count += 1) server.service.addLot({});
    const client = connect(server, { rateLimit: { requests: 3, intervalMs: 600_000, reserved: 0 } });
    const seen: number[] = [];
    const loop = errorOf(
      (async () => {
        for await (const lot of client.inventory.listLots({ pageSize: 10 })) seen.push(lot.recNo);
      })(),
    );
    await waitUntil(() => seen.length === 20);
    await client.close();
    expect(await loop).toBeInstanceOf(ConnectionError);
  });

  describe("with a schema of the caller's", () => {
    const schemaOf = (validate: () => Promise<{ value: unknown }>) => ({
      "~standard": { version: 1 as const, vendor: "test", validate },
    });

    it("ends it when the time of the call is up, or its signal aborts", async () => {
      const server = await startServer();
      const client = connect(server);
      const validate = vi.fn(() => new Promise<never>(() => {}));
      const request = { method: "GET" as const, path: "/Item", schema: schemaOf(validate) };
      stopTime();
      const late = errorOf(client.request(request, { totalTimeoutMs: 200 }));
      await waitUntil(() => validate.mock.calls.length === 1);
      await passTime(200);
      expect(await late).toMatchObject({
        name: "TimeoutError",
        clock: "totalTimeoutMs",
        message: "GET /Item: not finished within totalTimeoutMs (200 ms), 1 attempt",
      });
      const controller = new AbortController();
      const aborted = errorOf(client.request(request, { signal: controller.signal }));
      await waitUntil(() => validate.mock.calls.length === 2);
      controller.abort();
      expect(await aborted).toBe(controller.signal.reason);
    });
  });

  it("leaves a dispatcher and a limiter of the caller's open", async () => {
    const server = await startServer();
    const dispatcher = new Agent();
    const rateLimiter = createRateLimiter({ requests: 50, maxConcurrent: 50 });
    const [first, second] = [0, 1].map(() => connect(server, { dispatcher, rateLimiter }));
    await first?.items.get("BOLT");
    await first?.close();
    expect(await second?.items.get("BOLT")).toMatchObject({ shortID: "BOLT" });
    expect(rateLimiter.snapshot().available).toBe(46);
    await second?.close();
    expect(dispatcher.closed).toBe(false);
    await dispatcher.close();
  });
});
