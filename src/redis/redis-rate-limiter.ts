import { RateLimiter, rateLimitSchema, rateLimitSettings } from "../client/for-add-ons.js";
import type { RateLimitOptions } from "../client/index.js";
import { checkConfiguration, lazy } from "../shared/schema.js";
import { MonotonicClock } from "../shared/time/clock.js";
import { type RedisClient, redisOptionsShape } from "./redis-client.js";
import { createSharedSlots } from "./shared-slots.js";

/** A limit that all processes with the same `key` share. */
export interface RedisRateLimiterOptions extends RateLimitOptions {
  /** Your own ioredis client (`Redis` or `Cluster`). It is never closed. */
  redis: RedisClient;
  /**
   * Name of the limit. Processes with the same name share it. Pass the same limits in all of them.
   * @default "default"
   */
  key?: string | undefined;
}

/**
 * Creates a rate limiter that several processes share through Redis: one limit, exact in every interval by Redis'
 * clock, and one pause after a 429. The queue, its priorities and `maxConcurrent` are per process.
 *
 * While Redis cannot be reached, calls are not sent, and reject with a `ConnectionError` within a second. If Redis has
 * lost its data, the processes that have sent before pause for one interval. The slots of a process that was killed are
 * free again after two minutes and an interval. Keep `timeoutMs` below two minutes: the slot of a longer request could
 * be free again while the service still counts the request.
 *
 * @example
 * import { Redis } from "ioredis";
 * import { InventoryClient } from "stocklot";
 * import { createRedisRateLimiter } from "stocklot/redis";
 *
 * const redis = new Redis("redis://127.0.0.1:6379");
 * const client = new InventoryClient({
 *   rateLimiter: createRedisRateLimiter({ redis, key: "acme", requests: 100 }),
 * });
 * @throws ConfigurationError if an option is wrong.
 */
export function createRedisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  const given = checkConfiguration("createRedisRateLimiter", rateLimiterOptionsSchema(), options);
  const settings = rateLimitSettings(given);
  const clock = new MonotonicClock();
  return new RateLimiter(settings, clock, createSharedSlots(given, settings, clock));
}

const rateLimiterOptionsSchema = lazy(() => rateLimitSchema({ mustLimit: true, others: redisOptionsShape() }));
