import { type Page, startOfPage } from "../page.js";

/** How a page relates to the records that were read before. */
export interface PageOverlap {
  continuity: PageContinuity;
  /** Index of the first record seen before, -1 if there is none. */
  first: number;
  /** Index of the last record seen before, -1 if there is none. */
  last: number;
}

/**
 * - `overlapping`: no record before the page was missed. A page is one contiguous run of the list, so a record seen before
 *   proves that the page begins at or before the end of what was read. Nothing precedes position 0.
 * - `contained`: overlapping, and the page ends within what was read before.
 * - `disjoint`: records may be missing before the page.
 */
export type PageContinuity = "overlapping" | "contained" | "disjoint";

export function pageOverlapOf<T>(page: Page<T>, isSeen: (record: T) => boolean): PageOverlap {
  const { value } = page;
  const first = value.findIndex(isSeen);
  const last = first < 0 ? -1 : value.findLastIndex(isSeen);
  if (value.length === 0 || (first < 0 && startOfPage(page) !== 0)) return { continuity: "disjoint", first, last };
  return { continuity: last === value.length - 1 ? "contained" : "overlapping", first, last };
}
