/**
 * One limit, one pause and one token for many processes, through the caller's own ioredis client.
 *
 * @module stocklot/redis
 */
// Everything else is private.
export type { RedisClient } from "./redis-client.js";
export { createRedisRateLimiter, type RedisRateLimiterOptions } from "./redis-rate-limiter.js";
export { createRedisTokenStore, type RedisTokenStoreOptions } from "./redis-token-store.js";
