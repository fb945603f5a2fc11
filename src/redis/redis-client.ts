import { string } from "../shared/field.js";
import { objectWithMethodsSchema, requiredOption } from "../shared/option.js";

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

/** The options that say where something is shared. */
export const redisOptionsShape = () => ({
  redis: requiredOption(objectWithMethodsSchema<RedisClient>(["eval", "evalsha"], "must be an ioredis client")),
  key: string().min(1).optional(),
});

const DEFAULT_KEY_NAME = "default";

/** The Redis key of one thing that is shared under a name. The braces keep all of it on one node of a Redis Cluster. */
export function redisKeyName(key: string | undefined, what: string): string {
  // A brace within the key would end the hash tag.
  return `{stocklot:${(key ?? DEFAULT_KEY_NAME).replace(/[%{}]/g, encodeURIComponent)}}:${what}`;
}
