import { onAbort } from "./abort.js";
import { now, startTimer } from "./timer.js";

/** Why a call may not go on. */
export type Ending = { kind: "aborted"; reason: unknown } | { kind: "out-of-time" } | { kind: "closed" };

/** Thrown inside the package where a call stops because its lifetime has ended. Never reaches the caller. */
export class Ended extends Error {
  constructor(readonly ending: Ending) {
    super(ending.kind);
  }
}

/** How long a call may live: until its signal aborts, its total time is up, or its client closes. */
export class Lifetime {
  ending: Ending | undefined;
  readonly #deadline: number;
  // Both are copied to be changed: an array that is filled by push() would keep room for 17, and a Set for 4.
  #stops: readonly (() => void)[] = [];
  #callbacks: readonly (() => void)[] = [];

  constructor(
    signals: readonly (AbortSignal | undefined)[] = [],
    readonly totalTimeoutMs = Infinity,
  ) {
    this.#deadline = now() + totalTimeoutMs;
    for (const signal of signals) {
      if (!signal || this.ending) continue;
      const abort = () => this.end({ kind: "aborted", reason: signal.reason });
      if (signal.aborted) abort();
      else this.#stops = [...this.#stops, onAbort(signal, abort)];
    }
    if (totalTimeoutMs !== Infinity && !this.ending)
      this.#stops = [...this.#stops, startTimer(totalTimeoutMs, () => this.end({ kind: "out-of-time" }))];
  }

  /** What is left of the total time, in ms. */
  get remainingMs(): number {
    return this.#deadline - now();
  }

  end(ending: Ending): void {
    if (this.ending) return;
    this.ending = ending;
    this.dispose();
    // One of them may take back another.
    for (let [first] = this.#callbacks; first; [first] = this.#callbacks) {
      this.#callbacks = this.#callbacks.slice(1);
      first();
    }
  }

  /** Ends the lifetime now if its total time would be up before the end of a wait. */
  endIfShorterThan(delayMs: number): void {
    if (delayMs > this.remainingMs) this.end({ kind: "out-of-time" });
  }

  /** Calls back once when the lifetime ends, and returns what takes that back. */
  onEnd(callback: () => void): () => void {
    this.#callbacks = [...this.#callbacks, callback];
    return () => {
      this.#callbacks = this.#callbacks.filter((other) => other !== callback);
    };
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

  /** As {@link endIfShorterThan}; throws if the lifetime has ended. */
  reserve(delayMs: number): void {
    this.endIfShorterThan(delayMs);
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
      const leave = () => reject(this.endedError());
      const forget = this.onEnd(leave);
      if (this.ending) leave();
      promise.then(resolve, reject).finally(forget);
    });
  }

  /** Lets go of the signal and the timer. To be called when the call is over. */
  dispose(): void {
    const stops = this.#stops;
    this.#stops = [];
    for (const stop of stops) stop();
  }
}
