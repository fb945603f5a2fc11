import { onAbort } from "./abort.js";
import { monotonicNowMs, startTimer } from "./timer.js";

/** Why a call was cancelled. */
export type CancelReason = { kind: "aborted"; reason: unknown } | { kind: "out-of-time" } | { kind: "closed" };

/** Thrown inside the package if a call was cancelled. Never reaches the caller. */
export class CancelledError extends Error {
  constructor(readonly reason: CancelReason) {
    super(reason.kind);
  }
}

/** Cancels a call when its signal aborts, its total time has passed, or its client closes. */
export class Cancellation {
  reason: CancelReason | undefined;
  readonly #deadline: number;
  readonly #disposers: (() => void)[] = [];
  readonly #callbacks = new Set<() => void>();

  constructor(
    signals: readonly (AbortSignal | null | undefined)[] = [],
    readonly totalTimeoutMs = Infinity,
  ) {
    this.#deadline = monotonicNowMs() + totalTimeoutMs;
    for (const signal of signals) {
      if (!signal || this.reason) continue;
      const abort = () => this.cancel({ kind: "aborted", reason: signal.reason });
      if (signal.aborted) abort();
      else this.#disposers.push(onAbort(signal, abort));
    }
    if (totalTimeoutMs !== Infinity && !this.reason)
      this.#disposers.push(startTimer(totalTimeoutMs, () => this.cancel({ kind: "out-of-time" })));
  }

  /** What is left of the total time, in ms. */
  get remainingMs(): number {
    return this.#deadline - monotonicNowMs();
  }

  cancel(reason: CancelReason): void {
    if (this.reason) return;
    this.reason = reason;
    this.dispose();
    // A callback may remove another one, which is then not called.
    for (const callback of this.#callbacks) {
      this.#callbacks.delete(callback);
      callback();
    }
  }

  /** Cancels now if the total time would pass before the end of a wait. */
  cancelIfDeadlineBefore(delayMs: number): void {
    if (delayMs > this.remainingMs) this.cancel({ kind: "out-of-time" });
  }

  /** Calls back once when the call is cancelled. Returns a function that removes the callback. */
  onCancel(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  throwIfCancelled(): void {
    if (this.reason) throw this.toError();
  }

  /**
   * The error of a wait that was cancelled. Created here, since the other copy of the package (ES module, CommonJS) has a
   * class `Cancelled` of its own.
   */
  toError(): CancelledError {
    return new CancelledError(this.reason ?? { kind: "closed" });
  }

  /** As {@link cancelIfDeadlineBefore}; throws if the call was cancelled. */
  ensureTimeFor(delayMs: number): void {
    this.cancelIfDeadlineBefore(delayMs);
    this.throwIfCancelled();
  }

  /** Waits. Fails immediately if the total time would pass before the end of the wait. */
  async sleep(delayMs: number): Promise<void> {
    this.ensureTimeFor(delayMs);
    if (delayMs <= 0) return;
    let stop = () => {};
    try {
      await this.race(new Promise<void>((resolve) => (stop = startTimer(delayMs, resolve))));
    } finally {
      stop();
    }
  }

  /** The promise's result, or a rejection as soon as the call is cancelled. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const rejectCancelled = () => reject(this.toError());
      const unsubscribe = this.onCancel(rejectCancelled);
      if (this.reason) rejectCancelled();
      promise.then(resolve, reject).finally(unsubscribe);
    });
  }

  /** Releases the signals and the timer. Must be called when the call has ended. */
  dispose(): void {
    for (const dispose of this.#disposers.splice(0)) dispose();
  }
}
