import { randomBytes } from "node:crypto";
import * as z from "zod";
import { lazy } from "../../schemas/field.js";
import { monotonicNowMs } from "../../time/clock.js";
import { sleep } from "../../time/wait.js";
import type { RedisClient } from "../redis-client.js";
import { createRedisScript, withReplyTimeout } from "../script.js";

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
export async function takeTokenLock(
  redis: RedisClient,
  name: string,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
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
