import type * as z from "zod";
import { objectWithMethodsSchema } from "../shared/option.js";
import { string } from "../shared/schema.js";
import { afterMs, race } from "../shared/time/wait.js";
import { messageOf } from "../shared/unknown.js";

/**
 * The part of the caller's ioredis client that is used, a `Redis` or a `Cluster`. It stays the caller's: it is never closed,
 * duplicated, subscribed or listened to.
 */
export interface RedisClient {
  /** Runs a script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** The options that say where something is shared. */
export const redisOptionsShape = () => ({
  redis: objectWithMethodsSchema<RedisClient>(["eval"], "must be an ioredis client"),
  key: string().min(1).optional(),
});

/** The Redis key of one thing that is shared under a name. The braces keep all of it on one node of a Redis Cluster. */
export function redisKeyName(key = "default", what: string): string {
  // A brace within the key would end the hash tag.
  return `{stocklot:${key.replace(/[%{}]/g, encodeURIComponent)}}:${what}`;
}

/**
 * If Redis does not reply for this long, it is unreachable: a client that has lost its connection queues commands. Together
 * less than the second in which a call without Redis fails. Without the token store, a call still has the limiter to ask.
 */
export const SLOTS_TIMEOUT_MS = 600;
export const TOKEN_TIMEOUT_MS = 300;

/** A reply in the form that its script returns. The error is ours: an application may have changed the messages of zod. */
export function readReply<T>(schema: z.ZodType<T>, reply: unknown): T {
  const read = schema.safeParse(reply, { error: () => "" });
  if (read.success) return read.data;
  throw new Error("Redis has replied in another form than the script");
}

/** Redis has replied with an error. */
export class RedisRefusal extends Error {}

/** Arguments that are shorter are no secrets. */
const MIN_SECRET_LENGTH = 8;
const MAX_REPLY_LENGTH = 200;

/**
 * The error that Redis has replied with, in its words. It may quote the arguments of a command, cut off, which may be a token:
 * they are left out.
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
