import { ConfigurationError, InventoryClient } from "stocklot";
import { createRedisTokenStore } from "stocklot/redis";
import { afterAll, describe, expect, test } from "vitest";
import { turnsOf } from "../support/loop-time.js";
import { CountingServer } from "./support/counting-server.js";
import { connect, isSettled, newKey, sleep } from "./support/limiters.js";
import { findRedis } from "./support/redis-server.js";

const server = await findRedis();
afterAll(() => server?.close());
const url = server?.url ?? "";

const TOKEN = "eyJhbGciOi.a-token-to-be-found-nowhere.c2lnbmF0dXJl";
const tokenFor = (ms: number, accessToken = TOKEN) => ({ accessToken, expiresAt: Date.now() + ms });
const storeOf = (key: string, secret?: string) => createRedisTokenStore({ redis: connect(url), key, secret });
const lock = (store: ReturnType<typeof storeOf>, signal = new AbortController().signal) => {
  if (!store.lock) throw new Error("the store has no lock");
  return store.lock(signal);
};

describe.skipIf(!server).concurrent("a token store in Redis", () => {
  test.each([
    undefined,
    "a secret of all processes",
  ])("returns to every process the token that one has set (secret: %s)", async (secret) => {
    const key = newKey();
    const [writer, reader] = [storeOf(key, secret), storeOf(key, secret)];
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

  test.each([
    undefined,
    "a secret",
  ])("removes a refused token only if it still is the one (secret: %s)", async (secret) => {
    const store = storeOf(newKey(), secret);
    await store.set(tokenFor(60_000));
    await store.delete("an older one");
    expect((await store.get())?.accessToken).toBe(TOKEN);
    await store.delete(TOKEN);
    expect(await store.get()).toBeUndefined();
  });

  test("keeps a token as long as it is good, and not at all when it is not", async () => {
    const key = newKey();
    const [store, redis] = [storeOf(key), connect(url)];
    await store.set(tokenFor(-1));
    expect(await redis.exists(`{stocklot:${key}}:token`)).toBe(0);
    await store.set(tokenFor(400));
    expect(await redis.pttl(`{stocklot:${key}}:token`)).toBeLessThanOrEqual(400);
    await sleep(600);
    expect(await store.get()).toBeUndefined();
  });

  test("shows nothing of the token in Redis when there is a secret", async () => {
    const key = newKey();
    await storeOf(key, "a secret").set(tokenFor(60_000));
    const stored = String(await connect(url).get(`{stocklot:${key}}:token`));
    expect(stored).not.toContain("token-to-be-found");
    expect(Buffer.from(stored.split(":")[1] ?? "", "base64").toString("latin1")).not.toContain("token-to-be-found");
    await storeOf(key, "a secret").set(tokenFor(60_000));
    expect(await connect(url).get(`{stocklot:${key}}:token`)).not.toBe(stored);
  });

  test("says so when the token was stored with another secret, with none, or was changed", async () => {
    const key = newKey();
    const redis = connect(url);
    await storeOf(key, "one").set(tokenFor(60_000));
    await expect(storeOf(key, "two").get()).rejects.toThrow(/another secret/);
    await expect(storeOf(key).get()).rejects.toThrow(/with a secret/);
    const name = `{stocklot:${key}}:token`;
    const stored = String(await redis.get(name));
    const changed = `${stored.slice(0, -3)}${stored.endsWith("AA=") ? "BB=" : "AA="}`;
    await redis.set(name, changed, "PX", 60_000);
    await expect(storeOf(key, "one").get()).rejects.toThrow(/another secret/);
    // A value that was copied from another limit's key is not taken either.
    const other = newKey();
    await redis.set(`{stocklot:${other}}:token`, stored, "PX", 60_000);
    await expect(storeOf(other, "one").get()).rejects.toThrow(/another secret/);
    await storeOf(key).set(tokenFor(60_000));
    await expect(storeOf(key, "one").get()).rejects.toThrow(/another secret, or with none/);
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

  test("lets a process take as long as it needs", async () => {
    const key = newKey();
    const unlock = await lock(storeOf(key));
    expect(await isSettled(lock(storeOf(key)), 6_500)).toBe(false);
    await unlock();
  });

  test("passes the lock of a dead process on", async () => {
    const key = newKey();
    const redis = connect(url);
    await lock(createRedisTokenStore({ redis, key }));
    redis.disconnect();
    expect(await turnsOf(lock(storeOf(key)))).toBeLessThan(7_000);
  });

  test.each<[string, (string | number)[]]>([
    ["never expires", []],
    ["expires in an hour", ["PX", 3_600_000]],
  ])("does not wait for ever for a foreign key in place of the lock that %s", async (_, expiry) => {
    const key = newKey();
    const name = `{stocklot:${key}}:token:lock`;
    await connect(url).call("SET", name, "something else", ...expiry);
    const waiting = lock(storeOf(key));
    expect(await turnsOf(waiting)).toBeLessThan(8_000);
    await expect(waiting).rejects.toThrow(`the key ${name} does not expire soon`);
    expect(await connect(url).get(name)).toBe("something else");
  });

  test("makes the client go on with a token of its own, and warn, when a foreign key is in place of the lock", async () => {
    const service = await new CountingServer({ requests: 10_000, intervalMs: 60_000 }).listen();
    const key = newKey();
    await connect(url).set(`{stocklot:${key}}:token:lock`, "something else");
    const warnings: string[] = [];
    const quiet = () => {};
    const client = new InventoryClient({
      baseUrl: service.baseUrl,
      clientId: "a client",
      clientSecret: "a-secret-of-the-tests",
      rateLimit: false,
      tokenStore: storeOf(key),
      logger: { debug: quiet, info: quiet, warn: (line) => void warnings.push(line), error: quiet },
    });
    try {
      await client.request({ method: "GET", path: "/Ping" });
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(/the token store failed to lock: the key .*:token:lock does not expire soon/);
    } finally {
      await client.close();
      await service.close();
    }
  });

  test("lets go of a lock that was taken over by nobody but its holder", async () => {
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
    const service = await new CountingServer({ requests: 10_000, intervalMs: 60_000, latencyMs: 50 }).listen();
    const key = newKey();
    const clients = Array.from(
      { length: 5 },
      () =>
        new InventoryClient({
          baseUrl: service.baseUrl,
          clientId: "a client",
          // Rotated at each token request: the token in Redis does not depend on it.
          clientSecret: () => `a-secret-of-the-tests-${service.tokenRequests.length}`,
          rateLimit: false,
          tokenStore: storeOf(key, "a secret"),
        }),
    );
    const callAll = () =>
      Promise.all(
        clients.flatMap((client) => Array.from({ length: 20 }, () => client.request({ method: "GET", path: "/Ping" }))),
      );
    try {
      await callAll();
      expect(service.tokenRequests).toHaveLength(1);
      service.revoked.add("token-1-of-the-counting-server");
      await callAll();
      expect(service.tokenRequests).toHaveLength(2);
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
    const service = await new CountingServer({ requests: 10_000, intervalMs: 60_000 }).listen();
    const [key, redis] = [newKey(), connect(url)];
    const warnings: string[] = [];
    const quiet = () => {};
    /** The token of a call by a new client, after it was stored. */
    const tokenOf = async ({ clientId = "one", version = "v1" } = {}) => {
      const [stored, requested] = [await redis.get(`{stocklot:${key}}:token`), service.tokenRequests.length];
      const client = new InventoryClient({
        baseUrl: service.baseUrl.replace("v1", version),
        clientId,
        clientSecret: "a-secret-of-the-tests",
        rateLimit: false,
        tokenStore: storeOf(key, "a secret"),
        logger: { debug: quiet, info: quiet, warn: (line) => void warnings.push(line), error: quiet },
      });
      await client.request({ method: "GET", path: "/Ping" });
      if (service.tokenRequests.length > requested)
        await expect.poll(() => redis.get(`{stocklot:${key}}:token`)).not.toBe(stored);
      await client.close();
      return service.counted.at(-1)?.token;
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

describe("the options of a Redis token store", () => {
  const redis = { status: "ready", eval: async () => {}, evalsha: async () => {} };
  const wrong: [name: string, options: unknown, message: RegExp][] = [
    ["none", undefined, /redis: is required/],
    ["no client", { key: "acme" }, /redis: (must|is required)/],
    ["an empty key", { redis, key: "" }, /key: (must|is required)/],
    ["an empty secret", { redis, secret: "" }, /secret: (must|is required)/],
    ["an unknown name", { redis, ttl: 5 }, /unknown option "ttl"/],
  ];
  test.each(wrong)("that are wrong are refused by name: %s", (_, options, message) => {
    const create = () => Reflect.apply(createRedisTokenStore, undefined, [options]);
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(message);
  });
});
