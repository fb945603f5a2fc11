import { PaginationError } from "../errors/index.js";
import { type Checkpoint, keysAfter } from "./checkpoint.js";
import type { Eta } from "./estimate.js";
import { offsetOf, type Page, type PagingSettings } from "./page.js";
import { type RecordKey, SeenKeys } from "./seen-keys.js";

/** So many pages running may bring nothing new while the service says that there is more. */
const MAX_STALLED_PAGES = 3;

/** How far a list has been read with a page. */
export type ReadPosition = Pick<Checkpoint, "end" | "totalCount" | "pageSize">;

/** A page for the consumer, and how far the iteration has come once the consumer is done with it. */
export interface Emitted<T> {
  page: Page<T>;
  checkpoint: Checkpoint;
}

/** What an iteration has given so far: each record once, with the progress that it makes. */
export interface Emitter<T> {
  /** How often pages had to be read again because records had moved. */
  gapsRepaired: number;
  /** True if a record can be told from another. */
  readonly hasKeys: boolean;
  keyOf(record: T): RecordKey | undefined;
  isSeen(record: T): boolean;
  /** Those of the records, from the index `from`, that were not met before, which from now on they are. */
  takeUnseen(records: T[], from?: number): T[];
  /**
   * The page as the consumer gets it, with `fresh` for its records, which brings the iteration to `reach`. Throws when
   * nothing new has come for too long, except for pages that are `expected` to bring nothing.
   */
  emit(page: Page<T>, fresh: T[], reach: ReadPosition, expected?: boolean): Emitted<T>;
}

export function createEmitter<T>(
  { list, keyOf: givenKeyOf, onProgress, from }: Pick<PagingSettings<T>, "list" | "keyOf" | "onProgress" | "from">,
  stream: { readonly requests: number },
  eta: Pick<Eta, "ms">,
): Emitter<T> {
  const seen = new SeenKeys();
  /** Keys of the records given last. */
  let keys: RecordKey[] = from?.keys ?? [];
  for (const key of keys) seen.add(key);
  const hasKeys = givenKeyOf !== undefined;
  const keyOf = (record: T) => givenKeyOf?.(record);
  let received = 0;
  let duplicates = 0;
  /** Position at which the furthest page so far begins. */
  let reached = -1;
  let stalledPages = 0;

  const emitter: Emitter<T> = {
    gapsRepaired: 0,
    hasKeys,
    keyOf,
    isSeen(record) {
      const key = keyOf(record);
      return key !== undefined && seen.has(key);
    },
    takeUnseen(records, from = 0) {
      if (!hasKeys) return records.slice(from);
      return records.filter((record, index) => {
        const isNew = !emitter.isSeen(record);
        if (!isNew) duplicates += 1;
        if (!isNew || index < from) return false;
        const key = keyOf(record);
        if (key !== undefined) seen.add(key);
        return true;
      });
    },
    emit(page, fresh, { end, totalCount, pageSize }, expected = false) {
      const offset = offsetOf(page);
      // Where records cannot be told apart, a page is new if it begins behind all others and before the list's end.
      const goesOn = hasKeys || expected || (offset > reached && offset < page.totalCount);
      if (fresh.length > 0 && goesOn) stalledPages = 0;
      else if (!expected) stalledPages += 1;
      if (page.hasMore && stalledPages >= MAX_STALLED_PAGES) {
        throw new PaginationError(
          `The last ${MAX_STALLED_PAGES} pages, up to page ${page.page}, brought no new record, and the service says that there are more.`,
        );
      }
      reached = Math.max(reached, offset);
      received += fresh.length;
      keys = keysAfter(keys, fresh.map(keyOf));
      onProgress?.({
        received,
        totalCount: page.totalCount,
        page: page.page,
        pageCount: page.pageCount,
        requests: stream.requests,
        duplicates,
        gapsRepaired: emitter.gapsRepaired,
        etaMs: eta.ms(page.hasMore ? Math.max(0, page.totalCount - end) : 0, pageSize),
      });
      return {
        page: { ...page, value: fresh },
        checkpoint: { version: 1, list, done: false, end, totalCount, pageSize, keys },
      };
    },
  };
  return emitter;
}

/** An empty page cannot be followed by another: the service contradicts itself. */
export function refuseEmptyPageWithMore(page: Page<unknown>): void {
  if (page.value.length === 0 && page.hasMore) {
    throw new PaginationError(`Page ${page.page} is empty, and the service says that there are more.`);
  }
}
