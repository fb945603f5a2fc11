import { bestOverlappingPage, leftmostPageReaching } from "../choose-page.js";
import type { PageRequest } from "../page.js";

/** What is known about the position to which the end of the records read so far has moved. */
export interface GapSearch {
  /** Positions before this one have been read, if that is known of any. */
  low: number | undefined;
  /** At this position begin records that have not been read. */
  high: number;
  /** The most probable position of the end. */
  expected: number;
  /** Consecutive pages that were disjoint. */
  disjointPages: number;
  /** Consecutive pages that were contained in what was read, although they end at or after `high`. */
  containedPages: number;
}

/** After a disjoint page that begins at `position`: the end is further left. */
export function gapSearchAfterDisjoint(search: GapSearch, position: number): GapSearch {
  return {
    ...search,
    low: undefined,
    high: Math.min(search.high, position),
    disjointPages: search.disjointPages + 1,
    containedPages: 0,
  };
}

/** After a contained page that ends at `position`: the end is further right, twice as far each time. */
export function gapSearchAfterContained(
  search: GapSearch,
  position: number,
  totalCount: number,
  maxPageSize: number,
): GapSearch {
  if (position < search.high) return { ...search, low: position, disjointPages: 0 };
  const high = Math.max(position, Math.min(totalCount, position + maxPageSize * 2 ** (search.containedPages + 1)));
  return { ...search, low: position, high, disjointPages: 0, containedPages: search.containedPages + 1 };
}

/** The next page to request in order to find the end. */
export function nextSearchPage(search: GapSearch, maxPageSize: number, shifts: readonly number[]): PageRequest {
  const { low, high, expected, disjointPages } = search;
  if (low !== undefined) {
    const end = high - low > maxPageSize ? Math.floor((low + high) / 2) : low;
    return bestOverlappingPage({ end, maxPageSize, shifts });
  }
  // The list may move right meanwhile: read a little further than `high`.
  const margin = Math.ceil(maxPageSize / 10);
  if (disjointPages === 0)
    return leftmostPageReaching(Math.min(high, expected + Math.ceil(maxPageSize / 2)) + margin, maxPageSize);
  // First the page directly before, then twice as far back each time.
  const back = disjointPages === 1 ? 0 : maxPageSize * 2 ** (disjointPages - 2);
  return leftmostPageReaching(Math.max(1, high + margin - back), maxPageSize);
}
