import { type Abortable, onAbort } from "./abort.js";
import { startTimer } from "./clock.js";

/** Resolves after a time, or when one of the signals aborts. */
export function sleep(delayMs: number, ...signals: readonly (Abortable | undefined)[]): Promise<void> {
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

/** Ends a wait by calling back with an error. Returns a function that removes the callback. */
export type WaitEnd = (reject: (error: unknown) => void) => () => void;

/** Returns the promise's result, or rejects as soon as one of the ends calls back. A later rejection of the promise is ignored. */
export function race<T>(promise: Promise<T>, ...ends: readonly WaitEnd[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const stops: (() => void)[] = [];
    let isEnded = false;
    const finish = () => {
      isEnded = true;
      for (const stop of stops.splice(0)) stop();
    };
    const fail = (error: unknown) => {
      finish();
      reject(error);
    };
    promise.then(resolve, reject).finally(finish);
    for (const end of ends) if (!isEnded) stops.push(end(fail));
    if (isEnded) finish();
  });
}

/** Ends a wait with the signal's reason. */
export function whenAborted(signal: Abortable): WaitEnd {
  return (reject) => {
    const abort = () => reject(signal.reason);
    if (!signal.aborted) return onAbort(signal, abort);
    abort();
    return () => {};
  };
}

/** Returns the promise's result, or rejects with the signal's reason as soon as the signal aborts. A later rejection is ignored. */
export const untilAborted = <T>(signal: Abortable, promise: Promise<T>): Promise<T> =>
  race(promise, whenAborted(signal));

/** The number of steps in which a time limit is counted. */
const STEPS = 20;

/**
 * Ends a wait after a time limit. Counts the limit in steps, so that an event loop that was blocked gets a chance to deliver the
 * result before the limit fires.
 */
export function afterMs(limitMs: number, createError: () => Error): WaitEnd {
  return (reject) => {
    let stop = () => {};
    const count = (steps: number) => {
      stop = startTimer(limitMs / STEPS, () => (steps < STEPS ? count(steps + 1) : reject(createError())));
    };
    count(1);
    return () => stop();
  };
}
