import { PaginationError } from "../../errors/index.js";
import { type Emitted, refuseEmptyPageWithMore } from "../emitter.js";
import { isListEmpty, offsetOf, type PageRead, type PageRequest } from "../page.js";
import type { PageStream } from "../prefetch.js";
import { type GaplessPlan, overlappingRequest, requestReaching } from "./plan.js";
import type { GaplessReadState } from "./read-state.js";

/** So many pages running may fail to bring anything new while a gap is searched. Enough to go back through any list. */
const MAX_SEARCHES = 24;
/** Sizes below this one all divide some positions (12 is one), so that no page there can begin before and end behind them. */
const SMALLEST_OVERLAPPING_CAP = 5;

/**
 * - `joined`: the page that was apart no longer is.
 * - `elsewhere`: what was read ends beyond that page or far before it; go on from where that is.
 * - `finished`: the end of the list was reached.
 */
type GapFillResult = "joined" | "elsewhere" | "finished";

/**
 * Reads what lies between the end of what was read and a page that is apart from it.
 *
 * The page itself is kept meanwhile: a page is a true run of the list whenever it was read, so once one of its records has
 * been seen, what follows in it can be believed.
 */
export async function* fillGap<T>(
  stream: PageStream<T>,
  readState: GaplessReadState<T>,
  plan: GaplessPlan,
  { page: target }: PageRead<T>,
): AsyncGenerator<Emitted<T>, GapFillResult> {
  const targetEnd = offsetOf(target) + target.value.length;
  let gap: Gap = {
    low: readState.low < readState.end ? readState.low : undefined,
    high: Math.min(offsetOf(target), target.totalCount),
    expected: readState.end - Math.max(0, readState.totalCount - target.totalCount),
    misses: 0,
    hits: 0,
  };
  for (let searches = 1; searches <= MAX_SEARCHES; searches += 1) {
    const read = await stream.read(searchRequest(gap, plan.cap, plan.shifts));
    const { page } = read;
    refuseEmptyPageWithMore(page);
    if (isListEmpty(page)) return "finished";
    const overlap = readState.overlapOf(page);
    if (overlap.continuity === "apart") {
      gap = notFound(gap, Math.min(offsetOf(page), page.totalCount));
      continue;
    }
    const fresh = readState.accept(read, overlap);
    if (fresh.length > 0) yield readState.emit(read, fresh);
    if (!page.hasMore) return "finished";
    if (overlap.continuity === "covered") {
      gap = foundBefore(gap, readState.low, page.totalCount, plan.cap);
      continue;
    }
    searches = 0;
    if (readState.overlapOf(target).continuity !== "apart") return "joined";
    // A long gap is better read ahead than one page after the other, if not too many pages are given up for that.
    const isFar = offsetOf(target) - readState.end > stream.planned.length * plan.cap;
    if (target.value.length === 0 || readState.end >= targetEnd || isFar) return "elsewhere";
    // Here the end is known: no search, just the next page.
    gap = { low: readState.end, high: readState.end, expected: readState.end, misses: 0, hits: 0 };
  }
  const reason =
    plan.cap < SMALLEST_OVERLAPPING_CAP
      ? `the service gives only ${plan.cap} records a page, too few for pages to overlap`
      : "the list changes faster than it can be read, or its order changes";
  throw new PaginationError(
    `Page ${target.page} does not join what was read before it, and ${MAX_SEARCHES} pages read to find where it does brought nothing new: ${reason}.`,
  );
}

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
