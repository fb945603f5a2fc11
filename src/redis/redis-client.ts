import type * as z from "zod";
import { objectWithMethodsSchema } from "../shared/option.js";
import { string } from "../shared/schema.js";
import { afterMs, race } from "../shared/time/wait.js";
import { messageOf } from "../shared/unknown.js";

/**
 * The part of the caller's ioredis client (`Redis` or `Cluster`) that is used. The client is never closed or
 * duplicated, and gets no subscriptions and no listeners.
 */
export interface RedisClient {
  /** Runs a script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** The options that name what is shared, and the Redis in which it is stored. */
export const redisOptionsShape = () => ({
  redis: objectWithMethodsSchema<RedisClient>(["eval"], "must be an ioredis client"),
  key: string().min(1).optional(),
});

/**
 * Returns a Redis key for data that is shared under a name. The braces keep all keys of the name on one node of a Redis
 * Cluster.
 */
export function redisKeyName(key = "default", what: string): string {
  // A brace within the key would end the hash tag.
  return `{stocklot:${key.replace(/[%{}]/g, encodeURIComponent)}}:${what}`;
}

/**
 * How long to wait for a reply of Redis, in ms. A client that has lost its connection queues commands instead of
 * failing. Both times together are less than a second, because a call asks the token store and then the limiter, and
 * must fail within a second.
 */
export const SLOTS_TIMEOUT_MS = 600;
export const TOKEN_TIMEOUT_MS = 300;

/**
 * Returns a reply in the form that its script returns. The error has no message of zod, because an application may have
 * changed them.
 */
export function readReply<T>(schema: z.ZodType<T>, reply: unknown): T {
  const read = schema.safeParse(reply, { error: () => "" });
  if (read.success) return read.data;
  throw new Error("the reply of Redis does not have the form that the script returns");
}

/** Redis has replied with an error. */
export class RedisRefusal extends Error {}

/** The length from which an argument may be a secret. */
const MIN_SECRET_LENGTH = 8;
const MAX_REPLY_LENGTH = 200;

/**
 * Returns the message of an error with which Redis has replied, without the arguments of the command. Redis may quote
 * arguments, even only a part of them, and an argument may be a token.
 */
function quotedReply(reply: string, values: readonly string[]): string {
  const [line = ""] = reply.replace(/,? with args beginning with.*/s, "").split("\n");
  const secrets = values.filter((value) => value.length >= MIN_SECRET_LENGTH);
  const isPart = (quoted: string) => quoted !== "" && secrets.some((secret) => secret.includes(quoted));
  return secrets
    .reduce((text, secret) => text.replaceAll(secret, "[redacted]"), line)
    .replace(/(['"`])(.*?)\1/g, (whole, quote, quoted) => (isPart(quoted) ? `${quote}[redacted]${quote}` : whole))
    .slice(0, MAX_REPLY_LENGTH);
}

/**
 * Runs a script.
 *
 * @throws RedisRefusal if Redis replies with an error; another error if it does not reply. Neither shows what was sent.
 */
export async function runScript(
  redis: RedisClient,
  script: string,
  keys: readonly string[],
  values: readonly (string | number)[],
  timeoutMs: number,
): Promise<unknown> {
  const noReply = () => new Error(`Redis has not replied for ${timeoutMs} ms`);
  const reply = (async () => redis.eval(script, keys.length, ...keys, ...values.map(String)))();
  try {
    return await race(reply, afterMs(timeoutMs, noReply));
  } catch (error) {
    if (!(error instanceof Error && error.name === "ReplyError")) throw new Error(messageOf(error));
    throw new RedisRefusal(quotedReply(error.message, values.map(String)));
  }
}
