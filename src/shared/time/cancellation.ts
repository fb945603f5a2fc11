import { onAbort } from "./abort.js";
import { monotonicNowMs, startTimer } from "./clock.js";
import { race, type WaitEnd } from "./wait.js";

/** Why a call was canceled. */
export type CancelReason =
  | { kind: "aborted"; reason: unknown }
  /** `isEarly`: the time has not passed, but would pass before the end of a wait. */
  | { kind: "out-of-time"; totalTimeoutMs: number; isEarly: boolean }
  | { kind: "closed" };

/**
 * Thrown inside the package if a call was canceled while it waited. While it is being sent, the transport throws a
 * `TransportFailure` of the kind "canceled" instead. Neither reaches the caller.
 */
export class CanceledError extends Error {
  constructor(readonly reason: CancelReason) {
    super(reason.kind);
  }
}

/** Ends the waits of one call, or of what several calls wait for. Its class shows who may cancel it. */
export abstract class Cancellation {
  reason: CancelReason | undefined;
  readonly #callbacks = new Set<() => void>();

  /** Cancels now if the total time would pass before the end of a wait. */
  abstract cancelIfDeadlineBefore(delayMs: number): void;

  cancel(reason: CancelReason): void {
    if (this.reason) return;
    this.reason = reason;
    // A callback may remove another one, which is then not called.
    for (const callback of this.#callbacks) {
      this.#callbacks.delete(callback);
      callback();
    }
  }

  /** Calls back once when the call is canceled. Returns a function that removes the callback. */
  onCancel(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  /** Releases what it listens to. Must be called when the call has ended. */
  dispose(): void {}

  throwIfCanceled(): void {
    if (this.reason) throw this.toError();
  }

  /**
   * The error of a wait that was canceled. Created here, since the other copy of the package (ES module, CommonJS) has a
   * class `CanceledError` of its own.
   */
  toError(): CanceledError {
    return new CanceledError(this.reason ?? { kind: "closed" });
  }

  /** As {@link cancelIfDeadlineBefore}; throws if the call was canceled. */
  ensureTimeFor(delayMs: number): void {
    this.cancelIfDeadlineBefore(delayMs);
    this.throwIfCanceled();
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

  /** The promise's result, or a rejection as soon as the call is canceled, or another end calls back. */
  race<T>(promise: Promise<T>, ...ends: readonly WaitEnd[]): Promise<T> {
    return race(promise, (reject) => this.#callBackWithError(reject), ...ends);
  }

  #callBackWithError(reject: (error: unknown) => void): () => void {
    const rejectCanceled = () => reject(this.toError());
    if (!this.reason) return this.onCancel(rejectCanceled);
    rejectCanceled();
    return () => {};
  }
}

/** Belongs to one call: canceled when its signal aborts, its total time has passed, or its client closes. */
export class CallCancellation extends Cancellation {
  readonly #deadlineMs: number;
  readonly #totalTimeoutMs: number;
  readonly #disposers: (() => void)[] = [];

  constructor(signals: readonly (AbortSignal | null | undefined)[] = [], totalTimeoutMs = Infinity) {
    super();
    this.#totalTimeoutMs = totalTimeoutMs;
    this.#deadlineMs = monotonicNowMs() + totalTimeoutMs;
    for (const signal of signals) {
      if (!signal || this.reason) continue;
      const abort = () => this.cancel({ kind: "aborted", reason: signal.reason });
      if (signal.aborted) abort();
      else this.#disposers.push(onAbort(signal, abort));
    }
    if (totalTimeoutMs !== Infinity && !this.reason)
      this.#disposers.push(startTimer(totalTimeoutMs, () => this.#cancelOutOfTime(false)));
  }

  override cancel(reason: CancelReason): void {
    this.dispose();
    super.cancel(reason);
  }

  cancelIfDeadlineBefore(delayMs: number): void {
    if (delayMs > this.#deadlineMs - monotonicNowMs()) this.#cancelOutOfTime(true);
  }

  override dispose(): void {
    for (const dispose of this.#disposers.splice(0)) dispose();
  }

  #cancelOutOfTime(isEarly: boolean): void {
    this.cancel({ kind: "out-of-time", totalTimeoutMs: this.#totalTimeoutMs, isEarly });
  }
}

/**
 * Belongs to all calls that wait for one result, such as a token: canceled when the last of them has left, with the result
 * or without. Each call keeps its own deadline.
 */
export class SharedCancellation extends Cancellation {
  readonly #waiting = new Set<Cancellation>();

  /** Waits for the result as one of the calls. */
  async join<T>(cancellation: Cancellation, result: Promise<T>): Promise<T> {
    this.#waiting.add(cancellation);
    try {
      return await cancellation.race(result);
    } finally {
      this.#waiting.delete(cancellation);
      if (this.#waiting.size === 0) {
        // Reaches no caller: it ends what leads to the result, if there is none yet. Otherwise it changes nothing.
        const reason = new DOMException("No call waits for the result any more.", "AbortError");
        this.cancel({ kind: "aborted", reason });
      }
    }
  }

  cancelIfDeadlineBefore(delayMs: number): void {
    for (const cancellation of this.#waiting) cancellation.cancelIfDeadlineBefore(delayMs);
  }
}
