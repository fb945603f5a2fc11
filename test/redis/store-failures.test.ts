import { execFile } from "node:child_process";
import { inspect, promisify } from "node:util";
import { Redis } from "ioredis";
import { ConnectionError, InventoryClient, type RateLimiter, type TokenStore } from "stocklot";
import { createRedisRateLimiter, createRedisTokenStore } from "stocklot/redis";
import { afterAll, describe, expect, test } from "vitest";
import { SlotSourceFailed } from "../../src/client/limiter/rate-limiter.js";
import { mostInAnyWindow } from "../rate-limit/service-windows.js";
import { createFreshRandom } from "../support/fresh-random.js";
import { turnsOf } from "../support/loop-time.js";
import { ask, connect, limiterAt, newKey, sleep } from "./support/limiters.js";
import { findOwnRedis } from "./support/redis-server.js";

/** Private servers, one for each test that stops or changes its server. */
const servers = await Promise.all(Array.from({ length: 4 }, () => findOwnRedis()));
afterAll(() => Promise.all(servers.map((server) => server?.close())));
const isMissing = servers.includes(undefined);
const [restarted, hanging, lasting, emptied] = servers;

const NOBODY_LISTENS = "redis://127.0.0.1:1";
const CANARY = "Xq7ZkW3vJ9pLm2RtYb8NcF5s";

const clientWith = (rateLimiter: RateLimiter, sent: string[] = [], tokenStore?: TokenStore) =>
  new InventoryClient({
    tokenStore,
    baseUrl: "https://service.test/api/v1",
    clientId: "id",
    clientSecret: "secret",
    rateLimiter,
    fetch: async (url) => {
      sent.push(String(url));
      return Response.json({ access_token: "token", token_type: "bearer", expires_in: 3_600 });
    },
  });

const errorOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describe.concurrent("when Redis was never there", () => {
  test.each([
    ["", () => undefined],
    [" with a token store", () => createRedisTokenStore({ redis: connect(NOBODY_LISTENS), key: newKey() })],
  ])("calls%s reject with a ConnectionError within a second, unsent", async (_, tokenStore) => {
    const sent: string[] = [];
    const { items } = clientWith(limiterAt(NOBODY_LISTENS, {}), sent, tokenStore());
    const attempts = Promise.all(["A", "B"].map((shortID) => errorOf(items.get(shortID))));
    expect(await turnsOf(attempts)).toBeLessThan(2_500);
    for (const error of await attempts) {
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ applied: "no", message: expect.stringContaining("limiter cannot reach Redis") });
    }
    expect(sent).toEqual([]);
  });

  test("the token store fails within a second rather than hang, and shows no token in its error", async () => {
    const store = createRedisTokenStore({ redis: connect(NOBODY_LISTENS), key: newKey() });
    const token = { accessToken: CANARY, expiresAt: Date.now() + 60_000 };
    const ended = Promise.allSettled([
      store.get(),
      store.set(token),
      store.delete(token.accessToken),
      store.lock?.(new AbortController().signal),
    ]);
    expect(await turnsOf(ended)).toBeLessThan(2_500);
    for (const attempt of await ended) {
      expect(attempt.status).toBe("rejected");
      expect(inspect(attempt, { depth: 9 })).not.toContain(CANARY.slice(0, 6));
    }
  });

  test("an error of Redis that quotes a secret is shown without the secret", async () => {
    const reply = Object.assign(new Error(`MOVED refused: eval '${CANARY.slice(3, 20)}'`), { name: "ReplyError" });
    const store = createRedisTokenStore({ redis: { eval: async () => Promise.reject(reply) } });
    await expect(store.set({ accessToken: CANARY, expiresAt: Date.now() + 60_000 })).rejects.toThrow(
      /^MOVED refused: eval '\[redacted\]'$/,
    );
  });

  test("replies that the script would never send make calls fail, but not the process", async () => {
    for (const reply of [null, 5, "nonsense", [], "[]", undefined]) {
      const limiter = createRedisRateLimiter({ redis: { eval: async () => reply } });
      await expect(ask(limiter)).rejects.toThrow(SlotSourceFailed);
    }
  });
});

