import { createHash } from "node:crypto";
import { messageOf } from "../errors/unknown-value.js";
import { bareError, type RedisClient } from "./redis-client.js";

/** Clients whose server, proxy or user has no EVALSHA. */
const withoutEvalsha = new WeakSet<RedisClient>();

/** A Lua script, sent as a whole only to a server that has not seen it yet, or that has no EVALSHA. */
export class Script {
  readonly #text: string;
  readonly #hash: string;

  constructor(text: string) {
    this.#text = text;
    this.#hash = createHash("sha1").update(text).digest("hex");
  }

  async run(redis: RedisClient, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    const sent = values.map(String);
    const rest = [...keys, ...sent];
    try {
      if (!withoutEvalsha.has(redis)) {
        try {
          return await redis.evalsha(this.#hash, keys.length, ...rest);
        } catch (error) {
          const message = messageOf(error);
          const isMissing = /unknown command|evalsha/i.test(message);
          if (isMissing) withoutEvalsha.add(redis);
          else if (!message.startsWith("NOSCRIPT")) throw error;
        }
      }
      return await redis.eval(this.#text, keys.length, ...rest);
    } catch (error) {
      throw bareError(error, sent);
    }
  }
}
