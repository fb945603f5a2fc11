import { ConfigurationError, InventoryClient, type RateLimiter } from "stocklot";
import { createRedisRateLimiter, createRedisTokenStore } from "stocklot/redis";
import { createSandbox } from "stocklot/sandbox";
import { afterAll, describe, expect, test } from "vitest";
import { type Priority, SlotTooLate } from "../../src/client/limiter/rate-limiter.js";
import type { RedisClient } from "../../src/redis/redis-client.js";
import { mostInAnyWindow } from "../rate-limit/service-windows.js";
import { createFreshRandom } from "../support/fresh-random.js";
import { turnsOf } from "../support/loop-time.js";
import { ask, connect, duration, isSettled, limiterAt, newKey, sleep } from "./support/limiters.js";
import { findRedis } from "./support/redis-server.js";

const server = await findRedis();
afterAll(() => server?.close());
const url = server?.url ?? "";

/** Creates limiters that share a key, each with its own connection, as in several processes. */
const limitersOf = (count: number, options: Parameters<typeof limiterAt>[1]) => {
  const key = newKey();
  return Array.from({ length: count }, () => limiterAt(url, { key, ...options })) as [
    RateLimiter,
    RateLimiter,
    RateLimiter,
  ];
};

/** Resolves when a pause is stored in Redis. */
async function pauseStored(key: string): Promise<void> {
  const redis = connect(url);
  while (Number(await redis.hget(`{stocklot:${key}}:window`, "pausedUntil")) === 0) await sleep(10);
}

const endingOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "a slot",
    (error: unknown) => (error instanceof SlotTooLate ? "too late" : error),
  );

