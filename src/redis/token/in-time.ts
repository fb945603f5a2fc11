import { startTimer } from "../../time/timer.js";

const REPLY_TIMEOUT_MS = 1_000;

/** The reply of Redis, or an error if it takes too long: a client that has lost its connection queues commands. */
export function inTime<T>(reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = startTimer(REPLY_TIMEOUT_MS, () =>
      reject(new Error(`Redis has not replied for ${REPLY_TIMEOUT_MS} ms`)),
    );
    reply.then(resolve, reject).finally(stop);
  });
}
