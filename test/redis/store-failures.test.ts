import { execFile } from "node:child_process";
import { inspect, promisify } from "node:util";
import { Redis } from "ioredis";
import { ConnectionError, InventoryClient } from "stocklot";
import { createRedisRateLimiter, createRedisTokenStore } from "stocklot/redis";
import { afterAll, describe, expect, test } from "vitest";
import type { SlotKind } from "../../src/client/limiter/slot-source.js";
import { CallCancellation } from "../../src/shared/time/cancellation.js";
import { createFreshRandom } from "../support/fresh-random.js";
import { turnsOf } from "../support/loop-time.js";
import { mostInAnyWindow } from "../unit/limiter/service-windows.js";
import { ask, connect, duration, limiterAt, newKey, sleep } from "./support/limiters.js";
import { findOwnRedis } from "./support/redis-server.js";

/** Each test that stops its server needs one of its own. */
const servers = await Promise.all(Array.from({ length: 6 }, () => findOwnRedis()));
afterAll(() => Promise.all(servers.map((server) => server?.close())));
const isMissing = servers.includes(undefined);
const [restarted, hanging, freed, pausing, lasting, crowded] = servers;

const NOBODY_LISTENS = "redis://127.0.0.1:1";

/** A call that sends something and takes no time. */
async function call(
  limiter: ReturnType<typeof limiterAt>,
  times: number[],
  cancellation = new CallCancellation([], 20_000),
) {
  const slot = await ask(limiter, { cancellation });
  times.push(performance.now());
  slot.endSent();
  cancellation.dispose();
}

/** Not `expect.poll`, which cannot be used in tests that run beside others. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(10);
}

/** A client that fails all commands while it is down. */
function switchable(url: string) {
  const redis = connect(url);
  let isDown = false;
  const run =
    (name: "eval" | "evalsha") =>
    (script: string, keyCount: number, ...rest: string[]) =>
      isDown ? Promise.reject(new Error("Connection is closed.")) : redis[name](script, keyCount, ...rest);
  return {
    redis: { eval: run("eval"), evalsha: run("evalsha") },
    setDown: (down: boolean) => {
      isDown = down;
    },
  };
}

describe.concurrent("when Redis was never there", () => {
  test('calls fail soon, with onStoreError: "fail"', async () => {
    const limiter = limiterAt(NOBODY_LISTENS, { requests: 50, onStoreError: "fail" });
    const first = ask(limiter);
    expect(await turnsOf(first)).toBeLessThan(2_500);
    await expect(first).rejects.toBeInstanceOf(ConnectionError);
    await expect(first).rejects.toThrow(/cannot reach Redis, nothing was sent/);
    // The next does not wait as long for what is known.
    const second = ask(limiter);
    expect(await turnsOf(second)).toBeLessThan(900);
    await expect(second).rejects.toBeInstanceOf(ConnectionError);
  });

  test('calls go on with a tenth of the limit and one warning, with onStoreError: "local"', async () => {
    const warnings: string[] = [];
    const limiter = limiterAt(NOBODY_LISTENS, {
      requests: 50,
      intervalMs: 2_000,
      onStoreError: "local",
      onWarning: (message) => void warnings.push(message),
    });
    const times: number[] = [];
    const calls = Array.from({ length: 12 }, () => call(limiter, times));
    expect(await turnsOf(Promise.race(calls))).toBeLessThan(2_000);
    await Promise.all(calls);
    expect(mostInAnyWindow(times, 2_000)).toBe(5);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/cannot reach Redis .*: this process continues with 5 of 50 requests per 2000 ms/);
  });

  test("that is what happens when nothing is said", async () => {
    const limiter = limiterAt(NOBODY_LISTENS, { requests: 50 });
    expect(await turnsOf(ask(limiter))).toBeLessThan(2_500);
  });

  test.each<[string, () => unknown]>([
    ["throws", () => Reflect.apply(JSON.parse, undefined, ["no JSON"])],
    ["rejects", () => Promise.reject(new Error("a warning that fails"))],
  ])("an onWarning that %s changes nothing", async (_, fail) => {
    const redis = { eval: async () => null, evalsha: async () => null };
    let warnings = 0;
    const onWarning = () => {
      warnings += 1;
      return fail() as undefined;
    };
    (await ask(createRedisRateLimiter({ redis, onWarning }))).endSent();
    await sleep(50);
    expect(warnings).toBe(1);
  });

  test("an error of Redis' own is taken for the same", async () => {
    const denied = {
      status: "ready",
      evalsha: async () => Promise.reject(new Error("NOAUTH Authentication required.")),
    };
    const redis = { ...denied, eval: denied.evalsha };
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    const limiter = createRedisRateLimiter({ redis, onStoreError: "fail", onWarning });
    for (let call = 1; call <= 3; call += 1) await expect(ask(limiter)).rejects.toThrow(/NOAUTH/);
    // One outage, though nothing was in use between the calls.
    expect(warnings).toEqual([expect.stringMatching(/NOAUTH.*: calls fail until it can/)]);
  });
});

