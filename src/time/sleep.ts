import { onAbort } from "./abort.js";
import { startTimer } from "./timer.js";

/** Resolves after a time, or when one of the signals aborts. */
export function sleep(delayMs: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    const stops: (() => void)[] = [];
    const finish = () => {
      for (const stop of stops) stop();
      resolve();
    };
    for (const signal of signals) {
      if (signal?.aborted) return finish();
      if (signal) stops.push(onAbort(signal, finish));
    }
    stops.push(startTimer(delayMs, finish));
  });
}
