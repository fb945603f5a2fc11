import { bestOverlappingPage, leftmostPageReaching } from "../choose-page.js";
import { endOfPage, type Page, type PageRequest, startOfPage } from "../page.js";
import type { RecordKey } from "../seen-keys.js";

/** What is known about the position to which the end of the records read so far has moved. */
export interface GapSearch {
  /** Positions before this one have been read, if that is known of any. */
  low: number | undefined;
  /** At this position begin records that have not been read. */
  high: number;
  /** The most probable position of the end. */
  expected: number;
  /** Consecutive pages without a record seen before. */
  misses: number;
  /** Consecutive pages at or after `high` that contained only records seen before. */
  hits: number;
}

/** After a page that begins at `position` and contains no record seen before: the end is further left. */
export function gapSearchAfterMiss(search: GapSearch, position: number): GapSearch {
  return { ...search, low: undefined, high: Math.min(search.high, position), misses: search.misses + 1, hits: 0 };
}

/** After a page that ends at `position` and contains no new record: the end is further right, twice as far each time. */
export function gapSearchAfterHit(
  search: GapSearch,
  position: number,
  totalCount: number,
  maxPageSize: number,
): GapSearch {
  if (position < search.high) return { ...search, low: position, misses: 0 };
  const high = Math.max(position, Math.min(totalCount, position + maxPageSize * 2 ** (search.hits + 1)));
  return { ...search, low: position, high, misses: 0, hits: search.hits + 1 };
}

/** The next page to request in order to find the end. */
export function nextSearchPage(search: GapSearch, maxPageSize: number, shifts: readonly number[]): PageRequest {
  const { low, high, expected, misses } = search;
  if (low !== undefined) {
    const end = high - low > maxPageSize ? Math.floor((low + high) / 2) : low;
    return bestOverlappingPage({ end, maxPageSize, shifts });
  }
  // The list may move right meanwhile: read a little further than `high`.
  const margin = Math.ceil(maxPageSize / 10);
  if (misses === 0)
    return leftmostPageReaching(Math.min(high, expected + Math.ceil(maxPageSize / 2)) + margin, maxPageSize);
  // First the page directly before, then twice as far back each time.
  const back = misses === 1 ? 0 : maxPageSize * 2 ** (misses - 2);
  return leftmostPageReaching(Math.max(1, high + margin - back), maxPageSize);
}

/** This many halvings find a page of 250 records among 16 million. */
const MAX_RESUME_SEARCHES = 16;

/**
 * Searches the position at which an iteration ended, by the keys of the records that it emitted last.
 *
 * The order of the keys is only a hint where to search. A list sorted by something else may have rising keys for a while, so
 * only a record that was emitted proves that none was missed before it.
 */
export class ResumeSearch {
  readonly #keys: readonly RecordKey[];
  readonly #expected: (totalCount: number) => number;
  #searches = 0;
  #low = 0;
  #high = Infinity;

  /** `expected`: the most probable position, given the current number of records. */
  constructor(keys: readonly RecordKey[], expected: (totalCount: number) => number) {
    this.#keys = keys;
    this.#expected = expected;
  }

  /**
   * The position to search next, after a page without a record that was emitted, whose first record has the key `firstKey`.
   * `undefined` if there is none left.
   */
  nextPosition(page: Page<unknown>, firstKey: RecordKey | undefined): number | undefined {
    if (this.#low >= Math.min(this.#high, page.totalCount) || this.#searches >= MAX_RESUME_SEARCHES) return undefined;
    const side = page.value.length === 0 ? "after" : guessSideOf(firstKey, this.#keys);
    if (side === undefined && this.#searches > 0) return undefined;
    if (side === "before") this.#low = endOfPage(page);
    if (side === "after") this.#high = Math.min(this.#high, startOfPage(page));
    const limit = Math.min(this.#high, page.totalCount);
    const guess = this.#searches === 0 ? this.#expected(page.totalCount) : Math.ceil((this.#low + limit) / 2);
    this.#searches += 1;
    return Math.max(this.#low + 1, Math.min(guess, limit));
  }
}

/** On which side of its neighbours a record probably stands, if their keys rise or fall throughout. */
export function guessSideOf(
  key: RecordKey | undefined,
  neighbours: readonly RecordKey[],
): "before" | "after" | undefined {
  const [first, second] = neighbours;
  if (key === undefined || first === undefined || second === undefined) return undefined;
  const isRising = second > first;
  const isSorted = neighbours.every((other, index) => {
    const previous = neighbours[index - 1];
    return previous === undefined || (isRising ? other > previous : other < previous);
  });
  if (!isSorted) return undefined;
  return (isRising ? key < first : key > first) ? "before" : "after";
}
