import type { PageIterator } from "./page-iterator.js";

const DONE = { done: true, value: undefined } as const;

/**
 * The records of a list, one after the other. Written by hand, since an async generator costs several turns of the event
 * loop a record: here a record that is at hand is one resolved promise.
 */
export class RecordIterator<T> implements AsyncIterableIterator<T, undefined, undefined> {
  readonly #pages: PageIterator<T>;
  #records: T[] = [];
  #index = 0;
  /** The last call that had to wait for a page; later calls queue behind it. */
  #waiting: Promise<void> | undefined;

  constructor(pages: PageIterator<T>) {
    this.#pages = pages;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#waiting === undefined && this.#index < this.#records.length) return Promise.resolve(this.#at());
    const before = this.#waiting;
    const result = before === undefined ? this.#advance() : before.then(() => this.#advance());
    const settled: Promise<void> = result.then(
      () => this.#arrived(settled),
      () => this.#arrived(settled),
    );
    this.#waiting = settled;
    return result;
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#records = [];
    await this.#pages.return();
    return DONE;
  }

  async throw(error: unknown): Promise<IteratorResult<T, undefined>> {
    await this.return();
    throw error;
  }

  async #advance(): Promise<IteratorResult<T, undefined>> {
    while (this.#index >= this.#records.length) {
      const result = await this.#pages.next();
      if (result.done === true) return DONE;
      this.#records = result.value.value;
      this.#index = 0;
    }
    return this.#at();
  }

  #at(): IteratorResult<T, undefined> {
    // The index was checked, so the element is a T, be it undefined.
    const value = this.#records[this.#index] as T;
    this.#index += 1;
    return { done: false, value };
  }

  #arrived(settled: Promise<void>): void {
    if (this.#waiting === settled) this.#waiting = undefined;
  }
}
