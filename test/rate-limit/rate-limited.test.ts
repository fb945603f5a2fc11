import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, TimeoutError } from "../../src/index.js";
import { type FaultServer, isNotToken, isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { useLoopTime } from "../support/loop-time.js";
import { connect, errorOf, RECEIPT, startServer, waitUntil, warningLog } from "../support/with-server.js";

const PAUSE_MS = 150;
const short: ClientOptions = { retry: { rateLimitDelayMs: [PAUSE_MS, 2 * PAUSE_MS] } };

afterEach(() => vi.useRealTimers());

/** Returns the arrival times of requests other than token requests, in ms after the first of these requests. */
const requestTimes = (server: FaultServer, from = 0) => {
  const at = server.requests.filter(isNotToken).map((seen) => seen.at);
  return at.slice(from).map((time) => time - (at[from] ?? 0));
};

beforeEach(useLoopTime);

describe("after a 429", () => {
  it("all calls wait once, one goes first, and the rest follow when it has ended", async () => {
    const server = await startServer();
    const pauses: number[] = [];
    const client = connect(server, { ...short, hooks: { rateLimited: ({ delayMs }) => void pauses.push(delayMs) } });
    await client.items.get("BOLT");
    server.plan(faults.rateLimited());
    const first = client.items.get("BOLT");
    await waitUntil(() => client.rateLimit.pausedUntil !== null);
    expect(client.rateLimit.available).toBe(0);
    server.latencyMs = 40;
    const others = Array.from({ length: 5 }, () => client.items.get("BOLT"));
    await Promise.all([first, ...others]);
    const [refused = 0, probe = 0, ...rest] = requestTimes(server, 1);
    expect(probe - refused).toBeGreaterThanOrEqual(PAUSE_MS);
    expect(rest).toHaveLength(5);
    for (const at of rest) expect(at - probe).toBeGreaterThanOrEqual(35);
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeGreaterThanOrEqual(PAUSE_MS);
    expect(pauses[0]).toBeLessThanOrEqual(2 * PAUSE_MS);
  });

  it.each<[string, ClientOptions["retry"], string | undefined, RegExp]>([
    ["Retry-After of a day", {}, "86400", /^stocklot: GET \/Item: the pause is limited to 3600 s/],
    ["rateLimitDelayMs without an end", { rateLimitDelayMs: [Infinity, Infinity] }, undefined, /limited to 3600 s/],
  ])("the pause lasts an hour at most, and a %s is logged as a warning", async (_, retry, retryAfter, warning) => {
    const server = await startServer();
    const { warnings, logger } = warningLog();
    const pauses: number[] = [];
    const hooks = { rateLimited: ({ pausedUntil }: { pausedUntil: number }) => void pauses.push(pausedUntil) };
    const client = connect(server, { retry: { ...retry, maxRateLimitRetries: 0 }, logger, hooks });
    await client.items.get("BOLT");
    server.plan(retryAfter === undefined ? faults.status(429) : faults.rateLimited(retryAfter));
    const error = await errorOf(client.items.get("BOLT"));
    expect(error).toMatchObject({ name: "RateLimitError", retryAfterMs: 3_600_000 });
    const { pausedUntil } = client.rateLimit;
    for (const until of [pausedUntil, ...pauses]) {
      expect(until).toBeGreaterThan(Date.now() + 3_590_000);
      expect(until).toBeLessThanOrEqual(Date.now() + 3_600_000);
    }
    expect(warnings.filter((line) => line.includes("limited to"))).toEqual([expect.stringMatching(warning)]);
  });

  it("each call that fails because of the pause reports when to call again", async () => {
    const server = await startServer();
    const client = connect(server, { retry: { rateLimitDelayMs: [40_000, 40_000] } });
    await client.items.get("BOLT");
    server.plan(faults.rateLimited());
    const first = await errorOf(client.inventory.receive(RECEIPT, { totalTimeoutMs: 10_000 }));
    const options = { totalTimeoutMs: 10_000 };
    const sent = { method: "POST", path: "/Inventory/Receive", body: RECEIPT, sentAt: Date.now() };
    const others = await Promise.all(
      [client.items.get("BOLT", options), client.inventory.findReceipt(sent, options)].map(errorOf),
    );
    const seen = server.requests.length;
    const { pausedUntil } = client.rateLimit;
    for (const error of [first, ...others]) {
      if (!TimeoutError.is(error)) throw error;
      expect(error.retryAfterMs).toBeLessThanOrEqual(40_000);
      expect(error.retryAfterMs).toBeGreaterThan(35_000);
      expect(error.message).toContain("no slot within totalTimeoutMs (10000 ms)");
      const [time = ""] = error.message.match(/\d{4}-\d\d-\d\dT[\d:.]+Z/) ?? [];
      expect(Math.abs(Date.parse(time) - (pausedUntil ?? 0))).toBeLessThan(20);
      expect(JSON.parse(JSON.stringify(error))).toMatchObject({ retryAfterMs: error.retryAfterMs });
    }
    expect(String(first)).toContain(", 1 attempt: all requests pause until");
    for (const error of others) expect(String(error)).toContain(", nothing was sent: all requests pause until");
    expect(first).toMatchObject({
      cause: { name: "RateLimitError", status: 429, attempts: 1, path: "/Inventory/Receive" },
    });
    expect(seen).toBe(3);
  });

  it("of the token endpoint makes all calls wait too, and one token request follows", async () => {
    const server = await startServer();
    server.plan(faults.rateLimited(), { on: isToken });
    const client = connect(server, short);
    await Promise.all(Array.from({ length: 20 }, () => client.items.get("BOLT")));
    expect(server.tokenRequests).toBe(2);
    const [first, second] = server.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(PAUSE_MS);
  });
});

describe("a limit that is used up", () => {
  it("fails a call with too little time at once, and reports when a slot is expected", async () => {
    const server = await startServer();
    const client = connect(server, { rateLimit: { requests: 2, intervalMs: 30_000 } });
    await client.items.get("BOLT");
    const error = await errorOf(client.items.get("BOLT", { totalTimeoutMs: 5_000 }));
    if (!TimeoutError.is(error)) throw error;
    expect(error.retryAfterMs).toBeGreaterThan(25_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(30_010);
    expect(error.cause).toBeUndefined();
    expect(error.message).toMatch(
      /^GET \/Item: no slot within totalTimeoutMs \(5000 ms\), nothing was sent: the rate limit is used up\. Try again in \d+ ms\.$/,
    );
    expect(server.requests).toHaveLength(2);
  });
});

it("a token that does not arrive in time is named, and no slot is promised", async () => {
  const server = await startServer();
  server.plan(faults.hang({ applies: false }), { on: isToken });
  const error = await errorOf(connect(server).items.get("BOLT", { totalTimeoutMs: 100 }));
  if (!TimeoutError.is(error)) throw error;
  expect(error.message).toBe("GET /Item: not finished within totalTimeoutMs (100 ms), nothing was sent");
  expect(error.retryAfterMs).toBeUndefined();
});
