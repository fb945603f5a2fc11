import { onAbort } from "./abort.js";
import { now, startTimer } from "./timer.js";

/** Why a call may not go on. */
export type CancelReason = { kind: "aborted"; reason: unknown } | { kind: "out-of-time" } | { kind: "closed" };

/** Thrown inside the package where a call stops because its lifetime has ended. Never reaches the caller. */
export class Cancelled extends Error {
  constructor(readonly reason: CancelReason) {
    super(reason.kind);
  }
}

/** How long a call may live: until its signal aborts, its total time is up, or its client closes. */
export class Cancellation {
  reason: CancelReason | undefined;
  readonly #deadline: number;
  // Both are copied to be changed: an array that is filled by push() would keep room for 17, and a Set for 4.
  #disposers: readonly (() => void)[] = [];
  #callbacks: readonly (() => void)[] = [];

  constructor(
    signals: readonly (AbortSignal | undefined)[] = [],
    readonly totalTimeoutMs = Infinity,
  ) {
    this.#deadline = now() + totalTimeoutMs;
    for (const signal of signals) {
      if (!signal || this.reason) continue;
      const abort = () => this.cancel({ kind: "aborted", reason: signal.reason });
      if (signal.aborted) abort();
      else this.#disposers = [...this.#disposers, onAbort(signal, abort)];
    }
    if (totalTimeoutMs !== Infinity && !this.reason)
      this.#disposers = [...this.#disposers, startTimer(totalTimeoutMs, () => this.cancel({ kind: "out-of-time" }))];
  }

  /** What is left of the total time, in ms. */
  get remainingMs(): number {
    return this.#deadline - now();
  }

  cancel(ending: CancelReason): void {
    if (this.reason) return;
    this.reason = ending;
    this.dispose();
    // One of them may take back another.
    for (let [first] = this.#callbacks; first; [first] = this.#callbacks) {
      this.#callbacks = this.#callbacks.slice(1);
      first();
    }
  }

  /** Ends the lifetime now if its total time would be up before the end of a wait. */
  cancelIfDeadlineBefore(delayMs: number): void {
    if (delayMs > this.remainingMs) this.cancel({ kind: "out-of-time" });
  }

  /** Calls back once when the lifetime ends, and returns what takes that back. */
  onCancel(callback: () => void): () => void {
    this.#callbacks = [...this.#callbacks, callback];
    return () => {
      this.#callbacks = this.#callbacks.filter((other) => other !== callback);
    };
  }

  throwIfCancelled(): void {
    if (this.reason) throw this.toError();
  }

  /**
   * What a wait rejects with once the lifetime has ended. Made here, since a limiter of `stocklot/redis` has a class `Ended`
   * of its own that the client would not know.
   */
  toError(): Cancelled {
    return new Cancelled(this.reason ?? { kind: "closed" });
  }

  /** As {@link cancelIfDeadlineBefore}; throws if the lifetime has ended. */
  ensureTimeFor(delayMs: number): void {
    this.cancelIfDeadlineBefore(delayMs);
    this.throwIfCancelled();
  }

  /** Waits; fails at once when the total time would be up before the end of it. */
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

  /** The promise's result, or an end of waiting for it when the lifetime ends. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const leave = () => reject(this.toError());
      const forget = this.onCancel(leave);
      if (this.reason) leave();
      promise.then(resolve, reject).finally(forget);
    });
  }

  /** Lets go of the signal and the timer. To be called when the call is over. */
  dispose(): void {
    const stops = this.#disposers;
    this.#disposers = [];
    for (const stop of stops) stop();
  }
}
