import { PaginationError } from "../errors/index.js";
import { type Checkpoint, keysAfter } from "./checkpoint.js";
import type { Eta } from "./eta.js";
import type { Page, PagingSettings } from "./page.js";
import { offsetOf } from "./position.js";
import { type RecordKey, SeenKeys } from "./seen-keys.js";

/** So many pages running may bring nothing new while the service says that there is more. */
const MAX_BARREN_PAGES = 3;

/** How far a list has been read with a page. */
export type Reach = Pick<Checkpoint, "end" | "totalCount" | "pageSize">;

/** A page for the consumer, and how far the iteration has come once the consumer is done with it. */
export interface Given<T> {
  page: Page<T>;
  checkpoint: Checkpoint;
}

/** What an iteration has given so far: each record once, with the progress that it makes. */
export class Delivery<T> {
  /** How often pages had to be read again because records had moved. */
  gapsRepaired = 0;

  readonly #settings: Pick<PagingSettings<T>, "list" | "keyOf" | "onProgress">;
  readonly #stream: { readonly requests: number };
  readonly #eta: Pick<Eta, "ms">;
  readonly #seen = new SeenKeys();
  /** Keys of the records given last. */
  #keys: RecordKey[];
  #received = 0;
  #duplicates = 0;
  /** Position at which the furthest page so far begins. */
  #reached = -1;
  #barrenPages = 0;

  constructor(
    settings: Pick<PagingSettings<T>, "list" | "keyOf" | "onProgress" | "from">,
    stream: { readonly requests: number },
    eta: Pick<Eta, "ms">,
  ) {
    this.#settings = settings;
    this.#stream = stream;
    this.#eta = eta;
    this.#keys = settings.from?.keys ?? [];
    for (const key of this.#keys) this.#seen.add(key);
  }

  /** True if a record can be told from another. */
  get hasKeys(): boolean {
    return this.#settings.keyOf !== undefined;
  }

  keyOf(record: T): RecordKey | undefined {
    return this.#settings.keyOf?.(record);
  }

  isSeen(record: T): boolean {
    const key = this.keyOf(record);
    return key !== undefined && this.#seen.has(key);
  }

  /** Those of the records, from the index `from`, that were not met before, which from now on they are. */
  fresh(records: T[], from = 0): T[] {
    if (!this.hasKeys) return records.slice(from);
    return records.filter((record, index) => {
      const key = this.keyOf(record);
      const isNew = key === undefined || !this.#seen.has(key);
      if (!isNew) this.#duplicates += 1;
      if (!isNew || index < from) return false;
      if (key !== undefined) this.#seen.add(key);
      return true;
    });
  }

  /** Where records cannot be told apart, a page is new if it begins behind all others and before the list's end. */
  #goesOn(page: Page<T>): boolean {
    return offsetOf(page) > this.#reached && offsetOf(page) < page.totalCount;
  }

  /**
   * The page as the consumer gets it, with `fresh` for its records, which brings the iteration to `reach`. Throws when
   * nothing new has come for too long, except for pages that are `expected` to bring nothing.
   */
  give(page: Page<T>, fresh: T[], { end, totalCount, pageSize }: Reach, expected = false): Given<T> {
    if (fresh.length > 0 && (this.hasKeys || expected || this.#goesOn(page))) this.#barrenPages = 0;
    else if (!expected) this.#barrenPages += 1;
    if (page.hasMore && this.#barrenPages >= MAX_BARREN_PAGES) {
      throw new PaginationError(
        `The last ${MAX_BARREN_PAGES} pages, up to page ${page.page}, brought no new record, and the service says that there are more.`,
      );
    }
    this.#reached = Math.max(this.#reached, offsetOf(page));
    this.#received += fresh.length;
    this.#keys = keysAfter(
      this.#keys,
      fresh.map((record) => this.keyOf(record)),
    );
    this.#settings.onProgress?.({
      received: this.#received,
      totalCount: page.totalCount,
      page: page.page,
      pageCount: page.pageCount,
      requests: this.#stream.requests,
      duplicates: this.#duplicates,
      gapsRepaired: this.gapsRepaired,
      etaMs: this.#eta.ms(page.hasMore ? Math.max(0, page.totalCount - end) : 0, pageSize),
    });
    const { list } = this.#settings;
    return {
      page: { ...page, value: fresh },
      checkpoint: { version: 1, list, done: false, end, totalCount, pageSize, keys: this.#keys },
    };
  }
}

/** An empty page cannot be followed by another: the service contradicts itself. */
export function refuseEmptyPageWithMore(page: Page<unknown>): void {
  if (page.value.length === 0 && page.hasMore) {
    throw new PaginationError(`Page ${page.page} is empty, and the service says that there are more.`);
  }
}
