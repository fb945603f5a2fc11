import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { TokenStore } from "../client/index.js";
import { checkConfiguration, lazy } from "../shared/schema.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { sleep } from "../shared/time/wait.js";
import {
  type RedisClient,
  readReply,
  redisKeyName,
  redisOptionsShape,
  runScript,
  TOKEN_TIMEOUT_MS,
} from "./redis-client.js";

/** A token that all processes with the same `key` share. */
export interface RedisTokenStoreOptions {
  /** Your own ioredis client (`Redis` or `Cluster`). It is never closed. */
  redis: RedisClient;
  /**
   * Name of the token; use one name per client ID. Processes with the same name use the same token. A token of another
   * client ID or service is not used, and the client logs a warning.
   * @default "default"
   */
  key?: string | undefined;
}

const GET = `return { redis.call('HGET', KEYS[1], 'token'), redis.call('HGET', KEYS[1], 'account'), redis.call('PTTL', KEYS[1]) }`;
const SET = `
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'account', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
`;
const DELETE = `if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
const LOCK = `return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`;
const UNLOCK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

const storedTokenSchema = lazy(() => z.tuple([z.string().nullable(), z.string().nullable(), z.coerce.number()]));

/**
 * How long a process keeps the lock, in ms. If it was killed or takes longer, another process requests a token, too.
 */
const LOCK_MS = 30_000;
const MIN_LOCK_RETRY_MS = 50;
const MAX_LOCK_RETRY_MS = 500;

/**
 * Stores the access token in Redis until it expires. The token is not encrypted: whoever can read this Redis can use
 * it. Processes that need a token at the same time share one token request, unless the request takes longer than 30 s.
 * If Redis fails, the client logs a warning and requests a token of its own.
 *
 * @example
 * import { Redis } from "ioredis";
 * import { InventoryClient } from "stocklot";
 * import { createRedisTokenStore } from "stocklot/redis";
 *
 * const redis = new Redis("redis://127.0.0.1:6379");
 * const client = new InventoryClient({
 *   tokenStore: createRedisTokenStore({ redis, key: "acme" }),
 * });
 * @throws ConfigurationError if an option is wrong.
 */
export function createRedisTokenStore(options: RedisTokenStoreOptions): TokenStore {
  const { redis, key } = checkConfiguration("createRedisTokenStore", tokenStoreOptionsSchema(), options);
  const name = redisKeyName(key, "token");
  const run = (script: string, values: readonly (string | number)[], of = name) =>
    runScript(redis, script, [of], values, TOKEN_TIMEOUT_MS);
  return {
    async get(account = "") {
      const [accessToken, storedFor, remainingMs] = readReply(storedTokenSchema(), await run(GET, []));
      if (accessToken === null || remainingMs <= 0) return undefined;
      if (storedFor !== account) throw new Error(OTHER_ACCOUNT_MESSAGE);
      // Redis returns how long the token is still valid: the clock of the process that stored it may be wrong.
      return { accessToken, expiresAt: Date.now() + remainingMs };
    },
    async set({ accessToken, expiresAt }, account = "") {
      const remainingMs = Math.floor(expiresAt - Date.now());
      if (remainingMs > 0) await run(SET, [accessToken, account, remainingMs]);
    },
    async delete(staleAccessToken) {
      await run(DELETE, [staleAccessToken]);
    },
    async lock(signal) {
      const lockName = `${name}:lock`;
      const holder = randomBytes(9).toString("base64url");
      const startedAt = monotonicNowMs();
      for (let delayMs = MIN_LOCK_RETRY_MS; ; delayMs = Math.min(MAX_LOCK_RETRY_MS, delayMs * 1.5)) {
        signal.throwIfAborted();
        if (Number(await run(LOCK, [holder, LOCK_MS], lockName)) === 1) break;
        if (monotonicNowMs() - startedAt > LOCK_MS) throw new Error("another process requests a token for too long");
        await sleep(delayMs * (0.5 + Math.random()), signal);
      }
      return async () => void (await run(UNLOCK, [holder], lockName));
    },
  };
}

const OTHER_ACCOUNT_MESSAGE =
  "the token in Redis is for another service or client ID. Pass another `key` to createRedisTokenStore for each of them";

const tokenStoreOptionsSchema = lazy(() => z.strictObject(redisOptionsShape()));
