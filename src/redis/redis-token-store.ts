import * as z from "zod";
import type { TokenStore } from "../auth/token-store.js";
import { checkConfiguration } from "../schemas/check.js";
import { lazy, string } from "../schemas/field.js";
import { type RedisClient, redisKeyName, redisOptionsShape } from "./redis-client.js";
import { createRedisScript, withReplyTimeout } from "./script.js";
import { createTokenCipher } from "./token/token-cipher.js";
import { takeTokenLock } from "./token/token-lock.js";

/** A token that all processes with the same `key` share. */
export interface RedisTokenStoreOptions {
  /** Your own ioredis client (`Redis` or `Cluster`). It is never closed. */
  redis: RedisClient;
  /**
   * Name of the token, one per client ID: processes with the same name use the same token. A token of another client ID or
   * service is not used; the client warns.
   * @default "default"
   */
  key?: string | undefined;
  /**
   * Encrypts the token in Redis (AES-256-GCM). Pass the same secret in all processes. Do not use the client secret:
   * while it is being rotated, processes could not read each other's token.
   * @default none: the token is stored as it is
   */
  secret?: string | undefined;
}

const getToken = createRedisScript(`return { redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]) }`);
const setToken = createRedisScript(`redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`);
/** Each value begins with the fingerprint of its token. */
const deleteToken = createRedisScript(`
local stored = redis.call('GET', KEYS[1])
if stored and string.sub(stored, 1, #ARGV[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`);

const getTokenReplySchema = lazy(() => z.tuple([z.string().nullable(), z.coerce.number()]));
/** What is stored, sealed. */
const storedTokenSchema = lazy(() => z.object({ accessToken: z.string(), account: z.string().optional() }));

/**
 * Stores the access token in Redis until it expires. Processes that need a token at the same time share one token
 * request. If Redis fails, or a foreign key has the name of the lock, the client warns and requests a token of its own.
 *
 * @example
 * import { Redis } from "ioredis";
 * import { InventoryClient } from "stocklot";
 * import { createRedisTokenStore } from "stocklot/redis";
 *
 * const redis = new Redis("redis://127.0.0.1:6379");
 * const client = new InventoryClient({ tokenStore: createRedisTokenStore({ redis, secret: process.env.TOKEN_SECRET }) });
 * @throws ConfigurationError if an option is wrong.
 */
export function createRedisTokenStore(options: RedisTokenStoreOptions): TokenStore {
  checkConfiguration("createRedisTokenStore", tokenStoreOptionsSchema(), options);
  const { redis, key, secret } = options;
  const name = redisKeyName(key, "token");
  const cipher = createTokenCipher(secret, name);
  return {
    async get(account) {
      const [stored, remainingMs] = getTokenReplySchema().parse(await withReplyTimeout(getToken(redis, [name], [])));
      if (stored === null || remainingMs <= 0) return undefined;
      const token = storedTokenSchema().parse(JSON.parse(await cipher.open(stored.slice(stored.indexOf(" ") + 1))));
      if ((token.account ?? account) !== account) throw new Error(OTHER_ACCOUNT_MESSAGE);
      // Redis returns how long the token is still valid: the clock of the process that stored it may be wrong.
      return { accessToken: token.accessToken, expiresAt: Date.now() + remainingMs };
    },
    async set({ accessToken, expiresAt }, account) {
      const remainingMs = Math.floor(expiresAt - Date.now());
      if (remainingMs <= 0) return;
      const value = `${await cipher.fingerprint(accessToken)} ${await cipher.seal(JSON.stringify({ accessToken, account }))}`;
      await withReplyTimeout(setToken(redis, [name], [value, remainingMs]));
    },
    async delete(staleAccessToken) {
      await withReplyTimeout(deleteToken(redis, [name], [await cipher.fingerprint(staleAccessToken)]));
    },
    lock: (signal) => takeTokenLock(redis, `${name}:lock`, signal),
  };
}

const OTHER_ACCOUNT_MESSAGE =
  "the token in Redis is for another service or client ID. Pass another `key` to createRedisTokenStore for each of them";

const tokenStoreOptionsSchema = lazy(() =>
  z.strictObject({ ...redisOptionsShape(), secret: string().min(1).optional() }),
);
