import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { TokenStore } from "../client/index.js";
import { checkConfiguration } from "../shared/check.js";
import { lazy, string } from "../shared/field.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { sleep } from "../shared/time/wait.js";
import { type RedisClient, redisKeyName, redisOptionsShape } from "./redis-client.js";
import { createRedisScript, withReplyTimeout } from "./script.js";
import { createTokenCipher } from "./token-cipher.js";

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

/** A lock that its holder has not renewed for this long is free: the holder is dead. */
const LOCK_EXPIRY_MS = 5_000;
const LOCK_RENEWAL_INTERVAL_MS = 1_500;
/** Bounds of the time between two attempts to take it. */
const MIN_LOCK_RETRY_MS = 50;
const MAX_LOCK_RETRY_MS = 500;

/** Whether the lock was taken, and else when it expires. */
const takeLock = createRedisScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return { 1, 0 } end
return { 0, redis.call('PTTL', KEYS[1]) }
`);
const renewLock = createRedisScript(
  `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0`,
);
const releaseLock = createRedisScript(
  `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`,
);

const takeLockReplySchema = lazy(() => z.tuple([z.coerce.number(), z.coerce.number()]));

/**
 * Waits for the lock and returns a function that releases it. The lock is renewed until then, and passes to another
 * process if its holder has died. A holder that renews it is waited for: it may be waiting until the end of a pause. Rejects
 * with the signal's reason, if Redis does not reply, and if no process of this package can be the one that holds the lock:
 * the caller then continues without the lock.
 */
async function takeTokenLock(redis: RedisClient, name: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const holder = randomBytes(9).toString("base64url");
  const startedAt = monotonicNowMs();
  for (let delayMs = MIN_LOCK_RETRY_MS; ; delayMs = Math.min(MAX_LOCK_RETRY_MS, delayMs * 1.5)) {
    signal.throwIfAborted();
    const [isTaken, expiresInMs] = takeLockReplySchema().parse(
      await withReplyTimeout(takeLock(redis, [name], [holder, LOCK_EXPIRY_MS])),
    );
    if (isTaken === 1) break;
    // Ours always expire, and soon; -2 is a key that has just gone.
    const isForeign = expiresInMs === -1 || expiresInMs > LOCK_EXPIRY_MS;
    if (isForeign && monotonicNowMs() - startedAt > LOCK_EXPIRY_MS) {
      const problem = `the key ${name} does not expire soon, so it is not one of stocklot`;
      throw new Error(`${problem}. Delete it, so that processes share token requests again.`);
    }
    await sleep(delayMs * (0.5 + Math.random()), signal);
  }
  const timer = setInterval(() => {
    // If Redis fails now, the lock expires; then another process may request a token too, which does no harm.
    renewLock(redis, [name], [holder, LOCK_EXPIRY_MS]).catch(() => {});
  }, LOCK_RENEWAL_INTERVAL_MS);
  timer.unref?.();
  return async () => {
    clearInterval(timer);
    await withReplyTimeout(releaseLock(redis, [name], [holder]));
  };
}
