import { InventoryClient } from "stocklot";
import { createRedisTokenStore } from "stocklot/redis";
import { afterAll, describe, expect, test } from "vitest";
import { FaultServer } from "../support/fault-server.js";
import { turnsOf } from "../support/loop-time.js";
import { warningLog } from "../support/with-server.js";
import { connect, isSettled, newKey, sleep } from "./support/limiters.js";
import { findRedis } from "./support/redis-server.js";

const server = await findRedis();
afterAll(() => server?.close());
const url = server?.url ?? "";

const TOKEN = "eyJhbGciOi.a-token-to-be-found-nowhere.c2lnbmF0dXJl";
const tokenFor = (ms: number, accessToken = TOKEN) => ({ accessToken, expiresAt: Date.now() + ms });
const storeOf = (key: string) => createRedisTokenStore({ redis: connect(url), key });
const lock = (store: ReturnType<typeof storeOf>, signal = new AbortController().signal) => {
  if (!store.lock) throw new Error("the store has no lock");
  return store.lock(signal);
};

describe.skipIf(!server).concurrent("a token store in Redis", () => {
  test("returns to every process the token that one has set", async () => {
    const key = newKey();
    const [writer, reader] = [storeOf(key), storeOf(key)];
    expect(await reader.get()).toBeUndefined();
    const startedAt = Date.now();
    const token = tokenFor(60_000);
    await writer.set(token);
    const got = await reader.get();
    expect(got?.accessToken).toBe(TOKEN);
    expect(Math.abs((got?.expiresAt ?? 0) - token.expiresAt)).toBeLessThan(Date.now() - startedAt + 10);
    await reader.set(tokenFor(60_000, "another"));
    expect((await writer.get())?.accessToken).toBe("another");
  });

  test("removes a refused token only if it is still the stored one", async () => {
    const store = storeOf(newKey());
    await store.set(tokenFor(60_000));
    await store.delete("an older one");
    expect((await store.get())?.accessToken).toBe(TOKEN);
    await store.delete(TOKEN);
    expect(await store.get()).toBeUndefined();
  });

  test("keeps a token until it expires, and stores no expired one", async () => {
    const key = newKey();
    const [store, redis] = [storeOf(key), connect(url)];
    await store.set(tokenFor(-1));
    expect(await redis.exists(`{stocklot:${key}}:token`)).toBe(0);
    await store.set(tokenFor(400));
    expect(await redis.pttl(`{stocklot:${key}}:token`)).toBeLessThanOrEqual(400);
    await sleep(600);
    expect(await store.get()).toBeUndefined();
  });

  test("lets one process at a time get a new token, and the next when it is done", async () => {
    const key = newKey();
    const unlock = await lock(storeOf(key));
    const next = lock(storeOf(key));
    expect(await isSettled(next, 700)).toBe(false);
    await unlock();
    expect(await turnsOf(next)).toBeLessThan(1_500);
    await (await next)();
    expect(await connect(url).exists(`{stocklot:${key}}:token:lock`)).toBe(0);
  });

  test("lends the lock for 30 s at most, also to a process that dies", async () => {
    const key = newKey();
    await lock(storeOf(key));
    const expiresInMs = await connect(url).pttl(`{stocklot:${key}}:token:lock`);
    expect(expiresInMs).toBeGreaterThan(20_000);
    expect(expiresInMs).toBeLessThanOrEqual(30_000);
    await connect(url).del(`{stocklot:${key}}:token:lock`);
    await (await lock(storeOf(key)))();
  });

  test("does not release a lock that another process has taken over", async () => {
    const key = newKey();
    const redis = connect(url);
    const unlock = await lock(storeOf(key));
    await redis.set(`{stocklot:${key}}:token:lock`, "another", "PX", 5_000);
    await unlock();
    expect(await redis.get(`{stocklot:${key}}:token:lock`)).toBe("another");
  });

  test("ends the wait for a lock with the signal's reason", async () => {
    const key = newKey();
    await lock(storeOf(key));
    const controller = new AbortController();
    const waiting = lock(storeOf(key), controller.signal);
    await sleep(100);
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await waiting.catch((error: unknown) => error)).toBe(reason);
  });

  test("makes all clients get one token between them, also when it is refused", async () => {
    const service = await FaultServer.start();
    service.latencyMs = 50;
    const key = newKey();
    const clients = Array.from(
      { length: 5 },
      () =>
        new InventoryClient({
          baseUrl: service.baseUrl,
          clientId: "a client",
          // The secret changes at each token request. The token in Redis does not depend on it.
          clientSecret: () => `a-secret-of-the-tests-${service.tokenRequests}`,
          rateLimit: false,
          tokenStore: storeOf(key),
        }),
    );
    const callAll = () =>
      Promise.all(clients.flatMap((client) => Array.from({ length: 20 }, () => client.items.get("BOLT"))));
    try {
      await callAll();
      expect(service.tokenRequests).toBe(1);
      service.service.revokeTokens();
      await callAll();
      expect(service.tokenRequests).toBe(2);
    } finally {
      await Promise.all(clients.map((client) => client.close()));
      await service.close();
    }
  });
});

describe.skipIf(!server)("clients that share a key by mistake", () => {
  test.each([
    ["two accounts", { clientId: "two" }],
    ["two services", { version: "v2" }],
  ])("use no token of each other, and say so: %s", async (_, other) => {
    const service = await FaultServer.start();
    const [key, redis] = [newKey(), connect(url)];
    const { warnings, logger } = warningLog();
    /** Makes a call with a new client. Returns the token of the call, once it is stored. */
    const tokenOf = async ({ clientId = "one", version = "v1" } = {}) => {
      const [stored, requested] = [await redis.hget(`{stocklot:${key}}:token`, "token"), service.tokenRequests];
      const client = new InventoryClient({
        baseUrl: service.baseUrl.replace("v1", version),
        clientId,
        clientSecret: "a-secret-of-the-tests",
        rateLimit: false,
        tokenStore: storeOf(key),
        logger,
      });
      await client.items.get("BOLT");
      if (service.tokenRequests > requested)
        await expect.poll(() => redis.hget(`{stocklot:${key}}:token`, "token")).not.toBe(stored);
      await client.close();
      return service.requests.at(-1)?.authorization;
    };
    try {
      const first = await tokenOf();
      expect(await tokenOf()).toBe(first);
      expect(warnings).toEqual([]);
      const third = await tokenOf(other);
      expect(third).not.toBe(first);
      expect(await tokenOf(other)).toBe(third);
      expect(await tokenOf()).not.toBe(third);
      expect(warnings[0]).toMatch(/the token in Redis is for another service or client ID. Pass another `key`/);
    } finally {
      await service.close();
    }
  });
});
