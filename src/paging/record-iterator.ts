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
  /** The last call that had to wait for a page; later calls queue behind it. */
  let waiting: Promise<void> | undefined;

  const at = (): IteratorResult<T, undefined> => {
    // The index was checked, so the element is a T, be it undefined.
    const value = records[index] as T;
    index += 1;
    return { done: false, value };
  };

  const advance = async (): Promise<IteratorResult<T, undefined>> => {
    while (index >= records.length) {
      const result = await pages.next();
      if (result.done === true) return DONE;
      records = result.value.value;
      index = 0;
    }
    return at();
  };

  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      if (waiting === undefined && index < records.length) return Promise.resolve(at());
      const result = waiting === undefined ? advance() : waiting.then(advance);
      const arrived = () => {
        if (waiting === settled) waiting = undefined;
      };
      const settled: Promise<void> = result.then(arrived, arrived);
      waiting = settled;
      return result;
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
