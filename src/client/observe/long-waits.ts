import { MonotonicClock } from "../../shared/time/clock.js";

/** A shorter wait is not reported. */
const LONG_WAIT_MS = 1_500;

/** Times are those of the reporter's clock. */
interface Wait {
  readonly since: number;
  /** The earliest end, as far as is known. */
  readonly expectedAt: number;
}

/** Reports each long wait once. One timer serves all waits: it is set for the one that began first. */
export class LongWaitReporter<Waiter> {
  readonly #report: (waiter: Waiter, waitedMs: number, expectedMs: number) => void;
  readonly #clock = new MonotonicClock();
  /** Waits that were not reported, in the order in which they began. */
  readonly #waits = new Map<Waiter, Wait>();
  readonly #setAlarm = this.#clock.createAlarm(() => this.#reportLong());

  constructor(report: (waiter: Waiter, waitedMs: number, expectedMs: number) => void) {
    this.#report = report;
  }

  /** A call begins to wait, at least `expectedMs` as far as is known. Ends its previous wait. */
  begin(waiter: Waiter, expectedMs: number): void {
    const since = this.#clock.now();
    this.#waits.delete(waiter);
    this.#waits.set(waiter, { since, expectedAt: since + expectedMs });
    this.#setTimer();
  }

  /** A call waits no longer. */
  end(waiter: Waiter): void {
    if (this.#waits.delete(waiter)) this.#setTimer();
  }

  #setTimer(): void {
    const [first] = this.#waits.values();
    this.#setAlarm(first && first.since + LONG_WAIT_MS);
  }

  #reportLong(): void {
    const now = this.#clock.now();
    for (const [waiter, { since, expectedAt }] of this.#waits) {
      if (since + LONG_WAIT_MS > now) break;
      this.#waits.delete(waiter);
      this.#report(waiter, now - since, expectedAt - now);
    }
    this.#setTimer();
  }
}
