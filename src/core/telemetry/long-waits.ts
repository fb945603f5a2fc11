import { MonotonicClock } from "../../time/clock.js";

/** A shorter wait is not reported. */
const LONG_WAIT_MS = 1_500;

/** Times are those of the reporter's clock. */
interface Wait {
  readonly since: number;
  /** The earliest end, as far as is known. */
  readonly expectedAt: number;
}

/** Reports each long wait once. One timer serves all waits: it is set for the one that began first. */
export class LongWaitReporter<Request> {
  readonly #report: (request: Request, waitedMs: number, expectedMs: number) => void;
  readonly #clock = new MonotonicClock();
  /** Waits that were not reported, in the order in which they began. */
  readonly #waits = new Map<Request, Wait>();
  readonly #setAlarm = this.#clock.createAlarm(() => this.#reportLong());

  constructor(report: (request: Request, waitedMs: number, expectedMs: number) => void) {
    this.#report = report;
  }

  /** A request begins to wait, at least `expectedMs` as far as is known. Ends its previous wait. */
  begin(request: Request, expectedMs: number): void {
    const since = this.#clock.now();
    this.#waits.delete(request);
    this.#waits.set(request, { since, expectedAt: since + expectedMs });
    this.#setTimer();
  }

  /** A request waits no longer. */
  end(request: Request): void {
    if (this.#waits.delete(request)) this.#setTimer();
  }

  #setTimer(): void {
    const [first] = this.#waits.values();
    this.#setAlarm(first && first.since + LONG_WAIT_MS);
  }

  #reportLong(): void {
    const now = this.#clock.now();
    for (const [request, { since, expectedAt }] of this.#waits) {
      if (since + LONG_WAIT_MS > now) break;
      this.#waits.delete(request);
      this.#report(request, now - since, expectedAt - now);
    }
    this.#setTimer();
  }
}
