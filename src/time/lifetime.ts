import { onAbort } from "./abort.js";
import { startTimer } from "./timer.js";

/** Why a call may not go on. */
export type Ending = { kind: "aborted"; reason: unknown } | { kind: "out-of-time" } | { kind: "closed" };

/** Thrown inside the package where a call stops because its lifetime has ended. Never reaches the caller. */
export class Ended extends Error {
  constructor(readonly ending: Ending) {
    super(`the call has ended: ${ending.kind}`);
  }
}

/** How long a call may live: until its signal aborts, its total time is up, or its client closes. */
export class Lifetime {
  ending: Ending | undefined;
  readonly #deadline: number;
  #stops: (() => void)[] = [];
  #callbacks: Set<(ending: Ending) => void> | undefined;

  constructor(signals: readonly (AbortSignal | undefined)[] = [], totalTimeoutMs = Number.POSITIVE_INFINITY) {
    this.#deadline = performance.now() + totalTimeoutMs;
    const given = signals.filter((signal) => signal !== undefined);
    const aborted = given.find((signal) => signal.aborted);
    if (aborted) {
      this.ending = { kind: "aborted", reason: aborted.reason };
      return;
    }
    // An array that is filled by push() would keep room for 17.
    this.#stops = given.map((signal) => onAbort(signal, () => this.end({ kind: "aborted", reason: signal.reason })));
    if (totalTimeoutMs !== Number.POSITIVE_INFINITY) {
      this.#stops.push(startTimer(totalTimeoutMs, () => this.end({ kind: "out-of-time" })));
    }
  }

  /** What is left of the total time, in ms. */
  get remainingMs(): number {
    return this.#deadline === Number.POSITIVE_INFINITY ? this.#deadline : this.#deadline - performance.now();
  }

  end(ending: Ending): void {
    if (this.ending) return;
    this.ending = ending;
    this.dispose();
    for (const callback of this.#callbacks ?? []) callback(ending);
    this.#callbacks = undefined;
  }

  /** Calls back once when the lifetime ends, and returns what takes that back. */
  onEnd(callback: (ending: Ending) => void): () => void {
    this.#callbacks ??= new Set();
    this.#callbacks.add(callback);
    return () => this.#callbacks?.delete(callback);
  }

  throwIfEnded(): void {
    if (this.ending) throw this.endedError();
  }

  /**
   * What a wait rejects with once the lifetime has ended. Made here, since a limiter of `stocklot/redis` has a class `Ended`
   * of its own that the client would not know.
   */
  endedError(): Ended {
    return new Ended(this.ending ?? { kind: "closed" });
  }

  /** Ends the lifetime now if its total time would be up before the end of a wait, and throws if it has ended. */
  reserve(delayMs: number): void {
    if (delayMs > this.remainingMs) this.end({ kind: "out-of-time" });
    this.throwIfEnded();
  }

  /** Waits; fails at once when the total time would be up before the end of it. */
  async sleep(delayMs: number): Promise<void> {
    this.reserve(delayMs);
    if (delayMs <= 0) return;
    let stop = () => {};
    try {
      await this.until(new Promise<void>((resolve) => (stop = startTimer(delayMs, resolve))));
    } finally {
      stop();
    }
  }

  /** The promise's result, or an end of waiting for it when the lifetime ends. */
  until<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.ending) {
        promise.catch(() => {});
        reject(new Ended(this.ending));
        return;
      }
      const forget = this.onEnd((ending) => reject(new Ended(ending)));
      promise.then(resolve, reject).finally(forget);
    });
  }

  /** Lets go of the signal and the timer. To be called when the call is over. */
  dispose(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }
}
