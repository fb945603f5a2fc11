import { ConfigurationError } from "../errors/index.js";
import { messageOf } from "../errors/unknown-value.js";

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
export function checkRedis(title: string, { redis, key }: { redis?: unknown; key?: unknown }): void {
  const isClient =
    typeof redis === "object" &&
    redis !== null &&
    ["eval", "evalsha"].every((name) => typeof Reflect.get(redis, name) === "function");
  if (!isClient) throw new ConfigurationError(`${title}: redis must be an ioredis client`);
  if (key !== undefined && (typeof key !== "string" || key === "")) {
    throw new ConfigurationError(`${title}: key must be a string that is not empty`);
  }
}

const DEFAULT_KEY = "default";

/** The Redis key of one thing that is shared under a name. The braces keep all of it on one node of a Redis Cluster. */
export function keyName(key: string | undefined, what: string): string {
  // A brace within the key would end the hash tag.
  return `{stocklot:${(key ?? DEFAULT_KEY).replace(/[%{}]/g, encodeURIComponent)}}:${what}`;
}

/**
 * Redis' error without what was sent: ioredis attaches the command, and Redis quotes the arguments of a command that it
 * does not know. They may be a token or a password.
 */
export function bareError(error: unknown, sent: readonly string[] = []): Error {
  const [message = ""] = messageOf(error).split(/,? with args beginning with/i);
  const bare = new Error(quotesAny(message, sent) ? `${/^[A-Z]+/.exec(message)?.[0] ?? "an error"} of Redis` : message);
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    Object.assign(bare, { code: error.code });
  }
  return bare;
}

/** A part of what was sent that is this long is shown to nobody. */
const QUOTE_LENGTH = 6;

function quotesAny(message: string, sent: readonly string[]): boolean {
  for (let start = 0; start + QUOTE_LENGTH <= message.length; start += 1) {
    const part = message.slice(start, start + QUOTE_LENGTH);
    if (sent.some((value) => value.includes(part))) return true;
  }
  return false;
}