describe.skipIf(!server).concurrent("limiters that share a key", () => {
  test("have the slots of a closed client an interval later, also if its connection ends at once", async () => {
    const options = { key: newKey(), requests: 2, intervalMs: 300 };
    const redis = connect(url);
    const { baseUrl, credentials, fetch } = createSandbox();
    const rateLimiter = createRedisRateLimiter({ redis, reserved: 0, ...options });
    const client = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimiter });
    await client.items.list().page();
    await client.close();
    await redis.quit();
    expect(await isSettled(ask(limiterAt(url, options)), 10_000)).toBe(true);
  });

  test("stay within one limit: bursts, slow responses, calls canceled or never sent", async () => {
    const random = createFreshRandom();
    const [requests, intervalMs] = [6, 200];
    const limiters = limitersOf(3, { requests, intervalMs, reserved: 2, maxConcurrent: 4 });
    const counted: { time: number; priority: Priority }[] = [];
    const call = async (limiter: (typeof limiters)[0]) => {
      await sleep(random() * 2_000);
      const signal = random() < 0.2 ? AbortSignal.timeout(Math.ceil(random() * 1_000)) : new AbortController().signal;
      const priority = random() < 0.4 ? "low" : "normal";
      const slot = await ask(limiter, { priority, signal }).catch(() => undefined);
      if (!slot) return;
      const startedAt = performance.now();
      await sleep(random() < 0.8 ? random() * 20 : random() * 500);
      const endedAt = performance.now();
      if (random() < 0.1) return slot.end(false);
      counted.push({ time: startedAt + random() * (endedAt - startedAt), priority });
      slot.end(true);
    };
    await Promise.all(limiters.flatMap((limiter) => Array.from({ length: 40 }, () => call(limiter))));
    expect(counted.length).toBeGreaterThan(60);
    const times = counted.map(({ time }) => time);
    expect(mostInAnyWindow(times, intervalMs)).toBeLessThanOrEqual(requests);
  });

  test("leave the reserved slots to writes, in all processes together", async () => {
    const [first, second] = limitersOf(2, { requests: 5, intervalMs: 5_000, reserved: 2 });
    await Promise.all(Array.from({ length: 3 }, () => ask(first, { priority: "low" })));
    const low = ask(second, { priority: "low" });
    // This call arrives while the slot for `low` is requested from Redis. It must not wait for the slot that `low` waits for.
    await ask(second, { priority: "high", maxWaitMs: 1_000 });
    expect(await isSettled(low)).toBe(false);
    expect(await isSettled(ask(second))).toBe(false);
    await ask(second, { priority: "high", maxWaitMs: 1_000 });
    expect(await isSettled(ask(second, { priority: "high" }))).toBe(false);
  });

  test("pause together after a 429, and each fails its calls that cannot wait so long", async () => {
    const key = newKey();
    const [first, second] = limitersOf(2, { key, requests: 10, intervalMs: 1_000 });
    (await ask(second)).end(true);
    first.pause(1_500);
    await pauseStored(key);
    const startedAt = performance.now();
    const short = ask(second, { maxWaitMs: 1_000 });
    const long = ask(second);
    expect(await turnsOf(short)).toBeLessThan(600);
    expect(await endingOf(short)).toBe("too late");
    expect(second.snapshot().pausedUntil).not.toBeNull();
    await long;
    expect(performance.now() - startedAt).toBeGreaterThan(1_200);
  });

  test("share a pause that begins while Redis is replying", async () => {
    const key = newKey();
    const redis = connect(url);
    let held: Promise<void> | undefined;
    const slow: RedisClient = {
      async eval(script, keyCount, ...rest) {
        const reply = await redis.eval(script, keyCount, ...rest);
        await held;
        return reply;
      },
    };
    const limiter = createRedisRateLimiter({ redis: slow, key, requests: 10, intervalMs: 1_000, reserved: 0 });
    let release = () => {};
    held = new Promise((resolve) => (release = resolve));
    void ask(limiter).catch(() => {});
    await sleep(50);
    limiter.pause(3_000);
    release();
    expect(await isSettled(pauseStored(key), 2_000)).toBe(true);
  });

  test("make one pause of several 429s: the first decides", async () => {
    const key = newKey();
    const [first, second, third] = limitersOf(3, { key, requests: 10, intervalMs: 1_000 });
    first.pause(2_000);
    await pauseStored(key);
    second.pause(60_000);
    await sleep(200);
    expect(await turnsOf(ask(third))).toBeLessThan(30_000);
  });

  test("each send a probe after the pause before the rest of their calls", async () => {
    const key = newKey();
    const [first, second] = limitersOf(2, { key, requests: 10, intervalMs: 1_000 });
    first.pause(1_000);
    await pauseStored(key);
    const waiting = [first, second].map((limiter) => [ask(limiter), ask(limiter)]);
    for (const [probe, next] of waiting) {
      const slot = await probe;
      expect(await isSettled(next ?? sleep(0))).toBe(false);
      slot?.end(true);
      expect(await isSettled(next ?? sleep(0), 1_000)).toBe(true);
    }
  });

  test("get an unused slot back at once, and a call that was given up keeps none", async () => {
    const [first, second] = limitersOf(2, { requests: 1, intervalMs: 5_000 });
    const slot = await ask(first);
    const leave = new AbortController();
    const givenUp = ask(second, { signal: leave.signal });
    await sleep(100);
    leave.abort("enough");
    expect(await endingOf(givenUp)).toBe("enough");
    slot.end(false);
    expect(await turnsOf(ask(second))).toBeLessThan(2_000);
  });

  test("keep the slot of a request that takes longer than any lease", async () => {
    const [first, second] = limitersOf(2, { requests: 1, intervalMs: 100 });
    const slot = await ask(first);
    const next = ask(second);
    expect(await isSettled(next, 4_000)).toBe(false);
    slot.end(true);
    expect(await isSettled(next, 2_000)).toBe(true);
  });

  test("show in their snapshots what all of them used at the last exchange", async ({ expect }) => {
    const [first, second] = limitersOf(2, { requests: 10, intervalMs: 5_000 });
    const slots = await Promise.all([ask(first), ask(first), ask(first)]);
    (await ask(second)).end(false);
    await expect
      .poll(() => second.snapshot())
      .toEqual({ limit: 10, intervalMs: 5_000, reserved: 0, available: 7, queued: 0, inFlight: 0, pausedUntil: null });
    slots[0]?.end(false);
    await sleep(100);
    (await ask(second)).end(false);
    await expect.poll(() => second.snapshot().available).toBe(8);
    expect(first.snapshot().inFlight).toBe(2);
  });

  test("send nothing to Redis when their snapshots are read", async () => {
    const redis = connect(url);
    let sent = 0;
    const count = <Result>(result: Promise<Result>) => {
      sent += 1;
      return result;
    };
    const counting = {
      eval: (script: string, ...rest: [number, ...string[]]) => count(redis.eval(script, ...rest)),
    };
    const limiter = createRedisRateLimiter({ redis: counting, key: newKey(), requests: 5, intervalMs: 200 });
    expect(limiter.snapshot().available).toBe(5);
    (await ask(limiter)).end(true);
    await sleep(600);
    const before = sent;
    for (let reads = 0; reads < 50; reads += 1) {
      expect(limiter.snapshot()).toMatchObject({ available: 5, queued: 0 });
      await sleep(10);
    }
    expect(sent).toBe(before);
  });

  test("drop a pause that would end more than an hour ahead: Redis' clock was set back", async () => {
    const key = newKey();
    const [limiter] = limitersOf(1, { key, requests: 3, intervalMs: 1_000 });
    (await ask(limiter)).end(true);
    await connect(url).hset(`{stocklot:${key}}:window`, "pausedUntil", Date.now() + 2 * 3_600_000);
    expect(await isSettled(ask(limiter), 1_000)).toBe(true);
  });
});

