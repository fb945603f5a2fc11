import { PaginationError } from "../../errors/index.js";
import { canPageOverlap } from "../choose-page.js";
import type { EmittedPage } from "../emitter.js";
import { endOfPage, isListEmpty, type Page, startOfPage } from "../page.js";
import type { PageStream } from "../page-stream.js";
import { refuseEmptyPageWithMore } from "../stall-guard.js";
import { type GapSearch, gapSearchAfterContained, gapSearchAfterDisjoint, nextSearchPage } from "./gap-search.js";
import type { GaplessPlan } from "./plan.js";
import type { GaplessProgress } from "./progress.js";

/** Consecutive searches in a gap that may find no new record. Enough to go back through a list of any length. */
const MAX_FRUITLESS_SEARCHES = 24;

/** What a gapless iteration consists of. */
export interface GaplessParts<T> {
  /** Of the list. */
  label: string;
  plan: GaplessPlan;
  stream: PageStream<T>;
  progress: GaplessProgress<T>;
}

/** How a gap ends. */
type GapEnd = "closed" | "target-obsolete" | "list-ended";

/**
 * Reads the records between the end of what was read and a disjoint page, the target.
 *
 * The target is kept meanwhile. It is one contiguous run of the list whenever it was read, so its records can be emitted
 * once one of them has been seen.
 */
export async function* fillGap<T>(
  target: Page<T>,
  { label, plan, stream, progress }: GaplessParts<T>,
): AsyncGenerator<EmittedPage<T>, GapEnd> {
  /** The target is no longer needed, or so far away that it takes fewer requests to read it and the planned pages again. */
  const isTargetObsolete = () => {
    const { probableEnd } = progress.frontier;
    if (target.value.length === 0 || probableEnd >= endOfPage(target)) return true;
    return startOfPage(target) - probableEnd > stream.planned.length * plan.maxPageSize;
  };
  const { probableEnd: end, provenEnd, totalCount } = progress.frontier;
  let search: GapSearch = {
    low: provenEnd < end ? provenEnd : undefined,
    high: Math.min(startOfPage(target), target.totalCount),
    expected: end - Math.max(0, totalCount - target.totalCount),
    disjointPages: 0,
    containedPages: 0,
  };
  let fruitlessSearches = 0;
  while (fruitlessSearches < MAX_FRUITLESS_SEARCHES) {
    fruitlessSearches += 1;
    const received = await stream.fetchUnplanned(nextSearchPage(search, plan.maxPageSize, plan.shifts));
    const { page } = received;
    refuseEmptyPageWithMore(page, label);
    if (isListEmpty(page)) return "list-ended";
    const overlap = progress.overlapOf(page);
    if (overlap.continuity === "disjoint") {
      search = gapSearchAfterDisjoint(search, Math.min(startOfPage(page), page.totalCount));
      continue;
    }
    const advanced = progress.advancePast(received, overlap);
    if (advanced.newRecords.length > 0) yield progress.emit(advanced);
    if (!page.hasMore) return "list-ended";
    if (overlap.continuity === "contained") {
      search = gapSearchAfterContained(search, progress.frontier.provenEnd, page.totalCount, plan.maxPageSize);
      continue;
    }
    if (!progress.isDisjoint(target)) return "closed";
    if (isTargetObsolete()) return "target-obsolete";
    // Here the end is known: the next page follows without a search.
    fruitlessSearches = 0;
    const reached = progress.frontier.probableEnd;
    search = { low: reached, high: reached, expected: reached, disjointPages: 0, containedPages: 0 };
  }
  const problem = `${label}: page ${target.page} does not overlap the records read before it, and ${MAX_FRUITLESS_SEARCHES} pages read in between contained no new record`;
  const { maxPageSize } = plan;
  const stuckAt = progress.frontier.probableEnd;
  throw new PaginationError(
    canPageOverlap(stuckAt, maxPageSize)
      ? `${problem} (the list changes faster than it can be read, or its order changes). Read the list again later.`
      : `${problem}: the service returns at most ${maxPageSize} records per page, and at position ${stuckAt} no such pages overlap. Read the list without gapless.`,
  );
}
