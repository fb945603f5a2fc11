import { now, startTimer } from "../time/timer.js";

/** Node may fire a timer this much early by the clock. */
const TIMER_PRECISION_MS = 3;

/**
 * A monotonic clock that believes its timers: where a test drives the timers but not the clock, a timer that fires early
 * moves this clock forward. So waiting ends when the timers say so, with a mocked clock or without; and where a test puts
 * a clock of its own in the place of the real one, or takes it away, this one goes on from where it was.
 */
export class MonotonicClock {
  #offsetMs = 0;
  #last = -Infinity;

  now(): number {
    const time = now() + this.#offsetMs;
    if (time < this.#last) this.#offsetMs += this.#last - time;
    else this.#last = time;
    return this.#last;
  }

  /** Calls back when the time has come, and returns what stops it. */
  at(time: number, callback: () => void): () => void {
    let stop = () => {};
    const arm = () => {
      const armedAt = this.now();
      stop = startTimer(Math.ceil(time - armedAt), () => {
        const firedAt = this.now();
        const earlyMs = time - firedAt;
        // A clock that stands still is mocked, however short the rest is.
        if (earlyMs > 0 && earlyMs <= TIMER_PRECISION_MS && firedAt > armedAt) return arm();
        if (earlyMs > 0) this.#offsetMs += earlyMs;
        callback();
      });
    };
    arm();
    return () => stop();
  }
}
