export const DAY_MS = 86_400_000;

/** The longest timer, in ms. Node fires a longer timer immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** How many ms early a timer of Node may fire, by the clock. */
const MAX_TIMER_EARLINESS_MS = 3;

/** The monotonic clock, in ms. Looked up at each call, as the timers are, so that the fake clock of a test drives it. */
export const monotonicNowMs = () => performance.now();

/**
 * Calls back after a time of any length, `Infinity` included. Returns a function that stops the timer. The global
 * `setTimeout` is looked up at each call, so that the fake timers of a test drive it.
 */
export function startTimer(delayMs: number, callback: () => void): () => void {
  if (delayMs === Infinity) return () => {};
  let timer: ReturnType<typeof setTimeout>;
  const arm = (remainingMs: number) => {
    const stepMs = Math.min(remainingMs, MAX_TIMER_MS);
    timer = setTimeout(() => (remainingMs > stepMs ? arm(remainingMs - stepMs) : callback()), stepMs);
  };
  arm(Math.max(0, delayMs));
  return () => clearTimeout(timer);
}

/**
 * A monotonic clock that follows its timers. If a test mocks the timers but not the clock, a timer that fires early moves
 * this clock forward, so waiting ends when the timer fires. If a test installs or removes a mocked clock, this clock
 * continues from its last time.
 */
export class MonotonicClock {
  #offsetMs = 0;
  #last = -Infinity;

  now(): number {
    const time = monotonicNowMs() + this.#offsetMs;
    if (time < this.#last) this.#offsetMs += this.#last - time;
    else this.#last = time;
    return this.#last;
  }

  /** Calls back at a time of this clock. Returns a function that stops the timer. */
  startTimerAt(time: number, callback: () => void): () => void {
    let stop = () => {};
    const arm = () => {
      const armedAt = this.now();
      stop = startTimer(Math.ceil(time - armedAt), () => {
        const firedAt = this.now();
        const earlyMs = time - firedAt;
        // A clock that did not move at all is mocked, even if only little time was left.
        if (earlyMs > 0 && earlyMs <= MAX_TIMER_EARLINESS_MS && firedAt > armedAt) return arm();
        if (earlyMs > 0) this.#offsetMs += earlyMs;
        callback();
      });
    };
    arm();
    return () => stop();
  }

  /** Returns a function that sets when to call back next, as a time of this clock; `undefined` for never. */
  createAlarm(callback: () => void): (time: number | undefined) => void {
    let timer: { time: number; stop: () => void } | undefined;
    const ring = () => {
      timer = undefined;
      callback();
    };
    return (time) => {
      if (time === timer?.time) return;
      timer?.stop();
      timer = time === undefined ? undefined : { time, stop: this.startTimerAt(time, ring) };
    };
  }
}
