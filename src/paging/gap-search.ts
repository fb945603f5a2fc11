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
