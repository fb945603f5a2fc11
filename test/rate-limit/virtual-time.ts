import { vi } from "vitest";
import { enterOwnContext } from "../support/own-context.js";

interface Timer {
  id: number;
  time: number;
  callback: () => void;
}

/** Captured before any test puts something in its place. */
const real = {
  setImmediate: globalThis.setImmediate,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  now: performance.now.bind(performance),
};

/**
 * Time that only goes on when nothing else is left to do: it jumps from timer to timer, so that hours pass in an
 * instant and every run with the same numbers is the same. Timers may be made to fire early or late, as real ones do.
 */
export class VirtualTime {
  #now: number;
  #ids = 0;
  #timers: Timer[] = [];

  /** `jitter` returns by how many ms the timer that is due at `time` fires late, or early if negative. */
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
   * Puts this time in the place of the real one for what the calling test does, until `vi.unstubAllGlobals()`. A limiter
   * of an earlier file that still looks for its Redis would never let it end.
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

  /** Runs until no timer is left, or until the given time. */
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
    // Node rounds up to 1 ms and never fires more than 1 ms early.
    const due = this.#now + Math.max(1, delayMs);
    this.#insert({ id, time: Math.max(this.#now + 0.01, due + this.jitter(due)), callback });
    return id;
  }

  #insert(timer: Timer): void {
    const index = this.#timers.findIndex(({ time }) => time > timer.time);
    this.#timers.splice(index < 0 ? this.#timers.length : index, 0, timer);
  }
}

/** All that was due without time passing has been done. */
function settled(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}