describe.skipIf(!server).concurrent("in Redis", () => {
  test("all keys have one hash tag with the name of the limit, and expire", async () => {
    const key = newKey();
    (await ask(limiterAt(url, { key, requests: 3, intervalMs: 1_000 }))).end(true);
    await sleep(100);
    const redis = connect(url);
    const keys = await redis.keys(`*${key}*`);
    expect(keys.sort()).toEqual([`{stocklot:${key}}:slots`, `{stocklot:${key}}:window`]);
    for (const name of keys) {
      expect(await redis.pttl(name)).toBeGreaterThan(0);
      expect(await redis.pttl(name)).toBeLessThan(150_000);
    }
  });

  test("the caller's connection is the only one, and stays as it was", async () => {
    const redis = connect(url, { connectionName: "the-callers-own" });
    const before = redis.eventNames().map((name) => [name, redis.listenerCount(name)]);
    const limiter = createRedisRateLimiter({ redis, key: newKey(), requests: 3, intervalMs: 1_000 });
    (await ask(limiter)).end(true);
    await sleep(100);
    expect(redis.eventNames().map((name) => [name, redis.listenerCount(name)])).toEqual(before);
    const connections = String(await redis.client("LIST")).split("\n");
    expect(connections.filter((line) => line.includes("the-callers-own"))).toHaveLength(1);
    expect(redis.status).toBe("ready");
  });

  test.each<[string, object]>([
    ["a prefix for keys", { keyPrefix: "mine:" }],
    ["automatic pipelines", { enableAutoPipelining: true }],
    ["no offline queue", { enableOfflineQueue: false }],
    ["a connection made at first use", { lazyConnect: true }],
    ["text for numbers", { stringNumbers: true }],
  ])("a client with %s does", async (_, options) => {
    const redis = connect(url, options);
    if (!("lazyConnect" in options)) await new Promise((resolve) => redis.once("ready", resolve));
    const limiter = createRedisRateLimiter({
      redis,
      key: newKey(),
      requests: 1,
      reserved: 0,
      intervalMs: 300,
    });
    (await ask(limiter)).end(true);
    expect(await duration(ask(limiter))).toBeGreaterThan(250);
  });
});

test.each([
  [createRedisRateLimiter, {}, /redis: (must|is required)/],
  [createRedisRateLimiter, { redis: { eval: async () => {} }, reservd: 1 }, /did you mean "reserved"\?/],
  [createRedisTokenStore, { redis: { eval: async () => {} }, key: "" }, /key: (Too small|must|is required)/],
])("%s refuses wrong options: %j", (create, options, message) => {
  const call = () => Reflect.apply(create, undefined, [options]);
  expect(call).toThrow(ConfigurationError);
  expect(call).toThrow(message);
});
