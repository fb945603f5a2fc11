import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { ConnectionError, InventoryClient } from "stocklot";
import { createRedisRateLimiter, createRedisTokenStore } from "stocklot/redis";
import { createSandbox } from "stocklot/sandbox";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { ROOT } from "../docs/support/markdown.js";
import { errorOf } from "../support/with-server.js";
import { ask, connect, newKey, sleep } from "./support/limiters.js";
import { findOwnRedis } from "./support/redis-server.js";

const server = await findOwnRedis();
const url = server?.url ?? "";
afterAll(() => server?.close());

/** Returns the command of the guide that creates a Redis user, with a password filled in. */
function commandOfTheGuide(): string[] {
  const guide = readFileSync(join(ROOT, "docs/operating.md"), "utf8");
  const [, command = ""] = /```text\n(ACL SETUSER [^`]*)```/.exec(guide) ?? [];
  return command.replace(">…", ">pw").split(/\s+/).filter(Boolean);
}

const [, , user = "", ...rights] = commandOfTheGuide();

async function userWith(name: string, changes: readonly string[] = []) {
  const admin = connect(url);
  await admin.call("ACL", "SETUSER", name, "reset", ...rights, ...changes);
  await admin.call("ACL", "LOG", "RESET");
  const redis = new Redis(url, { username: name, password: "pw" });
  redis.on("error", () => {});
  onTestFinished(() => redis.disconnect());
  const refusals = async () => {
    const log = (await admin.call("ACL", "LOG")) as string[][];
    return log.map((line) => line[line.indexOf("object") + 1]);
  };
  return { redis, refusals };
}

describe.skipIf(!server)("Redis with an ACL", () => {
  test("the rights of the guide are all that is needed, word for word", async () => {
    const { redis, refusals } = await userWith(user);
    const key = newKey();
    const sandbox = createSandbox({ rateLimit: false });
    const limits = { redis, key, requests: 20, intervalMs: 1_000 };
    const client = new InventoryClient({
      baseUrl: sandbox.baseUrl,
      ...sandbox.credentials,
      fetch: sandbox.fetch,
      retry: { rateLimitDelayMs: [50, 60] },
      rateLimiter: createRedisRateLimiter(limits),
      tokenStore: createRedisTokenStore({ redis, key }),
    });
    await client.items.get("BOLT-M8");
    // These calls use all commands: for pauses, for reporting slots, for a refused token, and for the lock of the token.
    sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
    await client.items.get("BOLT-M8");
    sandbox.addFault({ path: "/Item", times: 1, fault: 401 });
    await client.items.get("BOLT-M8");
    await Promise.all(Array.from({ length: 25 }, () => client.items.get("BOLT-M8")));
    await client.close();
    expect(await refusals()).toEqual([]);
  });

  test.each(
    rights.filter((right) => right.startsWith("+") && right !== "+info"),
  )("the right %s is needed: without it, something is refused, in Redis' words", async (right) => {
    const { redis, refusals } = await userWith(`without${right.slice(1)}`, [right.replace("+", "-")]);
    const key = newKey();
    const store = createRedisTokenStore({ redis, key });
    const limiter = createRedisRateLimiter({ redis, key, requests: 2, intervalMs: 300, reserved: 0 });
    const token = { accessToken: "canary-token-0123456789", expiresAt: Date.now() + 60_000 };
    const work = [
      async () => (await ask(limiter)).end(true),
      async () => (await ask(limiter)).end(false),
      async () => (await ask(limiter)).end(true),
      async () => (await ask(limiter)).end(true),
      () => store.set(token),
      () => store.get(),
      async () => (await store.lock?.(new AbortController().signal))?.(),
      () => store.delete(token.accessToken),
    ];
    const errors: string[] = [];
    for (const step of work) await step().catch((error: unknown) => errors.push(String(error)));
    await sleep(50);
    expect((await refusals()).length).toBeGreaterThan(0);
    for (const error of errors) {
      expect(error).toMatch(/NOPERM|can't run this command/);
      expect(error).not.toMatch(/cannot reach|canary/);
    }
  });

  test.each([
    ["NOPERM", "NOPERM this user has no permissions to run the 'eval' command"],
    ["NOREPLICAS", "NOREPLICAS Not enough good replicas to write."],
    ["OOM", "OOM command not allowed when used memory > 'maxmemory'."],
  ])("a reply %s is quoted, and is not an unreachable Redis", async (_, message) => {
    const reply = Object.assign(new Error(message), { name: "ReplyError" });
    const redis = { eval: async () => Promise.reject(reply) };
    const { baseUrl, credentials, fetch } = createSandbox();
    const client = new InventoryClient({
      baseUrl,
      ...credentials,
      fetch,
      rateLimiter: createRedisRateLimiter({ redis }),
    });
    const error = await errorOf(client.items.get("BOLT-M8"));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(String(error)).toContain(`the shared rate limiter is refused by Redis: ${message}`);
    expect(String(error)).not.toContain("cannot reach");
  });
});

/** Wraps a real Redis so that its clock can be set: an offset is added where the script reads the time. */
function clockOf(redis: Redis) {
  const clock = { offsetS: 0 };
  const shifted = {
    eval: (script: string, ...given: [number, ...string[]]) => {
      const time = "redis.call('TIME')";
      expect(script).toContain(time);
      const set = `(function() local t = ${time} return { tostring(t[1] + (${clock.offsetS})), t[2] } end)()`;
      return redis.eval(script.replace(time, set), ...given);
    },
  };
  return { clock, shifted };
}

describe.skipIf(!server)("when Redis' clock is set", () => {
  const INTERVAL_MS = 2_000;
  const LIMIT = 5;
  test.each([
    ["back by a minute", [-60], LIMIT],
    ["back by an hour", [-3_600], LIMIT],
    ["back by a day, twice", [-86_400, -2 * 86_400], LIMIT],
    ["forward by an hour", [3_600], 2 * LIMIT],
    ["forward by an hour, and back", [3_600, 0], 2 * LIMIT],
  ])("%s, no interval has more than stated", async (_, offsets, most) => {
    const { clock, shifted } = clockOf(connect(url));
    const limiter = createRedisRateLimiter({
      redis: shifted,
      key: newKey(),
      requests: LIMIT,
      intervalMs: INTERVAL_MS,
      reserved: 0,
    });
    const end = new AbortController();
    const times: number[] = [];
    const callers = Array.from({ length: 10 }, async () => {
      while (!end.signal.aborted) {
        const slot = await ask(limiter, { signal: end.signal }).catch(() => undefined);
        if (!slot) continue;
        times.push(performance.now());
        slot.end(true);
      }
    });
    for (const offset of offsets) {
      await sleep(300);
      clock.offsetS = offset;
    }
    await sleep(INTERVAL_MS + 1_500);
    end.abort();
    await Promise.all(callers);
    for (const from of times) {
      const inWindow = times.filter((time) => time >= from && time < from + INTERVAL_MS - 20);
      expect(inWindow.length).toBeLessThanOrEqual(most);
    }
    // The limiter still grants slots.
    expect(times.length).toBeGreaterThan(LIMIT);
  });
});
