import { ConfigurationError } from "../errors/index.js";

/**
 * What is used of the caller's ioredis client, a `Redis` or a `Cluster`. It stays the caller's: it is never closed,
 * duplicated, subscribed or listened to.
 */
export interface RedisClient {
  /** Runs a script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script that Redis has seen, by its SHA-1; rejects with `NOSCRIPT` if it has not. */
  evalsha(hash: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** Throws a `ConfigurationError` unless these are an ioredis client and a name for keys. */
export function checkRedisOptions(title: string, { redis, key }: { redis?: unknown; key?: unknown }): void {
  const isClient =
    typeof redis === "object" &&
    redis !== null &&
    ["eval", "evalsha"].every((name) => typeof Reflect.get(redis, name) === "function");
  if (!isClient) throw new ConfigurationError(`${title}: redis must be an ioredis client`);
  if (key !== undefined && (typeof key !== "string" || key === "")) {
    throw new ConfigurationError(`${title}: key must be a non-empty string`);
  }
}

const DEFAULT_KEY_NAME = "default";

/** The Redis key of one thing that is shared under a name. The braces keep all of it on one node of a Redis Cluster. */
export function redisKeyName(key: string | undefined, what: string): string {
  // A brace within the key would end the hash tag.
  return `{stocklot:${(key ?? DEFAULT_KEY_NAME).replace(/[%{}]/g, encodeURIComponent)}}:${what}`;
}
