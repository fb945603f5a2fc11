import { startTimer } from "../time/timer.js";

/** If Redis does not reply for this long, it is unreachable: a client that has lost its connection queues commands. */
const REPLY_TIMEOUT_MS = 1_000;
const TIMER_STEP_MS = 50;

/**
 * Calls back with an error if it is not stopped in time. Counts in steps, since the reply may already be here when the
 * timers of an event loop that was blocked fire.
 */
export function startReplyTimeout(callback: (error: Error) => void): () => void {
  let stop = () => {};
  const wait = (remainingMs: number) => {
    if (remainingMs <= 0) return callback(new Error(`Redis has not replied for ${REPLY_TIMEOUT_MS} ms`));
    stop = startTimer(TIMER_STEP_MS, () => wait(remainingMs - TIMER_STEP_MS));
  };
  wait(REPLY_TIMEOUT_MS);
  return () => stop();
}

/** The reply of Redis, or an error if it takes too long. */
export function withReplyTimeout<T>(reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = startReplyTimeout(reject);
    reply.then(resolve, reject).finally(stop);
  });
}