describe.skipIf(isMissing).concurrent("while Redis is away", () => {
  test("no call hangs, the limit holds, and all is as before when it is back", async () => {
    const [requests, intervalMs] = [8, 1_000];
    const groups = (["fail", "local"] as const).map((onStoreError) => {
      const key = newKey();
      const limiters = [1, 2].map(() => limiterAt(restarted?.url ?? "", { key, requests, intervalMs, onStoreError }));
      return { onStoreError, limiters, times: [] as number[], failures: 0, mostTurns: 0 };
    });
    let isOver = false;
    const caller = async (group: (typeof groups)[0], limiter: ReturnType<typeof limiterAt>) => {
      while (!isOver) {
        const attempt = call(limiter, group.times).catch(async (error) => {
          expect(error).toBeInstanceOf(ConnectionError);
          group.failures += 1;
          await sleep(50);
        });
        group.mostTurns = Math.max(group.mostTurns, await turnsOf(attempt));
      }
    };
    const callers = groups.flatMap((group) =>
      group.limiters.flatMap((limiter) => Array.from({ length: 8 }, () => caller(group, limiter))),
    );
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
    for (const { onStoreError, times, failures, mostTurns } of groups) {
      const during = times.filter((time) => time > stoppedAt + 1_500 && time < startedAt).length;
      expect(mostInAnyWindow(times, intervalMs)).toBeLessThanOrEqual(requests);
      expect(mostTurns).toBeLessThan(5_000);
      expect(times.filter((time) => time > backAt).length).toBeGreaterThan(requests * 1.4);
      if (onStoreError === "fail") {
        expect(failures).toBeGreaterThan(0);
        expect(during).toBe(0);
      } else {
        expect(failures).toBe(0);
        expect(during).toBeGreaterThan(requests * 0.7);
      }
    }
  });

  test("a process goes on with its share while Redis hangs, and with the whole limit afterwards", async () => {
    const key = newKey();
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    const limiter = limiterAt(hanging?.url ?? "", { key, requests: 4, intervalMs: 1_000, onWarning });
    const other = limiterAt(hanging?.url ?? "", { key, requests: 4, intervalMs: 1_000 });
    const times: number[] = [];
    await Promise.all([call(limiter, times), call(other, times)]);
    // As long as a process has slots it hears of the others.
    await sleep(400);
    hanging?.control?.signal("SIGSTOP");
    try {
      await Promise.all(Array.from({ length: 6 }, () => call(limiter, times)));
    } finally {
      hanging?.control?.signal("SIGCONT");
    }
    expect(warnings).toHaveLength(1);
    // Two processes are known, so each has half.
    const alone = times.slice(2);
    expect(mostInAnyWindow(alone, 1_000)).toBe(2);
    await sleep(2_500);
    await Promise.all(Array.from({ length: 8 }, () => call(limiter, times)));
    expect(mostInAnyWindow(times, 1_000)).toBe(4);
    expect(warnings).toHaveLength(1);
  });

  test("processes that were all cut off keep to the limit when Redis goes on where it was", async () => {
    const [requests, intervalMs] = [8, 1_000];
    const key = newKey();
    const limiters = [1, 2].map(() => limiterAt(freed?.url ?? "", { key, requests, intervalMs }));
    const times: number[] = [];
    let isOver = false;
    const callers = limiters.flatMap((limiter) =>
      Array.from({ length: 12 }, async () => {
        while (!isOver) await call(limiter, times);
      }),
    );
    for (const ms of [2_300, 1_700, 2_600]) {
      await sleep(1_500);
      freed?.control?.signal("SIGSTOP");
      await sleep(ms);
      freed?.control?.signal("SIGCONT");
    }
    await sleep(1_500);
    isOver = true;
    await Promise.all(callers);
    expect(mostInAnyWindow(times, intervalMs)).toBeLessThanOrEqual(requests);
  });

  test("more processes than slots exceed the limit by at most one each, and not at all when it is back", async () => {
    const [requests, processes, intervalMs] = [3, 5, 500];
    const options = { key: newKey(), requests, intervalMs };
    const limiters = Array.from({ length: processes }, () => limiterAt(crowded?.url ?? "", options));
    const times: number[] = [];
    let isOver = false;
    const callers = limiters.map(async (limiter) => {
      while (!isOver) await call(limiter, times);
    });
    await sleep(1_500);
    crowded?.control?.signal("SIGSTOP");
    await sleep(3_500);
    crowded?.control?.signal("SIGCONT");
    await sleep(2_500);
    const backAt = performance.now();
    await sleep(1_500);
    isOver = true;
    await Promise.all(callers);
    expect(mostInAnyWindow(times, intervalMs)).toBeLessThanOrEqual(requests + processes);
    const after = times.filter((time) => time > backAt);
    expect(after.length).toBeGreaterThan(requests);
    expect(mostInAnyWindow(after, intervalMs)).toBeLessThanOrEqual(requests);
  });

  test("slots that were used without it count when it is back, also those of a process that is idle by then", async () => {
    const { redis, setDown } = switchable(lasting?.url ?? "");
    const [requests, intervalMs] = [4, 2_000];
    const options = { redis, key: newKey(), requests, reserved: 0, intervalMs, onWarning: () => {} };
    const [idle, busy] = [createRedisRateLimiter(options), createRedisRateLimiter(options)];
    const times: number[] = [];
    await Promise.all([idle, idle, busy, busy].map((limiter) => call(limiter, times)));
    // As long as a process holds slots it learns of the others.
    await sleep(600);
    setDown(true);
    await Promise.all([call(idle, times), call(idle, times)]);
    expect(times).toHaveLength(6);
    setDown(false);
    await sleep(300);
    await Promise.all(Array.from({ length: 8 }, () => call(busy, times)));
    expect(mostInAnyWindow(times, intervalMs)).toBeLessThanOrEqual(requests);
  });

  test("a process that was idle when Redis came back asks it before it sends", async () => {
    const { redis, setDown } = switchable(lasting?.url ?? "");
    const [requests, intervalMs] = [4, 1_000];
    const options = { redis, key: newKey(), requests, reserved: 0, intervalMs, onWarning: () => {} };
    const [idle, busy] = [createRedisRateLimiter(options), createRedisRateLimiter(options)];
    await call(idle, []);
    setDown(true);
    await call(idle, []);
    // Until its slot has come back.
    await sleep(3 * intervalMs);
    setDown(false);
    const times: number[] = [];
    await Promise.all(Array.from({ length: requests }, () => call(busy, times)));
    await Promise.all([call(idle, times), call(idle, times)]);
    expect(mostInAnyWindow(times, intervalMs)).toBeLessThanOrEqual(requests);
  });

  test("a process that was started a moment before does not take itself for the only one", async () => {
    const { redis, setDown } = switchable(lasting?.url ?? "");
    const options = { redis, key: newKey(), requests: 8, reserved: 0, intervalMs: 3_000, onWarning: () => {} };
    const [first, second] = [createRedisRateLimiter(options), createRedisRateLimiter(options)];
    const times: number[] = [];
    await call(first, times);
    await Promise.all(Array.from({ length: 7 }, () => call(second, times)));
    setDown(true);
    const cancellations = Array.from({ length: 8 }, () => new CallCancellation([], 1_500));
    await Promise.allSettled(cancellations.map((cancellation) => call(first, times, cancellation)));
    expect(times.length).toBeLessThanOrEqual(8 + 2);
  });

  test("a pause is shared when Redis comes back after all slots, and nothing waits", async () => {
    const { redis, setDown } = switchable(lasting?.url ?? "");
    const options = { redis, key: newKey(), requests: 10, reserved: 0, intervalMs: 500, onWarning: () => {} };
    const [first, second] = [createRedisRateLimiter(options), createRedisRateLimiter(options)];
    await Promise.all([call(first, []), call(second, [])]);
    setDown(true);
    first.pause(9_000);
    await sleep(3_000);
    setDown(false);
    await sleep(1_000);
    expect(await duration(ask(second))).toBeGreaterThan(2_000);
  });

  test("a pause is kept, and shared with the others when Redis is back", async () => {
    const key = newKey();
    const [first, second] = [1, 2].map(() => limiterAt(pausing?.url ?? "", { key, requests: 10, intervalMs: 500 })) as [
      ReturnType<typeof limiterAt>,
      ReturnType<typeof limiterAt>,
    ];
    await Promise.all([call(first, []), call(second, [])]);
    pausing?.control?.signal("SIGSTOP");
    first.pause(5_000);
    const waiting = ask(first);
    await sleep(1_500);
    pausing?.control?.signal("SIGCONT");
    await sleep(1_000);
    expect(first.snapshot().pausedUntil).not.toBeNull();
    expect(await duration(ask(second))).toBeGreaterThan(1_000);
    await waiting;
  });

  test("no process is kept alive by slots that come back in a minute", async () => {
    const program = `
      import { Redis } from "ioredis";
      import { createRedisRateLimiter } from "stocklot/redis";
      import { CallCancellation } from "./src/shared/time/cancellation.ts";
      const redis = new Redis(${JSON.stringify(lasting?.url)});
      const limiter = createRedisRateLimiter({ redis, key: "${newKey()}" });
      const slot = await limiter.acquire({ priority: "normal", slotKind: "single", cancellation: new CallCancellation() });
      redis.disconnect();
      slot.endSent();
      setTimeout(() => console.log("done"), 1_500);
    `;
    const options = { cwd: new URL("../..", import.meta.url), timeout: 20_000 };
    const run = promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "--input-type=module", "-e", program],
      options,
    );
    expect((await run).stdout).toBe("done\n");
  });

  test("messages that are lost, late or sent twice never break the limit", async () => {
    const random = createFreshRandom();
    const real = connect(lasting?.url ?? "");
    const unreliable =
      (name: "eval" | "evalsha") =>
      async (script: string, keyCount: number, ...rest: string[]) => {
        const fate = random();
        if (fate < 0.1) throw new Error("lost on its way there");
        const reply = await real[name](script, keyCount, ...rest);
        if (fate < 0.2) throw new Error("lost on its way back");
        if (fate < 0.3) await sleep(random() * 1_500);
        return fate < 0.4 ? real[name](script, keyCount, ...rest) : reply;
      };
    const redis = { eval: unreliable("eval"), evalsha: unreliable("evalsha") };
    const [requests, intervalMs, reserved] = [6, 300, 2];
    const options = { redis, key: newKey(), requests, intervalMs, reserved, onWarning: () => {} };
    const limiters = Array.from({ length: 4 }, () => createRedisRateLimiter({ ...options, onStoreError: "fail" }));
    const times: { time: number; slotKind: SlotKind }[] = [];
    let isOver = false;
    const callers = limiters.flatMap((limiter) =>
      Array.from({ length: 4 }, async (_, index) => {
        const slotKind = index % 2 === 0 ? "bulk" : "single";
        while (!isOver) {
          const cancellation = new CallCancellation([], random() < 0.2 ? 200 : 10_000);
          const slot = await ask(limiter, {
            slotKind,
            priority: slotKind === "bulk" ? "low" : "normal",
            cancellation,
          }).catch(() => sleep(20));
          cancellation.dispose();
          if (!slot) continue;
          await sleep(random() * 60);
          if (random() < 0.1) slot.endUnsent();
          else times.push({ time: performance.now(), slotKind });
          slot.endSent();
        }
      }),
    );
    await sleep(8_000);
    isOver = true;
    await Promise.all(callers);
    const all = times.map(({ time }) => time);
    expect(all.length).toBeGreaterThan(2 * requests);
    expect(mostInAnyWindow(all, intervalMs)).toBeLessThanOrEqual(requests);
    const pages = times.filter(({ slotKind }) => slotKind === "bulk").map(({ time }) => time);
    expect(mostInAnyWindow(pages, intervalMs)).toBeLessThanOrEqual(requests - reserved);
  });

  test("slots that are used while a reply is overdue are reported to the ledger after it", async () => {
    const known: unknown[] = [];
    const reply = { epoch: "e", pauseMs: 0, granted: { single: 0, bulk: 0 }, free: 50, nextMs: 0, processes: 1 };
    let replyLate = () => {};
    const late = new Promise<string>((resolve) => {
      replyLate = () => resolve(JSON.stringify(reply));
    });
    const exchange = async (_script: string, _keys: number, ...rest: string[]) => {
      known.push(JSON.parse(rest[1] ?? "").knownEpoch);
      if (known.length === 1) throw new Error("Connection is closed.");
      return known.length === 2 ? late : JSON.stringify(reply);
    };
    const redis = { eval: exchange, evalsha: exchange };
    const limiter = createRedisRateLimiter({ redis, requests: 50, intervalMs: 60_000, onWarning: () => {} });
    (await ask(limiter)).endSent();
    await until(() => known.length === 2);
    // After the time in which Redis has to reply. It is counted in steps: a process that stands still gains or loses one.
    for (let step = 0; step < 30; step += 1) await sleep(50);
    (await ask(limiter)).endSent();
    replyLate();
    await until(() => known.length === 3);
    expect(known.slice(1)).toEqual(["none", "none"]);
  });

  test("a request that ends while an attempt to reach Redis fails is reported soon", async () => {
    let exchanges = 0;
    let fail = () => {};
    const exchange = () => {
      exchanges += 1;
      return new Promise<string>((_, reject) => {
        fail = () => reject(new Error("Connection is closed."));
        if (exchanges === 1) fail();
      });
    };
    const redis = { eval: exchange, evalsha: exchange };
    const limiter = createRedisRateLimiter({ redis, requests: 50, intervalMs: 60_000, onWarning: () => {} });
    const slot = await ask(limiter);
    await until(() => exchanges === 2);
    slot.endSent();
    fail();
    expect(await turnsOf(until(() => exchanges === 3))).toBeLessThan(250);
    fail();
  });

  test("a pause that begins while a reply is overdue is shared, although the reply answers an earlier one", async () => {
    const pauses: number[] = [];
    const reply = { epoch: "e", pauseMs: 0, granted: { single: 0, bulk: 0 }, free: 50, nextMs: 0, processes: 1 };
    let replyLate = () => {};
    const late = new Promise<string>((resolve) => {
      replyLate = () => resolve(JSON.stringify(reply));
    });
    const exchange = async (_script: string, _keys: number, ...rest: string[]) => {
      pauses.push(JSON.parse(rest[1] ?? "").pauseMs);
      return pauses.length === 1 ? late : JSON.stringify(reply);
    };
    const redis = { eval: exchange, evalsha: exchange };
    const limiter = createRedisRateLimiter({ redis, requests: 50, intervalMs: 60_000, onWarning: () => {} });
    limiter.pause(100);
    // Granted when the pause has ended and the reply is overdue.
    const slot = await ask(limiter);
    limiter.pause(60_000);
    slot.endSent();
    replyLate();
    await until(() => pauses.length === 2);
    expect(pauses[0]).toBeLessThanOrEqual(100);
    expect(pauses[1]).toBeGreaterThan(100);
  });

  test("replies that are none of the script's fail the store and never a process", async () => {
    for (const reply of [null, 5, "nonsense", [], '{"epoch":1}', "[]", undefined]) {
      const nonsense = async () => reply;
      const options = { redis: { eval: nonsense, evalsha: nonsense }, onWarning: () => {} };
      const limiter = createRedisRateLimiter({ ...options, onStoreError: "fail" });
      await expect(ask(limiter)).rejects.toThrow(/the reply of Redis is not one of the rate limiter's script/);
      (await ask(createRedisRateLimiter(options))).endSent();
    }
  });

  test("each call has an error of its own, with its request and the caller's line", async () => {
    const fail = async () => {
      throw new Error("Connection is closed.");
    };
    const redis = { eval: fail, evalsha: fail };
    const rateLimiter = createRedisRateLimiter({ redis, onStoreError: "fail", onWarning: () => {} });
    const fetch = async () => Response.json({ access_token: "token", token_type: "bearer", expires_in: 3_600 });
    const options = { baseUrl: "https://service.test/api/v1", clientId: "id", clientSecret: "secret", fetch };
    const { items } = new InventoryClient({ ...options, rateLimiter });
    const firstCaller = async () => await items.get("A");
    const secondCaller = async () => await items.get("B");
    const [first, second] = await Promise.all(
      [firstCaller(), secondCaller()].map((call) => call.catch((error: unknown) => error)),
    );
    if (!ConnectionError.is(first) || !ConnectionError.is(second)) throw new Error("both must be connection errors");
    expect(first).not.toBe(second);
    expect(first.message).toMatch(/^\w+ \/\w+: the shared rate limiter cannot reach Redis, nothing was sent: /);
    expect(first.stack).toContain("firstCaller");
    expect(second.stack).toContain("secondCaller");
  });

  test("a client that its owner has closed is an error and no hang", async () => {
    const redis = new Redis(lasting?.url ?? "");
    const limiter = createRedisRateLimiter({ redis, key: newKey(), onStoreError: "fail", onWarning: () => {} });
    (await ask(limiter)).endSent();
    redis.disconnect();
    const late = ask(limiter);
    expect(await turnsOf(late)).toBeLessThan(2_000);
    await expect(late).rejects.toBeInstanceOf(ConnectionError);
  });

  test("the token store fails within a second rather than hang, and shows no token in its error", async () => {
    const store = createRedisTokenStore({ redis: connect(NOBODY_LISTENS), key: newKey() });
    const token = { accessToken: "canary-token-of-this-test", expiresAt: Date.now() + 60_000 };
    const ended = Promise.allSettled([
      store.get(),
      store.set(token),
      store.delete(token.accessToken),
      store.lock?.(new AbortController().signal),
    ]);
    expect(await turnsOf(ended)).toBeLessThan(2_500);
    const attempts = await ended;
    for (const attempt of attempts) {
      expect(attempt.status).toBe("rejected");
      expect(inspect(attempt, { depth: 9 })).not.toContain("canary-token");
    }
  });
});

// Not beside the others, which it would block too.
describe.skipIf(isMissing)("when the process itself stands still", () => {
  test("an event loop that is blocked longer than Redis may take is no outage", async () => {
    const warnings: string[] = [];
    const onWarning = (message: string) => void warnings.push(message);
    const limiter = limiterAt(lasting?.url ?? "", { key: newKey(), requests: 5, intervalMs: 1_000, onWarning });
    (await ask(limiter)).endUnsent();
    const next = ask(limiter);
    await Promise.resolve();
    const until = performance.now() + 1_300;
    while (performance.now() < until);
    await next;
    expect(warnings).toEqual([]);
  });
});
