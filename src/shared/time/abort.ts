import { monotonicNowMs, startTimer } from "./clock.js";

/** A signal, or the lifetime of a call, which is cheaper: Node.js 20 takes 5 µs to create a signal, and 5 µs to collect it. */
export type Abortable = AbortSignal | Pick<Lifetime, "aborted" | "reason" | "onAbort">;

interface AbortListeners {
  callbacks: Set<() => void>;
  stop(): void;
}

const abortListenersBySignal = new WeakMap<AbortSignal, AbortListeners>();

/**
 * Calls back when the signal aborts. Returns a function that removes the callback. A signal has one listener, however
 * many calls use it (Node warns beyond ten), and none while no call uses it.
 */
export function onAbort(signal: Abortable, callback: () => void): () => void {
  if ("onAbort" in signal) return signal.onAbort(callback);
  const { callbacks, stop } = abortListenersBySignal.get(signal) ?? listenToSignal(signal);
  callbacks.add(callback);
  return () => {
    if (callbacks.delete(callback) && callbacks.size === 0) stop();
  };
}

function listenToSignal(signal: AbortSignal): AbortListeners {
  const callbacks = new Set<() => void>();
  const listener = () => {
    abortListenersBySignal.delete(signal);
    for (const callback of [...callbacks]) callback();
  };
  const stop = () => {
    signal.removeEventListener("abort", listener);
    abortListenersBySignal.delete(signal);
  };
  const listeners = { callbacks, stop };
  signal.addEventListener("abort", listener, { once: true });
  abortListenersBySignal.set(signal, listeners);
  return listeners;
}

/** The reason of a signal that aborted because the total time has passed. */
export class OutOfTime {
  constructor(readonly totalTimeoutMs: number) {}
}

/** The reason of a signal that aborted because the client was closed. */
export class Closed {}

/** Ends a call, or the requests of a search: by the caller's signal, after the total time, or when the client is closed. */
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

  get remainingMs(): number {
    return this.#endsAt - monotonicNowMs();
  }

  /** The lifetime as a signal, for libraries. Most calls need none. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  onAbort(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => void this.#callbacks.delete(callback);
  }

  /** Whether it has ended. Also true if its time has passed, but its timer has not fired yet because the event loop was blocked. */
  hasEnded(): boolean {
    if (this.remainingMs <= 0) this.abort(new OutOfTime(this.totalTimeoutMs));
    return this.aborted;
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

  /** Stops listening to signals and timers. */
  end(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }
}
