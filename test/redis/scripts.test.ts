import { inspect } from "node:util";
import type { Redis } from "ioredis";
import { createRedisRateLimiter, createRedisTokenStore } from "stocklot/redis";
import { afterAll, describe, expect, test } from "vitest";
import { ask, connect, duration, newKey } from "./support/limiters.js";
import { findOwnRedis } from "./support/redis-server.js";

const [server, withoutEvalsha, withoutScripts] = await Promise.all([
  findOwnRedis(),
  findOwnRedis(["--rename-command", "EVALSHA", ""]),
  findOwnRedis(["--rename-command", "EVALSHA", "", "--rename-command", "EVAL", ""]),
]);
afterAll(() => Promise.all([server, withoutEvalsha, withoutScripts].map((one) => one?.close())));

const CANARY = "Xq7ZkW3vJ9pLm2RtYb8NcF5s";
const canary = () => ({ accessToken: CANARY, expiresAt: Date.now() + 60_000 });

/** What docs/scaling.md lists. */
const COMMANDS = [
  "eval",
  "evalsha",
  "time",
  "hget",
  "hmget",
  "hgetall",
  "hset",
  "hdel",
  "pexpire",
  "get",
  "set",
  "del",
  "pttl",
];

async function limitAndTokenAreShared(redis: () => Redis): Promise<void> {
  const key = newKey();
  const limit = { key, requests: 1, reserved: 0, intervalMs: 400, onStoreError: "fail" as const };
  const [first, second] = [1, 2].map(() => createRedisRateLimiter({ redis: redis(), ...limit, onWarning: () => {} }));
  (await ask(first as never)).endSent();
  expect(await duration(ask(second as never))).toBeGreaterThan(300);
  const [writer, reader] = [
    createRedisTokenStore({ redis: redis(), key }),
    createRedisTokenStore({ redis: redis(), key }),
  ];
  const unlock = await writer.lock?.(new AbortController().signal);
  await writer.set(canary());
  await unlock?.();
  expect((await reader.get())?.accessToken).toBe(CANARY);
  await reader.delete(CANARY);
  expect(await writer.get()).toBeUndefined();
}

describe.skipIf(!server).concurrent("the scripts", () => {
  test("run after the server has forgotten them", async () => {
    const redis = connect(server?.url ?? "");
    await limitAndTokenAreShared(() => {
      void redis.script("FLUSH");
      return redis;
    });
  });

  test("run where there is no EVALSHA, which each client tries once", async () => {
    const tried: number[] = [];
    await limitAndTokenAreShared(() => {
      const redis = connect(withoutEvalsha?.url ?? "");
      const index = tried.push(0) - 1;
      const { evalsha } = redis;
      redis.evalsha = ((...command: Parameters<typeof evalsha>) => {
        tried[index] = (tried[index] ?? 0) + 1;
        return Reflect.apply(evalsha, redis, command);
      }) as typeof evalsha;
      return redis;
    });
    expect(tried).toEqual([1, 1, 1, 1]);
  });

  test("run for a user that may use the documented commands and keys only", async () => {
    const admin = connect(server?.url ?? "");
    const connection = ["info", "select", "client"].map((name) => `+${name}`);
    const allowed = COMMANDS.map((name) => `+${name}`);
    await admin.call("ACL", "SETUSER", "scanner", "reset", "on", ">pass", "~{stocklot:*", ...connection, ...allowed);
    await limitAndTokenAreShared(() => connect(server?.url ?? "", { username: "scanner", password: "pass" }));
    const log = await admin.call("ACL", "LOG");
    expect(log).toEqual([]);
  });

  test("that cannot run at all fail the store, and no error or warning shows what was sent", async () => {
    const redis = connect(withoutScripts?.url ?? "");
    const store = createRedisTokenStore({ redis, key: newKey() });
    const warnings: string[] = [];
    const limiter = createRedisRateLimiter({ redis, onWarning: (message) => void warnings.push(message) });
    (await ask(limiter)).endSent();
    expect(warnings).toEqual([
      expect.stringMatching(/cannot reach Redis \(ERR unknown command 'eval'\): this process/i),
    ]);
    const error: unknown = await store.set(canary()).catch((reason: unknown) => reason);
    expect(inspect(error, { depth: 9, showHidden: true })).toMatch(/unknown command/);
    for (let start = 0; start + 6 <= CANARY.length; start += 1) {
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(CANARY.slice(start, start + 6));
    }
  });
});

test("an error that quotes what was sent in another way keeps its code only", async () => {
  const quoting = async () => Promise.reject(new Error(`MOVED refused: evalsha '${CANARY.slice(3, 20)}…'`));
  const store = createRedisTokenStore({ redis: { eval: quoting, evalsha: quoting } });
  await expect(store.set(canary())).rejects.toThrow(/^MOVED of Redis$/);
});
