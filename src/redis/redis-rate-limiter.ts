import * as z from "zod";
import { createQueueingLimiter, rateLimitSchema, rateLimitSettings } from "../client/for-add-ons.js";
import type { RateLimiter, RateLimitOptions } from "../client/index.js";
import { checkConfiguration } from "../shared/check.js";
import { lazy, optionalFields } from "../shared/field.js";
import { functionSchema } from "../shared/option.js";
import { MonotonicClock } from "../shared/time/clock.js";
import { createHoldTimings, createLedgerExchange } from "./ledger/ledger.js";
import { createRedisSlots } from "./ledger/redis-slots.js";
import { type RedisClient, redisOptionsShape } from "./redis-client.js";

/** A limit that all processes with the same `key` share. */
export interface RedisRateLimiterOptions extends RateLimitOptions {
  /** Your own ioredis client (`Redis` or `Cluster`). It is never closed. */
  redis: RedisClient;
  /**
   * Name of the limit. Processes with the same name share it. Pass the same limits in all of them.
   * @default "default"
   */
  key?: string | undefined;
  /**
   * Requests in any interval, of all processes together, token requests included. Not `Infinity`.
   * @default 100
   */
  requests?: number | undefined;
  /**
   * Length of the interval in ms. Not `Infinity`.
   * @default 60_000
   */
  intervalMs?: number | undefined;
  /**
   * Slots of each interval that bulk requests (further pages of an iteration, writes of an outbox) may not use, in all processes together.
   * @default a tenth of `requests`
   */
  reserved?: number | undefined;
  /**
   * Requests of this process in flight at the same time.
   * @default 16
   */
  maxConcurrent?: number | undefined;
  /**
   * What happens while Redis cannot be reached. `"local"`: the process continues with a part of the limit, and warns;
   * all processes that cannot reach Redis together exceed the limit by at most one request each. Of processes that were
   * started without Redis, each uses a tenth: more than ten of these exceed it by more. `"fail"`: calls reject with a
   * `ConnectionError` after at most one second. Normal operation resumes when Redis can be reached again.
   * @default "local"
   */
  onStoreError?: "fail" | "local" | undefined;
  /**
   * Called once per outage of Redis.
   * @default process.emitWarning
   */
  onWarning?: ((message: string) => void) | undefined;
}

/**
 * Creates a rate limiter that several processes share through Redis: one limit, exact in every interval by Redis'
 * clock, and one pause after a 429. The queue, its priorities and `maxConcurrent` are per process. A request needs
 * about two scripts of 0.2 ms in Redis; reading the snapshot needs none.
 *
 * @example
 * import { Redis } from "ioredis";
 * import { InventoryClient } from "stocklot";
 * import { createRedisRateLimiter } from "stocklot/redis";
 *
 * const redis = new Redis("redis://127.0.0.1:6379");
 * const client = new InventoryClient({ rateLimiter: createRedisRateLimiter({ redis, key: "acme", requests: 100 }) });
 * @throws ConfigurationError if an option is wrong.
 */
export function createRedisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  checkConfiguration("createRedisRateLimiter", rateLimiterOptionsSchema(), options);
  const { redis, key, onStoreError = "local", onWarning = emitProcessWarning } = options;
  const settings = rateLimitSettings(options);
  const clock = new MonotonicClock();
  const timings = createHoldTimings(settings);
  const exchangeWithLedger = createLedgerExchange(redis, key, settings, timings);
  // A callback that throws or rejects has no effect.
  const warn = (message: string) =>
    void Promise.resolve(message)
      .then(onWarning)
      .catch(() => {});
  return createQueueingLimiter(settings, clock, (listener) =>
    createRedisSlots({ exchangeWithLedger, settings, timings, clock, onStoreError, warn, listener }),
  );
}

const rateLimiterOptionsSchema = lazy(() =>
  rateLimitSchema({
    mustLimit: true,
    others: {
      ...redisOptionsShape(),
      ...optionalFields({ onStoreError: z.enum(["local", "fail"]), onWarning: functionSchema() }),
    },
  }),
);

const emitProcessWarning = (message: string) => process.emitWarning(message, { type: "StocklotWarning" });
