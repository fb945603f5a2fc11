import { PaginationError } from "../errors/index.js";
import { type Given, refuseEmptyPageWithMore } from "./delivery.js";
import { foundBefore, type Gap, notFound, searchRequest } from "./gap-search.js";
import type { GaplessPlan } from "./gapless-plan.js";
import type { GaplessProgress } from "./gapless-progress.js";
import type { PageStream } from "./page-stream.js";
import { isListEmpty, offsetOf, type PageRead } from "./position.js";

/** So many pages running may fail to bring anything new while a gap is searched. Enough to go back through any list. */
const MAX_SEARCHES = 24;
/** Sizes below this one all divide some positions (12 is one), so that no page there can begin before and end behind them. */
const SMALLEST_OVERLAPPING_CAP = 5;

/**
 * - `joined`: the page that was apart no longer is.
 * - `elsewhere`: what was read ends beyond that page or far before it; go on from where that is.
 * - `finished`: the end of the list was reached.
 */
type Outcome = "joined" | "elsewhere" | "finished";

/**
 * Reads what lies between the end of what was read and a page that is apart from it.
 *
 * The page itself is kept meanwhile: a page is a true run of the list whenever it was read, so once one of its records has
 * been seen, what follows in it can be believed.
 */
export async function* bridge<T>(
  stream: PageStream<T>,
  progress: GaplessProgress<T>,
  plan: GaplessPlan,
  { page: target }: PageRead<T>,
): AsyncGenerator<Given<T>, Outcome> {
  const targetEnd = offsetOf(target) + target.value.length;
  let gap: Gap = {
    low: progress.low < progress.end ? progress.low : undefined,
    high: Math.min(offsetOf(target), target.totalCount),
    expected: progress.end - Math.max(0, progress.totalCount - target.totalCount),
    misses: 0,
    hits: 0,
  };
  for (let searches = 1; searches <= MAX_SEARCHES; searches += 1) {
    const read = await stream.read(searchRequest(gap, plan.cap, plan.shifts));
    const { page } = read;
    refuseEmptyPageWithMore(page);
    if (isListEmpty(page)) return "finished";
    const overlap = progress.overlapOf(page);
    if (overlap.continuity === "apart") {
      gap = notFound(gap, Math.min(offsetOf(page), page.totalCount));
      continue;
    }
    const fresh = progress.accept(read, overlap);
    if (fresh.length > 0) yield progress.give(read, fresh);
    if (!page.hasMore) return "finished";
    if (overlap.continuity === "covered") {
      gap = foundBefore(gap, progress.low, page.totalCount, plan.cap);
      continue;
    }
    searches = 0;
    if (progress.overlapOf(target).continuity !== "apart") return "joined";
    // A long gap is better read ahead than one page after the other, if not too many pages are given up for that.
    const isFar = offsetOf(target) - progress.end > stream.planned.length * plan.cap;
    if (target.value.length === 0 || progress.end >= targetEnd || isFar) return "elsewhere";
    // Here the end is known: no search, just the next page.
    gap = { low: progress.end, high: progress.end, expected: progress.end, misses: 0, hits: 0 };
  }
  const reason =
    plan.cap < SMALLEST_OVERLAPPING_CAP
      ? `the service gives only ${plan.cap} records a page, too few for pages to overlap`
      : "the list changes faster than it can be read, or its order changes";
  throw new PaginationError(
    `Page ${target.page} does not join what was read before it, and ${MAX_SEARCHES} pages read to find where it does brought nothing new: ${reason}.`,
  );
}
