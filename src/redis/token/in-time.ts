import { startTimer } from "../../time/timer.js";

const PATIENCE_MS = 1_000;

/** What Redis answers, or an error when it takes too long: a client that has lost its connection queues commands. */
export function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = startTimer(PATIENCE_MS, () => reject(new Error(`Redis has not answered for ${PATIENCE_MS} ms`)));
    answer.then(resolve, reject).finally(stop);
  });
}
