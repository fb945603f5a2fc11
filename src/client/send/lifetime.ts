import { onAbort } from "../../shared/time/abort.js";
import { monotonicNowMs, startTimer } from "../../shared/time/clock.js";

/** The reason of a signal that aborted because the total time has passed. */
export class OutOfTime {
  constructor(readonly totalTimeoutMs: number) {}
}

/** The reason of a signal that aborted because the client was closed. */
export class Closed {}

/** One end for all that ends a call, or the requests of a search: the caller's signal, the total time, the end of the client. */
export class Lifetime {
  aborted = false;
  reason: unknown;
  readonly totalTimeoutMs: number;
  readonly #endsAt: number;
  readonly #callbacks = new Set<() => void>();
  readonly #stops: (() => void)[] = [];
  #controller: AbortController | undefined;

  constructor(signals: readonly (AbortSignal | null | undefined)[], totalTimeoutMs: number) {
    this.totalTimeoutMs = totalTimeoutMs;
    this.#endsAt = monotonicNowMs() + totalTimeoutMs;
    for (const signal of signals) {
      if (!signal) continue;
      const abort = () => this.abort(signal.reason);
      if (signal.aborted) abort();
      else this.#stops.push(onAbort(signal, abort));
    }
    if (totalTimeoutMs !== Infinity)
      this.#stops.push(startTimer(totalTimeoutMs, () => this.abort(new OutOfTime(totalTimeoutMs))));
  }

  /** The rest of the total time, in ms. */
  get remainingMs(): number {
    return this.#endsAt - monotonicNowMs();
  }

  /** The same as a signal, for requests of its own and for libraries. Most calls need none. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  /** Calls back when it is aborted. Returns a function that removes the callback. */
  onAbort(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  abort(reason: unknown): void {
    this.end();
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const callback of [...this.#callbacks]) callback();
    this.#controller?.abort(reason);
  }

  /** Releases what it listens to. */
  end(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }
}
