import type { Page } from "./page.js";

const DONE = { done: true, value: undefined } as const;

/**
 * The records of a list, one after the other. Written by hand, since an async generator costs several turns of the event
 * loop a record: here a record that is at hand is one resolved promise.
 */
export function iterateRecords<T>(
  pages: AsyncIterableIterator<Page<T>, undefined, undefined>,
): AsyncIterableIterator<T, undefined, undefined> {
  let records: T[] = [];
  let index = 0;
  /** Settles when the last call that had to wait for a page has its result; later calls queue behind it. */
  let waiting: Promise<void> | undefined;

  const at = (): IteratorResult<T, undefined> => {
    // The index was checked, so the element is a T, be it undefined.
    const value = records[index] as T;
    index += 1;
    return { done: false, value };
  };

  /** Only the caller awaits the promise of this function: the stack trace of an error would not lead to the caller otherwise. */
  const advance = async (): Promise<IteratorResult<T, undefined>> => {
    const previous = waiting;
    let finish = () => {};
    const current = new Promise<void>((resolve) => (finish = resolve));
    waiting = current;
    try {
      if (previous) await previous;
      while (index >= records.length) {
        const result = await pages.next();
        if (result.done === true) return DONE;
        records = result.value.value;
        index = 0;
      }
      return at();
    } finally {
      if (waiting === current) waiting = undefined;
      finish();
    }
  };

  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      return waiting === undefined && index < records.length ? Promise.resolve(at()) : advance();
    },
    async return() {
      records = [];
      await pages.return?.();
      return DONE;
    },
    async throw(error) {
      await this.return?.();
      throw error;
    },
  };
}
