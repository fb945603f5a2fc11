import { createHash } from "node:crypto";
import { bareError, type RedisClient } from "./redis-client.js";

/** A Lua script, sent as a whole only to a server that has not seen it yet. */
export class Script {
  readonly #text: string;
  readonly #hash: string;

  constructor(text: string) {
    this.#text = text;
    this.#hash = createHash("sha1").update(text).digest("hex");
  }

  async run(redis: RedisClient, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    const rest = [...keys, ...values.map(String)];
    try {
      return await redis.evalsha(this.#hash, keys.length, ...rest).catch((error: unknown) => {
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        return redis.eval(this.#text, keys.length, ...rest);
      });
    } catch (error) {
      throw bareError(error);
    }
  }
}
