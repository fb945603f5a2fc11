import { PaginationError } from "../../../shared/errors/index.js";
import { canPageOverlap, leftmostPageReaching } from "../choose-page.js";
import type { EmittedPage } from "../emitter.js";
import { endOfPage, type IterationSession, isListEmpty, type Page, type PageRequest, startOfPage } from "../page.js";
import { PageStream } from "../page-stream.js";
import type { RecordKey } from "../seen-keys.js";
import { refuseEmptyPageWithMore } from "../stall-guard.js";
import { GapSearch } from "./gap-search.js";
import { GaplessPlan } from "./plan.js";
import { GaplessProgress } from "./progress.js";
import { ResumeSearch } from "./resume-search.js";

/** This many consecutive pages of a gap are read that do not show where what was read ends. Enough for a list of any length. */
const MAX_GAP_SEARCHES = 24;

/** How a gap ends. */
type GapEnd = "closed" | "target-obsolete" | "list-ended";

/**
 * Reads a list without missing a record that exists the whole time, whatever is added and removed meanwhile.
 *
 * **Why nothing is missed.** Pages are cut by position, and positions move. Sort values prove nothing, since the service
 * ignores an unknown sort column. Records seen before do: a page is one contiguous run of the list at one moment, and records
 * keep their order. If a page contains a record that was seen, it begins at or before the end of what was read: no unread record
 * precedes it, so it can be emitted, whenever it was read. Nothing precedes position 0, so a page that begins there needs no proof.
 *
 * **States of an iteration.**
 * - *Beginning*: the first page needs no proof. After a checkpoint, a page is searched that contains one of the records
 *   emitted last (`ResumeSearch`); if there is none, the list is read from position 0.
 * - *Overlapping*: the next page contains a record seen before. It is emitted, and the frontier moves to its end. Each
 *   further page is requested with a number and size that make it overlap (`GaplessPlan`).
 * - *Gap*: the next page is disjoint. It becomes the target, and pages are read from the frontier towards it (`#fillGap`)
 *   until the state is Overlapping again: the target overlaps (`closed`), or is of no more use (`target-obsolete`).
 * - *Ended*: a page has no `hasMore`, or the list is empty.
 *
 * **What ends an iteration without progress.** Each row has its own count, of consecutive pages. At its limit (in the
 * fifth row: beyond it), the iteration rejects with a `PaginationError`. The third row only counts pages out of the second, and
 * beyond its limit they count there. In the last row, the list is read from its start instead.
 *
 * | pages | limit | counted in |
 * |---|---|---|
 * | empty, although `hasMore` is true | none | `refuseEmptyPageWithMore` |
 * | without a new record, and nothing explains that | `MAX_STALLED_PAGES` | `GaplessStalls` |
 * | without a new record, which growth of the list explains | `MAX_STALLS_EXPLAINED_BY_GROWTH` | `GaplessStalls` |
 * | read in a gap, which do not show where what was read ends | `MAX_GAP_SEARCHES` | `#fillGap` |
 * | at position 0, without a record seen before | `MAX_UNKNOWN_STARTS` | `GaplessFrontier` |
 * | read after a checkpoint, without a record emitted before | `MAX_RESUME_SEARCHES` | `ResumeSearch` |
 *
 * A page without a new record is counted as stalled (second and third row) if it is next in the plan, and as a search (fourth
 * row) if it is read in a gap. One that was requested before the last stalled one was noticed is not counted at all.
 *
 * **Which page is requested next.** `PageStream` plans ahead: after each page the one that probably overlaps it
 * (`GaplessPlan`). When a page is taken whose end the planned pages do not continue, they are dropped for the page that does
 * (`#nextRequestOverride`). In a gap, and after a checkpoint, a search chooses each page from the one before.
 *
 * **Parts.** `iteratePages` takes one page at a time for the consumer and saves its checkpoint. Below it:
 * - `GaplessReader`: the states.
 * - `PageStream`: sends the requests, some of them ahead, and returns the pages in the order of the plan.
 * - `GaplessPlan`: which page comes next, and how many are read at the same time.
 * - `GaplessProgress`: what was read and emitted. `GaplessFrontier` is the end of what was read, `PageEmitter` recognises
 *   records by their keys, `GaplessStalls` judges pages that contain nothing new.
 * - `GapSearch` and `ResumeSearch`: which page may show where the end of what was read is now.
 *
 * The measurements are in docs/decisions/005-gapless-reading.md.
 */
export class GaplessReader<T> {
  readonly #session: IterationSession<T>;
  readonly #plan: GaplessPlan;
  readonly #stream: PageStream<T>;
  readonly #progress: GaplessProgress<T>;

  constructor(session: IterationSession<T>) {
    this.#session = session;
    this.#plan = new GaplessPlan(session);
    this.#stream = new PageStream(session, this.#plan);
    this.#progress = new GaplessProgress(session, this.#plan, this.#stream);
  }

  async *pages(): AsyncGenerator<EmittedPage<T>, void> {
    const { label, page: first, pageSize, from } = this.#session;
    const progress = this.#progress;
    if (from) await this.#resume(from.end, from.keys);
    else this.#stream.continueWith({ page: first, pageSize });
    for (;;) {
      const received = await this.#stream.peek();
      const { page } = received;
      refuseEmptyPageWithMore(page, label);
      if (progress.frontier.hasBegun && isListEmpty(page)) return;
      let overlap = progress.overlapOf(page);
      if (progress.frontier.hasBegun && overlap.continuity === "disjoint") {
        this.#plan.noteGap();
        progress.countGapRepair();
        const gapEnd = yield* this.#fillGap(page);
        if (gapEnd === "list-ended") return;
        if (gapEnd === "target-obsolete") {
          this.#stream.continueWith(this.#requestAtEnd());
          continue;
        }
        // Closed: the page overlaps now.
        overlap = progress.overlapOf(page);
      } else {
        this.#plan.noteOverlap();
      }
      const emitted = progress.emitUnlessStalled(progress.advancePast(received, overlap));
      this.#stream.take(page.hasMore ? this.#nextRequestOverride() : undefined);
      yield emitted;
      if (!page.hasMore) return;
    }
  }