describe.skipIf(isMissing).concurrent("while Redis is away", () => {
  test("no call hangs, the limit holds, and all is as before when it is back", async () => {
    const [requests, intervalMs] = [8, 1_000];
    const key = newKey();
    const limiters = [1, 2].map(() => limiterAt(restarted?.url ?? "", { key, requests, intervalMs }));
    const times: number[] = [];
    let [failures, mostTurns, isOver] = [0, 0, false];
    const call = async (limiter: RateLimiter) => {
      try {
        const slot = await ask(limiter, { maxWaitMs: 20_000 });
        times.push(performance.now());
        slot.end(true);
      } catch (error) {
        expect(error).toBeInstanceOf(SlotSourceFailed);
        failures += 1;
        await sleep(50);
      }
    };
    const caller = async (limiter: RateLimiter) => {
      while (!isOver) mostTurns = Math.max(mostTurns, await turnsOf(call(limiter)));
    };
    const callers = limiters.flatMap((limiter) => Array.from({ length: 8 }, () => caller(limiter)));
    await sleep(1_500);
    await restarted?.control?.stop();
    const stoppedAt = performance.now();
    await sleep(3_000);
    const startedAt = performance.now();
    await restarted?.control?.start();
    await sleep(2_500);
    const backAt = performance.now();
    await sleep(2_000);
    isOver = true;
    await Promise.all(callers);
    expect(mostInAnyWindow(times, intervalMs)).toBeLessThanOrEqual(requests);
    expect(mostTurns).toBeLessThan(5_000);
    expect(failures).toBeGreaterThan(0);
    expect(times.filter((time) => time > stoppedAt + 1_500 && time < startedAt)).toEqual([]);
    expect(times.filter((time) => time > backAt).length).toBeGreaterThan(requests);
  });

  test("calls fail while it hangs, and the slots it granted meanwhile are given back", async () => {
    const limiter = limiterAt(hanging?.url ?? "", { key: newKey(), requests: 2, intervalMs: 1_000 });
    (await ask(limiter)).end(true);
    hanging?.control?.signal("SIGSTOP");
    await expect(ask(limiter)).rejects.toThrow(SlotSourceFailed);
    await expect(ask(limiter)).rejects.toThrow(SlotSourceFailed);
    hanging?.control?.signal("SIGCONT");
    const again = Promise.all([ask(limiter), ask(limiter)]);
    expect(await turnsOf(again)).toBeLessThan(4_000);
    for (const slot of await again) slot.end(true);
  });

  test.each([
    ["lost its data", () => emptied?.control?.stop().then(() => emptied?.control?.start())],
    [
      "gone back to older data",
      (key: string) =>
        connect(emptied?.url ?? "")
          .multi()
          .del(`{stocklot:${key}}:slots`)
          .hset(`{stocklot:${key}}:window`, "granted", 1)
          .exec(),
    ],
  ])("processes that have sent before pause for one interval after Redis has %s", async (_, lose) => {
    const key = newKey();
    const [first, second] = [1, 2].map(() => limiterAt(emptied?.url ?? "", { key, requests: 4, intervalMs: 2_000 }));
    if (!first || !second) throw new Error("two limiters");
    const times: number[] = [];
    const take = async (limiter: RateLimiter) => {
      const slot = await ask(limiter);
      times.push(performance.now());
      slot.end(true);
    };
    await Promise.all([first, first, second, second].map(take));
    await sleep(100);
    await lose(key);
    await Promise.all([first, first, second, second].map((limiter) => take(limiter).catch(() => take(limiter))));
    expect(mostInAnyWindow(times, 2_000)).toBeLessThanOrEqual(4);
  });

  test("messages that are lost, late or sent twice never break the limit", async () => {
    const random = createFreshRandom();
    const real = connect(lasting?.url ?? "");
    const unreliable = {
      async eval(script: string, keyCount: number, ...rest: string[]) {
        const fate = random();
        if (fate < 0.1) throw new Error("lost on its way there");
        const reply = await real.eval(script, keyCount, ...rest);
        if (fate < 0.2) throw new Error("lost on its way back");
        if (fate < 0.3) await sleep(random() * 1_500);
        return fate < 0.4 ? real.eval(script, keyCount, ...rest) : reply;
      },
    };
    const [requests, intervalMs] = [6, 300];
    const options = { redis: unreliable, key: newKey(), requests, intervalMs, reserved: 2 };
    const limiters = Array.from({ length: 4 }, () => createRedisRateLimiter(options));
    const times: number[] = [];
    let isOver = false;
    const callers = limiters.flatMap((limiter) =>
      Array.from({ length: 4 }, async (_, index) => {
        while (!isOver) {
          const signal = AbortSignal.timeout(random() < 0.2 ? 200 : 10_000);
          const priority = index % 2 === 0 ? "low" : "normal";
          const slot = await ask(limiter, { priority, signal }).catch(() => sleep(20));
          if (!slot) continue;
          await sleep(random() * 60);
          const isSent = random() > 0.1;
          if (isSent) times.push(performance.now());
          slot.end(isSent);
        }
      }),
    );
    await sleep(8_000);
    isOver = true;
    await Promise.all(callers);
    // If the reply with a slot was lost, the slot becomes free when the limiter reports it, or after two minutes.
    expect(times.length).toBeGreaterThan(requests / 2);
    expect(mostInAnyWindow(times, intervalMs)).toBeLessThanOrEqual(requests);
  });

  test("no process is kept alive by slots that come back in a minute", async () => {
    const program = `
      import { Redis } from "ioredis";
      import { createRedisRateLimiter } from "./src/redis/index.ts";
      const redis = new Redis(${JSON.stringify(lasting?.url)});
      const limiter = createRedisRateLimiter({ redis, key: ${JSON.stringify(newKey())}, requests: 1, intervalMs: 60_000, reserved: 0 });
      const slot = await limiter.acquire({ priority: "normal", signal: new AbortController().signal, maxWaitMs: Infinity });
      slot.end(true);
      await new Promise((resolve) => setTimeout(resolve, 200));
      redis.disconnect();
      console.log("done");
    `;
    const run = promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
      cwd: new URL("../..", import.meta.url),
      timeout: 20_000,
    });
    expect((await run).stdout).toBe("done\n");
  });

  test("a client that its owner has closed is an error and no hang", async () => {
    const redis = new Redis(lasting?.url ?? "");
    const limiter = createRedisRateLimiter({ redis, key: newKey() });
    (await ask(limiter)).end(true);
    redis.disconnect();
    const late = ask(limiter);
    expect(await turnsOf(late)).toBeLessThan(2_000);
    await expect(late).rejects.toBeInstanceOf(SlotSourceFailed);
  });
});
