import { vi } from "vitest";
import { enterOwnContext } from "../support/own-context.js";

interface Timer {
  id: number;
  time: number;
  callback: () => void;
}

/** The real functions, captured before a test replaces them. */
const real = {
  setImmediate: globalThis.setImmediate,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  now: performance.now.bind(performance),
};

/**
 * Virtual time, which jumps to the next timer when nothing else is left to do. Hours pass in an instant, and runs with the same
 * numbers are identical. Timers can be made to fire early or late, like real timers.
 */
export class VirtualTime {
  #now: number;
  #ids = 0;
  #timers: Timer[] = [];

  /** `jitter` returns how late a timer that is due at `time` fires, in ms. A negative value means that it fires early. */
  constructor(
    readonly jitter: (time: number) => number = () => 0,
    startAt = 1_000,
  ) {
    this.#now = startAt;
  }

  now(): number {
    return this.#now;
  }

  get pendingTimers(): number {
    return this.#timers.length;
  }

  /**
   * Replaces real time by this time until `vi.unstubAllGlobals()`, but only for what the calling test does. Otherwise, a limiter
   * of an earlier test file that still tries to reach its Redis would set timers for ever.
   */
  install(): this {
    const isOwn = enterOwnContext();
    vi.stubGlobal("performance", { now: () => (isOwn() ? this.#now : real.now()) });
    vi.stubGlobal("setTimeout", (callback: () => void, delayMs = 0) =>
      isOwn() ? this.#set(callback, delayMs) : real.setTimeout(callback, delayMs),
    );
    vi.stubGlobal("clearTimeout", (timer: number | NodeJS.Timeout | undefined) => {
      if (typeof timer !== "number") return real.clearTimeout(timer);
      this.#timers = this.#timers.filter(({ id }) => id !== timer);
    });
    return this;
  }

  at(time: number, callback: () => void): void {
    this.#insert({ id: ++this.#ids, time: Math.max(time, this.#now), callback });
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.#now + ms, resolve));
  }

  /** Lets time pass until no timer is left, or until the given time. */
  async run(until = Number.POSITIVE_INFINITY): Promise<void> {
    await settled();
    for (let next = this.#timers[0]; next && next.time <= until; next = this.#timers[0]) {
      this.#timers.shift();
      this.#now = Math.max(this.#now, next.time);
      next.callback();
      await settled();
    }
    if (until !== Number.POSITIVE_INFINITY) this.#now = Math.max(this.#now, until);
  }

  #set(callback: () => void, delayMs: number): number {
    const id = ++this.#ids;
    // Node.js rounds delays up to 1 ms, and never fires more than 1 ms early.
    const due = this.#now + Math.max(1, delayMs);
    this.#insert({ id, time: Math.max(this.#now + 0.01, due + this.jitter(due)), callback });
    return id;
  }

  #insert(timer: Timer): void {
    const index = this.#timers.findIndex(({ time }) => time > timer.time);
    this.#timers.splice(index < 0 ? this.#timers.length : index, 0, timer);
  }
}

/** Resolves when everything has run that waits for no timer. */
function settled(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}
