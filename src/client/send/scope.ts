import { onAbort } from "../../shared/time/abort.js";
import { monotonicNowMs, startTimer } from "../../shared/time/clock.js";

/** The reason of a signal that aborted because the total time has passed. */
export class OutOfTime {
  constructor(readonly totalTimeoutMs: number) {}
}

/** The reason of a signal that aborted because the client was closed. */
export class Closed {}

/** When the calls end that use a signal, by the monotonic clock. */
const ends = new WeakMap<AbortSignal, number>();

/** One signal for all that ends a call, or the requests of a search: the caller's signal, the total time, the end of the client. */
export class Scope {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #endsAt: number;
  readonly #stops: (() => void)[] = [];

  constructor(
    signals: readonly (AbortSignal | null | undefined)[],
    readonly totalTimeoutMs: number,
  ) {
    this.signal = this.#controller.signal;
    this.#endsAt = monotonicNowMs() + totalTimeoutMs;
    for (const signal of signals) {
      if (!signal) continue;
      this.#endsAt = Math.min(this.#endsAt, ends.get(signal) ?? Infinity);
      const abort = () => this.abort(signal.reason);
      if (signal.aborted) abort();
      else this.#stops.push(onAbort(signal, abort));
    }
    if (this.#endsAt !== Infinity) ends.set(this.signal, this.#endsAt);
    if (totalTimeoutMs !== Infinity)
      this.#stops.push(startTimer(totalTimeoutMs, () => this.abort(new OutOfTime(totalTimeoutMs))));
  }

  /** The rest of the total time, in ms. */
  get remainingMs(): number {
    return this.#endsAt - monotonicNowMs();
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.end();
  }

  /** Releases what it listens to. */
  end(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }
}
