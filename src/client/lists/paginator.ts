import * as z from "zod";
import { checkInput } from "../../shared/check.js";
import { integer, lazy } from "../../shared/field.js";
import type { Checkpoint } from "./checkpoint.js";
import { countPagesAndRequests, estimateFromForecast, type ListForecast } from "./estimate.js";
import { iteratePages, type PageIterator } from "./iterate-pages.js";
import { iterateRecords } from "./iterate-records.js";
import {
  type Estimate,
  gaplessPageSize,
  iterationStartPosition,
  type Page,
  type PageRequest,
  type PageSession,
  type PrepareSession,
} from "./page.js";

const toArraySchema = /* @__PURE__ */ lazy(() => z.strictObject({ limit: integer().min(0).optional() }));

/**
 * A list that is read page by page. Lazy: it sends no request until it is used, and invalid arguments reject at the
 * first use. Reusable: each iteration begins again, at the requested page or checkpoint. Neither a Promise nor an array:
 * `(await client.items.list()).length` is `undefined`. Use `for await`, or `await client.items.list().toArray()`.
 *
 * An iteration returns each record once. If `totalCount` decreases between two pages, the client steps back and reads the
 * records that may have moved; with `gapless`, its pages overlap instead. Leaving a loop early aborts outstanding requests.
 *
 * Source: service interface, "Common paging parameters" and "Paged envelope".
 */
export class Paginator<T> implements AsyncIterable<T> {
  readonly #prepare: PrepareSession<T>;
  #latest: PageIterator<T> | undefined;

  /** @internal */
  constructor(prepare: PrepareSession<T>) {
    this.#prepare = prepare;
  }

  /**
   * Every record, following `hasMore`.
   *
   * @throws PaginationError if the service reports more records forever, but returns no new ones.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return iterateRecords(this.#iterate());
  }

  /** Page after page. The numbers are as served. `value` contains only records that were not returned before. */
  pages(): AsyncIterableIterator<Page<T>> {
    return this.#iterate();
  }

  /** The one page that the parameters select, as served: exactly one request. */
  async page(): Promise<Page<T>> {
    const session = this.#prepare();
    return await fetchSinglePage(session, { page: session.page, pageSize: session.pageSize });
  }

  /**
   * All records in one array, or the first `limit` of them (an integer of at least 0). With a limit, only pages that
   * are needed are read. `limit: 0` sends no request.
   */
  async toArray(options: { limit?: number | undefined } = {}): Promise<T[]> {
    checkInput("toArray", toArraySchema, options, [], { noun: "option" });
    const { limit } = options;
    const maxRecords = limit ?? Infinity;
    const records: T[] = [];
    if (maxRecords === 0) {
      this.#prepare();
      return records;
    }
    for await (const { value } of this.#iterate(maxRecords)) {
      for (const record of value) {
        records.push(record);
        if (records.length === maxRecords) return records;
      }
    }
    return records;
  }

  /**
   * Estimates how many records the iteration returns, and how many requests and how much time it takes with these
   * options. It sends one request, for one record, and considers the state of the rate limit.
   */
  async estimate(): Promise<Estimate> {
    return estimateFromForecast(await this.forecast());
  }

  /** The estimate, with the figures that the duration is based on. @internal */
  async forecast(): Promise<ListForecast> {
    const session = this.#prepare();
    const { maxPageSize, gapless, concurrency } = session;
    const { totalCount } = await fetchSinglePage(session, { page: 1, pageSize: 1 });
    const requestedSize = Math.min(session.pageSize, maxPageSize);
    const pageSize = gapless ? gaplessPageSize(requestedSize, maxPageSize) : requestedSize;
    const records = Math.max(0, totalCount - iterationStartPosition(session));
    const effort = countPagesAndRequests(records, { pageSize, gapless });
    const { latencyMs, ...allowance } = session.pace();
    return { records, ...effort, paceMs: latencyMs / concurrency, allowance };
  }

  /**
   * How far the latest iteration of this paginator was consumed; null before its first page was. An iteration that continues
   * from a checkpoint begins with that checkpoint.
   *
   * The checkpoint advances when the consumer requests the next page: in a loop over `pages()` at the start of the next
   * round, in a loop over records after the last record of a page. So a page is returned again if you leave the loop,
   * or your process ends, before you have processed it. Save the records of a page before the checkpoint that follows
   * it.
   *
   * Pass it to the same list as the option `from`, in this process or, as JSON, in another.
   *
   * @example
   * import { readFile, writeFile } from "node:fs/promises";
   *
   * const saved = await readFile("checkpoint.json", "utf8").catch(() => undefined);
   * const lots = client.inventory.listLots({}, { gapless: true, from: saved && JSON.parse(saved) });
   * for await (const page of lots.pages()) {
   *   console.log(page.value);
   *   await writeFile("checkpoint.json", JSON.stringify(lots.checkpoint()));
   * }
   */
  checkpoint(): Checkpoint | null {
    const checkpoint = this.#latest?.checkpoint;
    return checkpoint ? { ...checkpoint, keys: [...checkpoint.keys] } : null;
  }

  #iterate(limit?: number): PageIterator<T> {
    return iteratePages(this.#prepare, (iterator) => (this.#latest = iterator), limit);
  }
}

/** A page that is not part of an iteration. */
async function fetchSinglePage<T>(session: PageSession<T>, request: PageRequest): Promise<Page<T>> {
  try {
    return await session.fetch(request, { slotKind: "single" });
  } catch (error) {
    throw error;
  }
}
