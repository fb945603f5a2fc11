import { type Abortable, Lifetime } from "./abort.js";
import { untilAborted } from "./wait.js";

/**
 * Work whose result several callers wait for. Each caller leaves by its own signal. When the last caller has left, the work is
 * aborted: it has no result, and a new caller must begin new work.
 */
export class SharedWork<T> {
  readonly #lifetime = new Lifetime([], Infinity);
  readonly #result: Promise<T>;
  #callers = 0;

  constructor(begin: (lifetime: Lifetime) => Promise<T>) {
    this.#result = begin(this.#lifetime);
    // The callers who still wait receive the failure.
    this.#result.catch(() => {});
  }

  get isAborted(): boolean {
    return this.#lifetime.aborted;
  }

  /** Returns the result, or rejects with the reason of the caller's signal as soon as it aborts. */
  async wait(caller: Abortable | null | undefined): Promise<T> {
    this.#callers += 1;
    try {
      return await (caller ? untilAborted(caller, this.#result) : this.#result);
    } finally {
      this.#callers -= 1;
      if (this.#callers === 0) this.abort(new DOMException("Nobody waits for the result any more.", "AbortError"));
    }
  }

  /** Ends the work for all callers. They receive what the work rejects with. */
  abort(reason: unknown): void {
    this.#lifetime.abort(reason);
  }
}
