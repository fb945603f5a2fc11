import { createHash } from "node:crypto";
import { afterMs, race } from "../shared/time/wait.js";
import { messageOf } from "../shared/unknown.js";
import type { RedisClient } from "./redis-client.js";

/** Clients whose server, proxy or user has no EVALSHA. */
const clientsWithoutEvalsha = new WeakSet<RedisClient>();

/** A Lua script, sent as a whole only to a server that has not seen it yet, or that has no EVALSHA. */
export function createRedisScript(text: string) {
  const hash = createHash("sha1").update(text).digest("hex");
  return async (
    redis: RedisClient,
    keys: readonly string[],
    values: readonly (string | number)[],
  ): Promise<unknown> => {
    const sent = values.map(String);
    const rest = [...keys, ...sent];
    try {
      if (!clientsWithoutEvalsha.has(redis)) {
        try {
          return await redis.evalsha(hash, keys.length, ...rest);
        } catch (error) {
          const message = messageOf(error);
          const isMissing = /unknown command|evalsha/i.test(message);
          if (isMissing) clientsWithoutEvalsha.add(redis);
          else if (!message.startsWith("NOSCRIPT")) throw error;
        }
      }
      return await redis.eval(text, keys.length, ...rest);
    } catch (error) {
      throw errorWithoutArguments(error, sent);
    }
  };
}

/**
 * Redis' error without what was sent: ioredis attaches the command, and Redis quotes the arguments of a command that it
 * does not know. They may be a token or a password.
 */
export function errorWithoutArguments(error: unknown, sent: readonly string[] = []): Error {
  const [message = ""] = messageOf(error).split(/,? with args beginning with/i);
  const bare = new Error(
    quotesAnyOf(message, sent) ? `${/^[A-Z]+/.exec(message)?.[0] ?? "an error"} of Redis` : message,
  );
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    Object.assign(bare, { code: error.code });
  }
  return bare;
}

/** A part of the sent data that is this long is never shown. */
const MIN_QUOTE_LENGTH = 6;

function quotesAnyOf(message: string, sent: readonly string[]): boolean {
  for (let start = 0; start + MIN_QUOTE_LENGTH <= message.length; start += 1) {
    const part = message.slice(start, start + MIN_QUOTE_LENGTH);
    if (sent.some((value) => value.includes(part))) return true;
  }
  return false;
}

/** If Redis does not reply for this long, it is unreachable: a client that has lost its connection queues commands. */
const REPLY_TIMEOUT_MS = 1_000;

/** Ends a wait for Redis. */
export const afterReplyTimeout = afterMs(
  REPLY_TIMEOUT_MS,
  () => new Error(`Redis has not replied for ${REPLY_TIMEOUT_MS} ms`),
);

/** The reply of Redis, or an error if it takes too long. */
export const withReplyTimeout = <T>(reply: Promise<T>): Promise<T> => race(reply, afterReplyTimeout);
