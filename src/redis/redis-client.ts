import { ConfigurationError } from "../errors/index.js";

/**
 * What is used of the caller's ioredis client, a `Redis` or a `Cluster`. It stays the caller's: it is never closed,
 * duplicated, subscribed or listened to.
 */
export interface RedisClient {
  /** Runs a script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script that Redis has seen, by its SHA-1; rejects with `NOSCRIPT` when it has not. */
  evalsha(hash: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** Throws a `ConfigurationError` unless these are an ioredis client and a name for keys. */
export function checkRedis(title: string, { redis, key }: { redis?: unknown; key?: unknown }): void {
  const isClient =
    typeof redis === "object" &&
    redis !== null &&
    ["eval", "evalsha"].every((name) => typeof Reflect.get(redis, name) === "function");
  if (!isClient) throw new ConfigurationError(`${title}: redis must be an ioredis client`);
  if (key !== undefined && (typeof key !== "string" || key === "")) {
    throw new ConfigurationError(`${title}: key must be text that is not empty`);
  }
}

const DEFAULT_KEY = "default";

/** The name of what is kept under a key. The braces keep all of it on one node of a Redis Cluster. */
export function keyName(key: string | undefined, what: string): string {
  // A brace within the key would end the hash tag.
  return `{stocklot:${(key ?? DEFAULT_KEY).replace(/[%{}]/g, encodeURIComponent)}}:${what}`;
}

/** Redis' error without what ioredis hangs on it: the command, whose arguments may be a token or a password. */
export function bareError(error: unknown): Error {
  const bare = new Error(error instanceof Error ? error.message : String(error));
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    Object.assign(bare, { code: error.code });
  }
  return bare;
}
