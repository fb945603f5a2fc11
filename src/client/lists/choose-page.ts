import type { PageRequest } from "./page.js";

/*
 * A page can only begin at `(page - 1) * pageSize`, so a page for a position is chosen by trying every size.
 */

/** How far a list has been read, and how it has moved. */
export interface OverlappingPageInput {
  /** Position up to which the list has been read. */
  end: number;
  /** Largest page size to request. */
  maxPageSize: number;
  /** By how many positions the list moved left between two responses, for the last pages. */
  shifts: readonly number[];
}

/**
 * The page that overlaps what has been read and is expected to contain the most new records.
 *
 * For each size one page begins just before `end`. Its gain is what it contains after `end`. If the list moves by the whole
 * overlap, the gain is lost, since another page has to be read first. Without shifts, the best page is the one that ends
 * furthest right: on a calm list it needs the fewest requests.
 */
export function bestOverlappingPage({ end, maxPageSize, shifts }: OverlappingPageInput): PageRequest {
  // If no page can overlap, the next page follows without overlap. Once the list has moved, a gap search joins the two.
  let best = { page: Math.floor(end / maxPageSize) + 1, pageSize: maxPageSize };
  let bestValue = -Infinity;
  for (let pageSize = 1; pageSize <= maxPageSize; pageSize += 1) {
    const pagesBefore = Math.max(0, Math.floor((end - 1) / pageSize));
    const gain = (pagesBefore + 1) * pageSize - end;
    if (gain <= 0) continue;
    const value = gain - maxPageSize * gapProbability(end - pagesBefore * pageSize, shifts);
    // Of equal values, the larger page overlaps more.
    if (value < bestValue) continue;
    best = { page: pagesBefore + 1, pageSize };
    bestValue = value;
  }
  return best;
}

/** Whether a page can begin before this position and end after it: a size must not divide it. */
export function canPageOverlap(position: number, maxPageSize: number): boolean {
  for (let pageSize = 2; pageSize <= maxPageSize; pageSize += 1) if (position % pageSize !== 0) return true;
  return false;
}

/** The page that contains the position before `position` and begins furthest to the left. */
export function leftmostPageReaching(position: number, maxPageSize: number): PageRequest {
  let best = { page: Math.max(1, Math.ceil(position / maxPageSize)), pageSize: maxPageSize };
  for (let pageSize = maxPageSize; pageSize >= 1; pageSize -= 1) {
    const page = Math.max(1, Math.ceil(position / pageSize));
    if ((page - 1) * pageSize < (best.page - 1) * best.pageSize) best = { page, pageSize };
  }
  return best;
}

/** Share of the last shifts for which an overlap of this many records would have been too small. */
function gapProbability(overlap: number, shifts: readonly number[]): number {
  let failures = 0;
  for (const shift of shifts) if (shift >= overlap) failures += 1;
  return shifts.length === 0 ? 0 : failures / shifts.length;
}

/** The page with the widest margin around two positions. It contains them if any page does. */
export function pageAround(from: number, to: number, maxPageSize: number): PageRequest {
  let best = { page: 1, pageSize: maxPageSize };
  let widest = -Infinity;
  for (let pageSize = maxPageSize; pageSize >= 1; pageSize -= 1) {
    for (const page of [Math.floor(from / pageSize) + 1, Math.ceil(to / pageSize)]) {
      if (page < 1) continue;
      const start = (page - 1) * pageSize;
      const margin = Math.min(start === 0 ? Infinity : from - start, start + pageSize - 1 - to);
      if (margin <= widest) continue;
      widest = margin;
      best = { page, pageSize };
    }
  }
  return best;
}
