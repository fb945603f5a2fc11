/** One of several processes that share a limit through Redis. It reads some pages. `sections/quota.ts` starts it. */
import { Redis } from "ioredis";
import { BUILT_PACKAGE } from "./paths.js";
import { openClient } from "./stocklot.js";

export interface QuotaProcess {
  baseUrl: string;
  redisUrl: string;
  limit: { requests: number; intervalMs: number };
  from: number;
  to: number;
}

const { baseUrl, redisUrl, limit, from, to }: QuotaProcess = JSON.parse(process.argv[2] ?? "{}");
const built = (await import(new URL("redis.js", BUILT_PACKAGE).href)) as typeof import("stocklot/redis");
const redis = new Redis(redisUrl);
const client = await openClient(baseUrl, {
  rateLimiter: built.createRedisRateLimiter({ redis, key: "bench", reserved: 0, ...limit }),
  tokenStore: built.createRedisTokenStore({ redis, key: "bench" }),
});
const pages = Array.from({ length: to - from }, (_, index) => from + index);
await Promise.all(pages.map((page) => client.inventory.listLots({ page, pageSize: 1 }).page()));
await client.close();
redis.disconnect();
