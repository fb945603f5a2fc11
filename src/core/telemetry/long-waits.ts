import { MonotonicClock } from "../../time/clock.js";
import type { Call } from "../call.js";

/** A shorter wait is not reported. */
const LONG_WAIT_MS = 1_500;

type ReportLongWait = (call: Call, waitedMs: number, expectedMs: number) => void;

/** Reports each long wait once. One timer serves all waits: it is set for the one that began first. */
export class LongWaitReporter {
  readonly #report: ReportLongWait;
  readonly #clock = new MonotonicClock();
  /** Calls whose wait was not reported, in the order in which they began to wait. */
  readonly #calls = new Set<Call>();
  #stopTimer: (() => void) | undefined;

  constructor(report: ReportLongWait) {
    this.#report = report;
  }

  /** A call begins to wait, at least `expectedMs` as far as is known. Ends its previous wait. */
  begin(call: Call, awaited: Call["waitingFor"], expectedMs: number): void {
    this.#calls.delete(call);
    call.waitingFor = awaited;
    call.waitingSince = this.#clock.now();
    call.expectedAt = call.waitingSince + expectedMs;
    this.#calls.add(call);
    this.#setTimer();
  }

  /** A call waits no longer. */
  end(call: Call): void {
    if (this.#calls.delete(call)) this.#setTimer();
  }

  #setTimer(): void {
    if (this.#calls.size === 0) {
      this.#stopTimer?.();
      this.#stopTimer = undefined;
    } else if (!this.#stopTimer) {
      const [first] = this.#calls;
      if (first)
        this.#stopTimer = this.#clock.startTimerAt(first.waitingSince + LONG_WAIT_MS, () => this.#reportLong());
    }
  }

  #reportLong(): void {
    this.#stopTimer = undefined;
    const now = this.#clock.now();
    for (const call of this.#calls) {
      if (call.waitingSince + LONG_WAIT_MS > now) break;
      this.#calls.delete(call);
      this.#report(call, now - call.waitingSince, call.expectedAt - now);
    }
    this.#setTimer();
  }
}
