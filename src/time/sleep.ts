import { onAbort } from "./abort.js";
import { startTimer } from "./timer.js";

/** Resolves after a time, or when the signal aborts. */
export function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const stopListening = signal === undefined ? () => {} : onAbort(signal, () => finish());
    const cancelTimer = startTimer(delayMs, () => finish());
    const finish = () => {
      cancelTimer();
      stopListening();
      resolve();
    };
  });
}
