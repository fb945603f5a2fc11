import { randomBytes } from "node:crypto";
import { startTimer } from "../../time/timer.js";
import type { RedisClient } from "../redis-client.js";
import { Script } from "../script.js";
import { inTime } from "./in-time.js";

/** A lock whose holder says nothing for so long is free: the holder is dead. */
const LOCK_MS = 5_000;
const RENEW_MS = 1_500;
/** Bounds of the time between two attempts to get it. */
const FIRST_TRY_MS = 50;
const LONGEST_TRY_MS = 500;

const TAKE = new Script(`return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`);
const RENEW = new Script(
  `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0`,
);
const RELEASE = new Script(`return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`);

/**
 * Waits for the lock and gives what releases it. It is held for as long as it takes, and passes to another when its
 * holder has died. Rejects with the signal's reason, or when Redis does not answer.
 */
export async function takeLock(redis: RedisClient, name: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const holder = randomBytes(9).toString("base64url");
  for (let delayMs = FIRST_TRY_MS; ; delayMs = Math.min(LONGEST_TRY_MS, delayMs * 1.5)) {
    signal.throwIfAborted();
    if ((await inTime(TAKE.run(redis, [name], [holder, LOCK_MS]))) === 1) break;
    await sleep(delayMs * (0.5 + Math.random()), signal);
  }
  const timer = setInterval(() => {
    // Where Redis fails now, the lock runs out; then another process may ask for a token too, which does no harm.
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
