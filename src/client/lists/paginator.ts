import * as z from "zod";
import { checkMethodOptions, integer, lazy } from "../../shared/schema.js";
import { showCaller } from "../send/caller-error.js";
import { ListReader } from "./list-reader.js";
import type { Page, PageSession } from "./page.js";
import { assertRequestedPage } from "./page-end.js";

const toArraySchema = /* @__PURE__ */ lazy(() => z.strictObject({ limit: integer().min(0).optional() }));

/**
 * A list that is read page by page. It is lazy: it sends no request until it is used, and invalid arguments reject at the
 * first use. It is reusable: each iteration begins again, at the requested page. It is neither a Promise nor an array:
 * `(await client.items.list()).length` is `undefined`. Use `for await`, or `await client.items.list().toArray()`.
 *
 * An iteration returns each record once. If `totalCount` falls between two pages, records have moved to pages that were already
 * read. From then on pages overlap, so that no record that stayed in the list is missed. With `gapless`, all pages overlap.
 * Leaving a loop early aborts outstanding requests.
 *
 * Source: service interface, "Common paging parameters" and "Paged envelope".
 */
export class Paginator<T> implements AsyncIterable<T> {
  readonly #createSession: () => PageSession<T>;

  /**
   * @param createSession Creates the session for one use of the list. Throws an `InputValidationError` if an argument
   * is wrong.
   * @internal
   */
  constructor(createSession: () => PageSession<T>) {
    this.#createSession = createSession;
  }

  /**
   * Returns every record, page after page, as long as `hasMore` is true.
   *
   * @throws PaginationError if the service contradicts itself, or if the list changes faster than it can be read.
   */
  [Symbol.asyncIterator](): AsyncGenerator<T, void> {
    const pages = this.pages();
    return endedBy(recordsOf(pages), () => void pages.return());
  }

  /** Returns page after page. The numbers are as served. `value` contains only records that were not returned before. */
  pages(): AsyncGenerator<Page<T>, void> {
    return this.#iterate();
  }

  /**
   * Requests the one page that the parameters select, and returns it as served.
   *
   * @throws PaginationError if the service returns another page.
   */
  async page(): Promise<Page<T>> {
    const session = this.#createSession();
    const page = await session.fetch(session.first, { isFurther: false });
    assertRequestedPage(session.label, page, session.first);
    return page;
  }

  /**
   * Returns all records in one array, or the first `limit` records (an integer of at least 0). With a limit, only the pages that
   * are needed are read. `limit: 0` sends no request.
   */
  async toArray(options: { limit?: number | undefined } = {}): Promise<T[]> {
    const { limit = Infinity } = checkMethodOptions("toArray", toArraySchema, options);
    const records: T[] = [];
    if (limit === 0) {
      this.#createSession();
      return records;
    }
    for await (const { value } of this.#iterate(limit)) {
      for (const record of value) {
        records.push(record);
        if (records.length === limit) return records;
      }
    }
    return records;
  }

  /** Reads the list page by page. `limit`: how many records the caller wants. */
  #iterate(limit = Infinity): AsyncGenerator<Page<T>, void> {
    let reader: ListReader<T> | undefined;
    const start = () => {
      reader = new ListReader({ ...this.#createSession(), limit });
      return reader.pages();
    };
    return endedBy(shownPages(start), () => reader?.close());
  }
}

async function* shownPages<T>(start: () => AsyncGenerator<Page<T>, void>): AsyncGenerator<Page<T>, void> {
  try {
    yield* start();
  } catch (error) {
    showCaller(error);
    throw error;
  }
}

async function* recordsOf<T>(pages: AsyncIterable<Page<T>>): AsyncGenerator<T, void> {
  for await (const { value } of pages) for (const record of value) yield record;
}

/**
 * Makes `return()` end the iteration at once. `return()` of a generator waits for a pending `next()`, which may wait for the rate
 * limit.
 */
function endedBy<T>(generator: AsyncGenerator<T, void>, end: () => void): AsyncGenerator<T, void> {
  const finish = generator.return.bind(generator);
  generator.return = (value) => {
    end();
    return finish(value);
  };
  return generator;
}
