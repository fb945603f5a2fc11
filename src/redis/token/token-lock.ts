import { randomBytes } from "node:crypto";
import * as z from "zod";
import { lazy } from "../../schemas/field.js";
import { monotonicNowMs, startTimer } from "../../time/timer.js";
import type { RedisClient } from "../redis-client.js";
import { inTime } from "../reply-timeout.js";
import { Script } from "../script.js";

/** A lock that its holder has not renewed for this long is free: the holder is dead. */
const LOCK_MS = 5_000;
const RENEW_MS = 1_500;
/** Bounds of the time between two attempts to take it. */
const FIRST_TRY_MS = 50;
const LONGEST_TRY_MS = 500;
/** A process that holds the lock this long is stuck: the longest pause after most 429s is shorter. */
const LONGEST_WAIT_MS = 120_000;

/** Whether the lock was taken, and else when it expires. */
const TAKE = new Script(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return { 1, 0 } end
return { 0, redis.call('PTTL', KEYS[1]) }
`);
const RENEW = new Script(
  `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0`,
);
const RELEASE = new Script(`return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`);

const takenSchema = lazy(() => z.tuple([z.coerce.number(), z.coerce.number()]));

/**
 * Waits for the lock and returns what releases it. It is held for as long as it takes, and passes to another process if
 * its holder has died. Rejects with the signal's reason, if Redis does not reply, and if no process of this package can
 * be the one that holds the lock, or it holds it for too long: the caller then goes on without.
 */
export async function takeLock(redis: RedisClient, name: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const holder = randomBytes(9).toString("base64url");
  const startedAt = monotonicNowMs();
  for (let delayMs = FIRST_TRY_MS; ; delayMs = Math.min(LONGEST_TRY_MS, delayMs * 1.5)) {
    signal.throwIfAborted();
    const [isTaken, expiresInMs] = takenSchema().parse(await inTime(TAKE.run(redis, [name], [holder, LOCK_MS])));
    if (isTaken === 1) break;
    const waitedMs = monotonicNowMs() - startedAt;
    // Ours always expire, and soon; -2 is a key that has just gone.
    const isForeign = expiresInMs === -1 || expiresInMs > LOCK_MS;
    if (waitedMs > (isForeign ? LOCK_MS : LONGEST_WAIT_MS)) {
      const reason = isForeign
        ? "does not expire soon, so it is not one of stocklot"
        : "is held by a process that is stuck";
      throw new Error(`the key ${name} ${reason}: delete it, so that processes share token requests again`);
    }
    await sleep(delayMs * (0.5 + Math.random()), signal);
  }
  const timer = setInterval(() => {
    // If Redis fails now, the lock expires; then another process may request a token too, which does no harm.
    RENEW.run(redis, [name], [holder, LOCK_MS]).catch(() => {});
  }, RENEW_MS);
  timer.unref?.();
  return async () => {
    clearInterval(timer);
    await inTime(RELEASE.run(redis, [name], [holder]));
  };
}

function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      stop();
      reject(signal.reason);
    };
    const stop = startTimer(delayMs, () => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
    signal.addEventListener("abort", abort, { once: true });
  });
}
