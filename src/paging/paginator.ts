import { InputValidationError } from "../errors/index.js";
import type { Page, PageSource } from "./page.js";
import { PageIterator } from "./page-iterator.js";
import { RecordIterator } from "./record-iterator.js";

/**
 * A list that is read page by page. Lazy: nothing is requested until it is used, and wrong arguments reject at the first use.
 * Reusable: each iteration begins anew. Not a Promise.
 *
 * In an iteration each record is given once. When `totalCount` falls between two pages, the client steps back and reads what
 * may have moved. Leaving a loop early aborts what is outstanding.
 *
 * Source: service interface, "Common paging parameters" and "Paged envelope".
 */
export class Paginator<T> implements AsyncIterable<T> {
  readonly #source: PageSource<T>;

  constructor(source: PageSource<T>) {
    this.#source = source;
  }

  /**
   * Every record, following `hasMore`.
   *
   * @throws PaginationError when the service says without end that there is more.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return new RecordIterator(new PageIterator(this.#source));
  }

  /** Page after page. The numbers are as served; `value` holds only the records that were not given before. */
  pages(): AsyncIterableIterator<Page<T>> {
    return new PageIterator(this.#source);
  }

  /** The one page that the parameters ask for, as served: exactly one request. */
  async page(): Promise<Page<T>> {
    const { page, pageSize, gapless } = this.#source.prepare();
    return await this.#source.fetch({ page, pageSize }, { further: false, gapless });
  }

  /**
   * All records in one array, or the first `limit` of them (a non-negative integer). With a limit no page is read ahead that
   * is not needed; `limit: 0` makes no request.
   */
  async toArray({ limit }: { limit?: number | undefined } = {}): Promise<T[]> {
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0)) {
      throw new InputValidationError("toArray", [{ path: ["limit"], message: "must be a non-negative integer" }]);
    }
    const wanted = limit ?? Number.POSITIVE_INFINITY;
    const records: T[] = [];
    if (wanted === 0) {
      this.#source.prepare();
      return records;
    }
    for await (const { value } of new PageIterator(this.#source, wanted)) {
      for (const record of value) {
        records.push(record);
        if (records.length === wanted) return records;
      }
    }
    return records;
  }
}
