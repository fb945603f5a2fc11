/** Program of a worker. It makes as many calls as the limit allows, until it receives a message. */
import { Redis } from "ioredis";
import { InventoryClient } from "stocklot";
import { createRedisRateLimiter, createRedisTokenStore } from "stocklot/redis";
import { Agent } from "undici";
import type { WorkerOptions, WorkerReport } from "./workers.js";

const { name, redisUrl, baseUrl, key, rateLimit, callers, skewMs, standsStillMs }: WorkerOptions = JSON.parse(
  process.argv[2] ?? "{}",
);

// Sets the wall clock wrong.
const trueNow = Date.now;
Date.now = () => trueNow() + skewMs;

const redis = new Redis(redisUrl);
redis.on("error", () => {});
const agent = new Agent();
/** Stands still between the grant of a slot and the sending of its request, where any process may be suspended. */
const dispatcher = Object.assign(Object.create(agent), {
  dispatch(...request: Parameters<Agent["dispatch"]>) {
    standStillOnce();
    return agent.dispatch(...request);
  },
});
const client = new InventoryClient({
  baseUrl,
  // All workers use one account, because a token is shared only within an account.
  clientId: "a client",
  clientSecret: "a-secret-of-the-tests",
  rateLimiter: createRedisRateLimiter({ redis, key, ...rateLimit }),
  tokenStore: createRedisTokenStore({ redis, key }),
  dispatcher,
  // If a slot has expired, the attempt fails, and the retry takes another slot.
  retry: { maxRetries: standsStillMs === 0 ? 0 : 3, rateLimitDelayMs: [1_000, 1_200] },
});

let hasStoodStill = standsStillMs === 0;
/** Blocks the process once. It has received some responses by then, so that it holds its share of the slots. */
function standStillOnce(): void {
  if (hasStoodStill || report.responses < callers) return;
  hasStoodStill = true;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, standsStillMs);
}

const report: WorkerReport = { responses: 0, failures: {}, stoodStillMs: 0, exitCode: 0 };
let stopped = false;

const TICK_MS = 50;
let lastTick = performance.now();
setInterval(() => {
  const now = performance.now();
  report.stoodStillMs += Math.max(0, now - lastTick - 2 * TICK_MS);
  lastTick = now;
}, TICK_MS).unref();

async function caller(): Promise<void> {
  while (!stopped) {
    try {
      await client.items.get("BOLT", { headers: { "x-worker": name } });
      report.responses += 1;
    } catch (error) {
      const kind = error instanceof Error ? error.name : String(error);
      report.failures[kind] = (report.failures[kind] ?? 0) + 1;
      // Waits, because a call that fails at once would otherwise be repeated without a pause.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

process.on("message", async () => {
  stopped = true;
  await client.close();
  await callersEnded;
  process.send?.(report, () => {
    redis.disconnect();
    void agent.close();
    process.disconnect();
  });
});
process.send?.("ready");
const callersEnded = Promise.all(Array.from({ length: callers }, caller));
