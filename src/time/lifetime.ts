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
  #stops: (() => void)[] = [];
  #callbacks: Set<() => void> | undefined;

  constructor(signals: readonly (AbortSignal | undefined)[] = [], totalTimeoutMs = Infinity) {
    this.#deadline = now() + totalTimeoutMs;
    const given = signals.filter((signal) => signal !== undefined);
    const abort = ({ reason }: AbortSignal) => this.end({ kind: "aborted", reason });
    given.filter(({ aborted }) => aborted).forEach(abort);
    if (this.ending) return;
    // An array that is filled by push() would keep room for 17.
    this.#stops = given.map((signal) => onAbort(signal, () => abort(signal)));
    if (totalTimeoutMs !== Infinity)
      this.#stops.push(startTimer(totalTimeoutMs, () => this.end({ kind: "out-of-time" })));
  }

  /** What is left of the total time, in ms. */
  get remainingMs(): number {
    return this.#deadline - now();
  }

  end(ending: Ending): void {
    if (this.ending) return;
    this.ending = ending;
    this.dispose();
    for (const callback of this.#callbacks ?? []) callback();
    this.#callbacks = undefined;
  }

  /** Ends the lifetime now if its total time would be up before the end of a wait. */
  endIfShorterThan(delayMs: number): void {
    if (delayMs > this.remainingMs) this.end({ kind: "out-of-time" });
  }

  /** Calls back once when the lifetime ends, and returns what takes that back. */
  onEnd(callback: () => void): () => void {
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
    for (const stop of this.#stops.splice(0)) stop();
  }
}
