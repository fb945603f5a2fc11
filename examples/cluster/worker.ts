/** One process of the cluster: looks up items as fast as the shared limit allows, and reports its progress to main.ts. */
import { Redis } from "ioredis";
import { InventoryClient } from "stocklot";
import { createRedisRateLimiter, createRedisTokenStore } from "stocklot/redis";

const CALLERS = 15;
const { redisUrl, baseUrl, clientId, clientSecret, limit } = JSON.parse(process.argv[2] ?? "{}");

const redis = new Redis(redisUrl);
const client = new InventoryClient({
  baseUrl,
  clientId,
  clientSecret,
  rateLimiter: createRedisRateLimiter({ redis, key: "acme", ...limit }),
  tokenStore: createRedisTokenStore({ redis, key: "acme" }),
});

let responses = 0;
let stopped = false;

const report = setInterval(() => {
  process.send?.({ responses, waiting: client.rateLimit.queued });
  responses = 0;
}, 250);

process.on("message", async () => {
  stopped = true;
  // Calls that wait for a slot are rejected; calls in flight end.
  await client.close();
  clearInterval(report);
  redis.disconnect();
  process.disconnect();
});

await Promise.all(
  Array.from({ length: CALLERS }, async () => {
    while (!stopped) {
      const page = await client.items
        .list()
        .page()
        .catch(() => undefined);
      if (page) responses += 1;
    }
  }),
);
