import { PaginationError } from "../errors/index.js";
import type { Page, PagingSettings } from "./page.js";
import { offsetOf } from "./position.js";
import { SeenKeys } from "./seen-keys.js";

/** So many pages running may bring nothing new while the service says that there is more. */
const MAX_BARREN_PAGES = 3;

/** What an iteration has given so far: each record once, with the progress that it makes. */
export class Delivery<T> {
  readonly #settings: Pick<PagingSettings<T>, "keyOf" | "onProgress">;
  readonly #requests: () => number;
  readonly #seen = new SeenKeys();
  #received = 0;
  /** Position at which the furthest page so far begins. */
  #reached = -1;
  #barrenPages = 0;

  constructor(settings: Pick<PagingSettings<T>, "keyOf" | "onProgress">, requests: () => number) {
    this.#settings = settings;
    this.#requests = requests;
  }

  /** True if a record can be told from another. */
  get hasKeys(): boolean {
    return this.#settings.keyOf !== undefined;
  }

  isSeen(record: T): boolean {
    const { keyOf } = this.#settings;
    const key = keyOf?.(record);
    return key !== undefined && this.#seen.has(key);
  }

  /** Those of the records that were not met before, which from now on they are. */
  fresh(records: T[]): T[] {
    const { keyOf } = this.#settings;
    if (keyOf === undefined) return records;
    return records.filter((record) => {
      const key = keyOf(record);
      return key === undefined || this.#seen.add(key);
    });
  }

  /** Where records cannot be told apart, a page is new if it begins behind all others and before the list's end. */
  #goesOn(page: Page<T>): boolean {
    return offsetOf(page) > this.#reached && offsetOf(page) < page.totalCount;
  }

  /**
   * The page as the consumer gets it, with `fresh` for its records. Throws when nothing new has come for too long, except for
   * pages that are `expected` to bring nothing.
   */
  give(page: Page<T>, fresh: T[], expected = false): Page<T> {
    if (fresh.length > 0 && (this.hasKeys || expected || this.#goesOn(page))) this.#barrenPages = 0;
    else if (!expected) this.#barrenPages += 1;
    if (page.hasMore && this.#barrenPages >= MAX_BARREN_PAGES) {
      throw new PaginationError(
        `The last ${MAX_BARREN_PAGES} pages, up to page ${page.page}, brought no new record, and the service says that there are more.`,
      );
    }
    this.#reached = Math.max(this.#reached, offsetOf(page));
    this.#received += fresh.length;
    const { totalCount, pageCount } = page;
    const received = this.#received;
    this.#settings.onProgress?.({ received, totalCount, page: page.page, pageCount, requests: this.#requests() });
    return { ...page, value: fresh };
  }
}

/** An empty page cannot be followed by another: the service contradicts itself. */
export function refuseEmptyPageWithMore(page: Page<unknown>): void {
  if (page.value.length === 0 && page.hasMore) {
    throw new PaginationError(`Page ${page.page} is empty, and the service says that there are more.`);
  }
}
