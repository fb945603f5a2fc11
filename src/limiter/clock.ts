import { startTimer } from "../time/timer.js";

/** Node may fire a timer this much early by the clock. */
const TIMER_PRECISION_MS = 2;

/**
 * A monotonic clock that believes its timers: where a test drives the timers but not the clock, a timer that fires early
 * moves this clock forward. So waiting ends when the timers say so, with a mocked clock or without.
 */
export class Clock {
  #aheadMs = 0;

  now(): number {
    return performance.now() + this.#aheadMs;
  }

  /** Calls back when the time has come, and returns what stops it. */
  at(time: number, callback: () => void): () => void {
    let stop = () => {};
    const arm = () => {
      stop = startTimer(Math.ceil(time - this.now()), () => {
        const earlyMs = time - this.now();
        if (earlyMs > 0 && earlyMs <= TIMER_PRECISION_MS) return arm();
        if (earlyMs > 0) this.#aheadMs += earlyMs;
        callback();
      });
    };
    arm();
    return () => stop();
  }
}
