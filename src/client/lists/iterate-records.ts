import { ITERATION_DONE } from "./iterate-pages.js";
import type { Page } from "./page.js";

/**
 * The records of a list, one after the other. Not an async generator, since that takes several turns of the event loop per
 * record: here a record of a page that was fetched takes one resolved promise.
 */
export function iterateRecords<T>(
  pages: AsyncIterableIterator<Page<T>, undefined, undefined>,
): AsyncIterableIterator<T, undefined, undefined> {
  let records: T[] = [];
  let index = 0;
  /** Settles when the last call that waits for a page has its result. Later calls wait for it. */
  let waiting: Promise<void> | undefined;

  const nextRecord = (): IteratorResult<T, undefined> => {
    // The index was checked, so the element is a `T`, even if it is `undefined`.
    const value = records[index] as T;
    index += 1;
    return { done: false, value };
  };

  /** Only the caller may await the promise of this function: otherwise the stack trace of an error lacks the caller. */
  const waitForRecord = async (): Promise<IteratorResult<T, undefined>> => {
    const previous = waiting;
    let finish = () => {};
    const current = new Promise<void>((resolve) => (finish = resolve));
    waiting = current;
    try {
      if (previous) await previous;
      while (index >= records.length) {
        const result = await pages.next();
        if (result.done === true) return ITERATION_DONE;
        records = result.value.value;
        index = 0;
      }
      return nextRecord();
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
      return waiting === undefined && index < records.length ? Promise.resolve(nextRecord()) : waitForRecord();
    },
    async return() {
      records = [];
      await pages.return?.();
      return ITERATION_DONE;
    },
    async throw(error) {
      await this.return?.();
      throw error;
    },
  };
}