  close(): void {
    this.#stream.close();
  }

  /**
   * Continues after the iteration that read up to `end` and emitted `keys` last: at the first planned page if it contains one
   * of them, else at a page found by a search. If the search finds none, the list is read from its start.
   */
  async #resume(end: number, keys: readonly RecordKey[]): Promise<void> {
    const progress = this.#progress;
    this.#stream.continueWith(this.#requestAtEnd());
    let received = await this.#stream.peek();
    if (isListEmpty(received.page) || !progress.isDisjoint(received.page)) return;
    progress.countGapRepair();
    const { totalCount } = progress.frontier;
    // The best first guess: all records that were added or removed since were before the end.
    const search = new ResumeSearch(keys, (total) => end + total - totalCount);
    let found = 0;
    while (found === 0) {
      const position = search.nextPosition(received.page, progress.firstKeyOf(received.page));
      if (position === undefined) break;
      // An empty page lies behind the end. If all are empty, the first page that is emitted is refused.
      received = await this.#stream.fetchUnplanned(leftmostPageReaching(position, this.#plan.maxPageSize));
      const { last } = progress.overlapOf(received.page);
      if (last >= 0) found = startOfPage(received.page) + last + 1;
    }
    progress.frontier.moveTo(found, received);
    this.#stream.continueWith(this.#requestAtEnd());
  }

  /**
   * Reads the records between the end of what was read and a disjoint page, the target.
   *
   * The target is kept meanwhile. It is one contiguous run of the list whenever it was read, so its records can be emitted
   * once one of them has been seen.
   */
  async *#fillGap(target: Page<T>): AsyncGenerator<EmittedPage<T>, GapEnd> {
    const progress = this.#progress;
    const { probableEnd, provenEnd, totalCount } = progress.frontier;
    const search = new GapSearch(
      {
        // A lower bound only after a contained page: then the list has grown before it. Otherwise the end has moved left.
        low: provenEnd < probableEnd ? provenEnd : undefined,
        high: Math.min(startOfPage(target), target.totalCount),
        expected: probableEnd - Math.max(0, totalCount - target.totalCount),
      },
      this.#plan,
    );
    let searches = 0;
    while (searches < MAX_GAP_SEARCHES) {
      searches += 1;
      const received = await this.#stream.fetchUnplanned(search.next());
      const { page } = received;
      refuseEmptyPageWithMore(page, this.#session.label);
      if (isListEmpty(page)) return "list-ended";
      const overlap = progress.overlapOf(page);
      if (overlap.continuity === "disjoint") {
        search.afterDisjoint(Math.min(startOfPage(page), page.totalCount));
        continue;
      }
      const advanced = progress.advancePast(received, overlap);
      // Without new records there is nothing to emit. Such a page does not count as stalled: it counts as a search.
      if (advanced.newRecords.length > 0) yield progress.emitUnlessStalled(advanced);
      if (!page.hasMore) return "list-ended";
      if (overlap.continuity === "contained") {
        search.afterContained(progress.frontier.provenEnd, page.totalCount);
        continue;
      }
      if (!progress.isDisjoint(target)) return "closed";
      if (this.#isObsolete(target)) return "target-obsolete";
      // The page has shown the end, so the searches begin anew.
      search.restartAt(progress.frontier.probableEnd);
      searches = 0;
    }
    throw this.#gapError(target);
  }

  /** The target is no longer needed, or so far away that it takes fewer requests to read it and the planned pages again. */
  #isObsolete(target: Page<T>): boolean {
    const { probableEnd } = this.#progress.frontier;
    if (target.value.length === 0 || probableEnd >= endOfPage(target)) return true;
    const outstanding = 1 + this.#stream.following.length;
    return startOfPage(target) - probableEnd > outstanding * this.#plan.maxPageSize;
  }

  #gapError(target: Page<T>): PaginationError {
    const problem = `${this.#session.label}: page ${target.page} does not overlap the records read before it, and the last ${MAX_GAP_SEARCHES} pages read in between did not lead to it`;
    const { maxPageSize } = this.#plan;
    const stuckAt = this.#progress.frontier.probableEnd;
    return new PaginationError(
      canPageOverlap(stuckAt, maxPageSize)
        ? `${problem} (the list changes faster than it can be read, or its order changes). Read the list again later.`
        : `${problem}: the service returns at most ${maxPageSize} records per page, and at position ${stuckAt} no such pages overlap. Read the list without gapless.`,
    );
  }

  /** The request to continue with if no page is planned, or if the planned ones contain nothing new, or leave a gap. */
  #nextRequestOverride(): PageRequest | undefined {
    const end = this.#progress.frontier.probableEnd;
    const planned = this.#stream.following;
    const [next] = planned;
    if (next === undefined) return this.#requestAtEnd();
    const continuesWithoutGap =
      this.#plan.expectedStartOf(next) < end && planned.some((request) => this.#plan.expectedEndOf(request) > end);
    return continuesWithoutGap ? undefined : this.#requestAtEnd();
  }

  /** The page that continues at the end of what was read. The list may have moved with each response since that was shown. */
  #requestAtEnd(): PageRequest {
    const { probableEnd, receivedAt } = this.#progress.frontier;
    return this.#plan.requestAfter(probableEnd, 1 + this.#stream.now - receivedAt);
  }
}
