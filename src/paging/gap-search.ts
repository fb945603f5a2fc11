import { overlappingRequest, requestReaching } from "./overlap.js";
import type { PageRequest } from "./page.js";

/** What is known about where the end of what was read has moved to. */
export interface Gap {
  /** Positions before this one have been read, if any is known for which that holds. */
  low: number | undefined;
  /** At this position something begins that has not been read. */
  high: number;
  /** Where the end is most likely to be. */
  expected: number;
  /** Searches that found nothing known, one after the other. */
  misses: number;
  /** Searches that found nothing but known records where the end was thought to be, one after the other. */
  hits: number;
}

/** A page that begins at `position` has shown nothing that is known: the end is further left. */
export function notFound(gap: Gap, position: number): Gap {
  return { ...gap, low: undefined, high: Math.min(gap.high, position), misses: gap.misses + 1, hits: 0 };
}

/** A page that ends at `position` has shown nothing that is new: the end is further right, twice as far each time. */
export function foundBefore(gap: Gap, position: number, totalCount: number, cap: number): Gap {
  if (position < gap.high) return { ...gap, low: position, misses: 0 };
  const high = Math.max(position, Math.min(totalCount, position + cap * 2 ** (gap.hits + 1)));
  return { ...gap, low: position, high, misses: 0, hits: gap.hits + 1 };
}

/** The page to read next in order to close a gap. */
export function searchRequest(gap: Gap, cap: number, shifts: readonly number[]): PageRequest {
  const { low, high, expected, misses } = gap;
  // The list may move right meanwhile: reach a little further than to the gap's end.
  const margin = Math.ceil(cap / 10);
  if (low !== undefined) {
    const end = high - low > cap ? Math.floor((low + high) / 2) : low;
    return overlappingRequest({ end, cap, shifts });
  }
  if (misses === 0) return requestReaching(Math.min(high, expected + Math.ceil(cap / 2)) + margin, cap);
  // First the page right before, then twice as far back each time.
  const back = misses === 1 ? 0 : cap * 2 ** (misses - 2);
  return requestReaching(Math.max(1, high + margin - back), cap);
}
