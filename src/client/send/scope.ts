import { onAbort } from "../../shared/time/abort.js";
import { monotonicNowMs, startTimer } from "../../shared/time/clock.js";

/** The reason of a signal that aborted because the total time has passed. */
export class OutOfTime {
  constructor(readonly totalTimeoutMs: number) {}
}

/** The reason of a signal that aborted because the client was closed. */
export class Closed {}

/** When the calls end that use a signal, by the monotonic clock. */
const ends = new WeakMap<AbortSignal, { at: number; totalTimeoutMs: number }>();

/** One signal for all that ends a call, or the requests of a search: the caller's signal, the total time, the end of the client. */
export class Scope {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  /** The total time that ends first, its own or that of the signals. */
  readonly totalTimeoutMs: number;
  readonly #endsAt: number;
  readonly #stops: (() => void)[] = [];

  constructor(signals: readonly (AbortSignal | null | undefined)[], ownTimeoutMs: number) {
    this.signal = this.#controller.signal;
    let end = { at: monotonicNowMs() + ownTimeoutMs, totalTimeoutMs: ownTimeoutMs };
    for (const signal of signals) {
      if (!signal) continue;
      const inherited = ends.get(signal);
      if (inherited && inherited.at < end.at) end = inherited;
      const abort = () => this.abort(signal.reason);
      if (signal.aborted) abort();
      else this.#stops.push(onAbort(signal, abort));
    }
    this.#endsAt = end.at;
    this.totalTimeoutMs = end.totalTimeoutMs;
    if (end.at !== Infinity) ends.set(this.signal, end);
    if (ownTimeoutMs !== Infinity)
      this.#stops.push(startTimer(ownTimeoutMs, () => this.abort(new OutOfTime(ownTimeoutMs))));
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
