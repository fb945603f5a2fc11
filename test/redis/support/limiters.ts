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

/** A name that no other test uses. */
export const newKey = () => `test ${randomUUID()}`;

/** A client as a user would make it; it is disconnected after the tests. */
export function connect(url: string, options: RedisOptions = {}): Redis {
  const redis = new Redis(url, options);
  redis.on("error", () => {});
  clients.push(redis);
  return redis;
}

/** A limiter with a connection of its own, as a process has. */
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

/** How long the promise took, in ms. */
export async function duration(promise: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await promise.catch(() => {});
  return performance.now() - startedAt;
}

/** Whether there is a result within a time in which there would be one if nothing had to be waited for. */
export async function isSettled(promise: Promise<unknown>, withinMs = 150): Promise<boolean> {
  return Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    sleep(withinMs).then(() => false),
  ]);
}
