import { randomUUID } from "node:crypto";
import { Redis, type RedisOptions } from "ioredis";
import type { RateLimiter } from "stocklot";
import { createRedisRateLimiter, type RedisRateLimiterOptions } from "stocklot/redis";
import { afterAll } from "vitest";
import type { Slot, SlotRequest } from "../../../src/client/limiter/rate-limiter.js";

const clients: Redis[] = [];

afterAll(() => {
  for (const redis of clients.splice(0)) redis.disconnect();
});

/** Returns a key that no other test uses. */
export const newKey = () => `test ${randomUUID()}`;

/** Creates a Redis client as a user would. It is disconnected after the tests. */
export function connect(url: string, options: RedisOptions = {}): Redis {
  const redis = new Redis(url, options);
  redis.on("error", () => {});
  clients.push(redis);
  return redis;
}

/** Creates a limiter with its own connection, as in a separate process. */
export function limiterAt(url: string, options: Omit<RedisRateLimiterOptions, "redis">): RateLimiter {
  return createRedisRateLimiter({ redis: connect(url), reserved: 0, ...options });
}

export const ask = (limiter: RateLimiter, request: Partial<SlotRequest> = {}): Promise<Slot> =>
  limiter.acquire({
    priority: "normal",
    signal: new AbortController().signal,
    maxWaitMs: Number.POSITIVE_INFINITY,
    ...request,
  });

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Returns how long the promise takes to settle, in ms. */
export async function duration(promise: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await promise.catch(() => {});
  return performance.now() - startedAt;
}

/** Whether the promise settles within a time that is long enough if it does not have to wait for a slot. */
export async function isSettled(promise: Promise<unknown>, withinMs = 150): Promise<boolean> {
  return Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    sleep(withinMs).then(() => false),
  ]);
}
