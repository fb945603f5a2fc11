import { PaginationError } from "../../errors/index.js";
import { leftmostPageReaching } from "../choose-page.js";
import { type EmittedPage, PageEmitter, refuseEmptyPageWithMore } from "../emitter.js";
import type { EtaEstimator } from "../estimate.js";
import {
  endOfPage,
  isListEmpty,
  type Page,
  type PageRequest,
  type PageSession,
  type ReceivedPage,
  startOfPage,
} from "../page.js";
import { PageStream } from "../page-stream.js";
import type { RecordKey } from "../seen-keys.js";
import { GaplessFrontier, type PageOverlap, pageOverlapOf } from "./frontier.js";
import { GaplessPlan } from "./plan.js";
import { type GapSearch, gapSearchAfterHit, gapSearchAfterMiss, nextSearchPage, ResumeSearch } from "./search.js";

/** Consecutive searches in a gap that may find no new record. Enough to go back through a list of any length. */
const MAX_FRUITLESS_SEARCHES = 24;
/** Sizes below this one all divide some positions (such as 12): no page there can begin before and end after the position. */
const MIN_PAGE_SIZE_THAT_OVERLAPS = 5;

/** How a gap ends. */
type GapFillResult = "closed" | "target-obsolete" | "list-ended";

/**
 * Reads a list without missing a record that exists the whole time, whatever is added and removed meanwhile.
 *
 * **Why nothing is missed.** Pages are cut by position, and positions move. Sort values prove nothing, since the service
 * ignores an unknown sort column. Records seen before do: a page is one contiguous run of the list at one moment, and records
 * keep their order. If a page contains a record that was seen, no record behind the records read so far stands before the
 * page, so it can be emitted, whenever it was read. Nothing precedes position 0, so a page that begins there needs no proof.
 *
 * **States of an iteration.**
 * - *Beginning*: the first page needs no proof. After a checkpoint, a page is searched that contains one of the records
 *   emitted last (`ResumeSearch`); if there is none, the list is read from position 0.
 * - *Overlapping*: the next page contains a record seen before. It is emitted, and the frontier moves to its end. Each
 *   further page is requested with a number and size that make it overlap (`GaplessPlan`).
 * - *Gap*: the next page is disjoint. It becomes the target, and pages are read from the frontier towards it (`GapSearch`)
 *   until the state is Overlapping again: the target overlaps (`closed`), or is of no more use (`target-obsolete`).
 * - *Ended*: a page has no `hasMore`, or the list is empty. A gap that {@link MAX_FRUITLESS_SEARCHES} pages do not make
 *   smaller is a `PaginationError`.
 *
 * The measurements are in docs/decisions/005-gapless-reading.md.
 */
export class GaplessReader<T> {
  readonly #session: PageSession<T>;
  readonly #plan: GaplessPlan;
  readonly #stream: PageStream<T>;
  readonly #emitter: PageEmitter<T>;
  readonly #frontier: GaplessFrontier;

  /** `limit`: how many records are wanted. */
  constructor(session: PageSession<T>, eta: EtaEstimator, limit: number) {
    this.#session = session;
    this.#plan = new GaplessPlan(session);
    this.#stream = new PageStream(session, this.#plan, limit);
    this.#emitter = new PageEmitter(session, this.#stream, eta);
    this.#frontier = new GaplessFrontier(session);
  }

  async *pages(): AsyncGenerator<EmittedPage<T>, void> {
    const { page: first, pageSize, from } = this.#session;
    if (from) await this.#resume(from.end, from.keys);
    else this.#stream.continueWith({ page: first, pageSize });
    for (;;) {
      const read = await this.#stream.peek();
      const { page } = read;
      refuseEmptyPageWithMore(page, this.#session.label);
      if (this.#frontier.hasBegun && isListEmpty(page)) return;
      if (this.#frontier.hasBegun && this.#isDisjoint(page)) {
        this.#plan.noteGap();
        this.#emitter.countGapRepair();
        const result = yield* this.#fillGap(page);
        if (result === "list-ended") return;
        if (result === "target-obsolete") {
          this.#stream.continueWith(this.#plan.requestAfter(this.#frontier.probableEnd));
          continue;
        }
      }
      const emitted = this.#emit(read, this.#advancePast(read));
      this.#plan.noteOverlap();
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
    this.#stream.continueWith(this.#plan.requestAfter(end));
    let { page } = await this.#stream.peek();
    if (isListEmpty(page) || !this.#isDisjoint(page)) return;
    this.#emitter.countGapRepair();
    const { totalCount } = this.#frontier;
    // The best first guess: all records that were added or removed since were before the end.
    const search = new ResumeSearch(keys, (total) => end + total - totalCount);
    let found = 0;
    while (found === 0) {
      const position = search.nextPosition(page, this.#firstKeyOf(page));
      if (position === undefined) break;
      ({ page } = await this.#stream.fetchUnplanned(leftmostPageReaching(position, this.#plan.maxPageSize)));
      refuseEmptyPageWithMore(page, this.#session.label);
      const { last } = this.#overlapOf(page);
      if (last >= 0) found = startOfPage(page) + last + 1;
    }
    this.#frontier.moveTo(found, page.totalCount);
    this.#stream.continueWith(this.#plan.requestAfter(found));
  }

  /**
   * Reads the records between the end of what was read and a disjoint page.
   *
   * The page itself is kept meanwhile. It is one contiguous run of the list whenever it was read, so its records can be
   * emitted once one of them has been seen.
   */
  async *#fillGap(target: Page<T>): AsyncGenerator<EmittedPage<T>, GapFillResult> {
    const { probableEnd: end, provenEnd, totalCount } = this.#frontier;
    let search: GapSearch = {
      low: provenEnd < end ? provenEnd : undefined,
      high: Math.min(startOfPage(target), target.totalCount),
      expected: end - Math.max(0, totalCount - target.totalCount),
      misses: 0,
      hits: 0,
    };
    let fruitlessSearches = 0;
    while (fruitlessSearches < MAX_FRUITLESS_SEARCHES) {
      fruitlessSearches += 1;
      const read = await this.#stream.fetchUnplanned(nextSearchPage(search, this.#plan.maxPageSize, this.#plan.shifts));
      const { page } = read;
      refuseEmptyPageWithMore(page, this.#session.label);
      if (isListEmpty(page)) return "list-ended";
      const overlap = this.#overlapOf(page);
      if (overlap.continuity === "disjoint") {
        search = gapSearchAfterMiss(search, Math.min(startOfPage(page), page.totalCount));
        continue;
      }
      const newRecords = this.#advancePast(read, overlap);
      if (newRecords.length > 0) yield this.#emit(read, newRecords);
      if (!page.hasMore) return "list-ended";
      if (overlap.continuity === "contained") {
        search = gapSearchAfterHit(search, this.#frontier.provenEnd, page.totalCount, this.#plan.maxPageSize);
        continue;
      }
      if (!this.#isDisjoint(target)) return "closed";
      if (this.#isTargetObsolete(target)) return "target-obsolete";
      // Here the end is known: the next page follows without a search.
      fruitlessSearches = 0;
      const reached = this.#frontier.probableEnd;
      search = { low: reached, high: reached, expected: reached, misses: 0, hits: 0 };
    }
    throw this.#gapError(target);
  }

  /** True if a disjoint page is no longer needed, or so far away that reading ahead is faster than filling the gap. */
  #isTargetObsolete(target: Page<T>): boolean {
    const { probableEnd: end } = this.#frontier;
    if (target.value.length === 0 || end >= endOfPage(target)) return true;
    return startOfPage(target) - end > this.#stream.planned.length * this.#plan.maxPageSize;
  }

  #gapError(target: Page<T>): PaginationError {
    const { maxPageSize } = this.#plan;
    const reason =
      maxPageSize < MIN_PAGE_SIZE_THAT_OVERLAPS
        ? `the service returns only ${maxPageSize} records per page, too few for pages to overlap`
        : "the list changes faster than it can be read, or its order changes";
    return new PaginationError(
      `${this.#session.label}: page ${target.page} does not overlap the records read before it, and ${MAX_FRUITLESS_SEARCHES} pages read in between contained no new record (${reason}). Read the list again later.`,
    );
  }

  /** The request to continue with if the planned pages contain nothing new, or leave a gap even if nothing changes. */
  #nextRequestOverride(): PageRequest | undefined {
    const { probableEnd: end, receivedAs } = this.#frontier;
    // The first planned page is the one that is about to be taken.
    const [, ...planned] = this.#stream.planned;
    const [next] = planned;
    if (next === undefined) return this.#plan.requestAfter(end, 1 + this.#stream.responses - receivedAs);
    const continuesWithoutGap =
      this.#plan.expectedStartOf(next) < end && planned.some((request) => this.#plan.expectedEndOf(request) > end);
    return continuesWithoutGap ? undefined : this.#plan.requestAfter(end);
  }

  /** Advances past a page that is not disjoint, or the first one. Returns its new records. */
  #advancePast(read: ReceivedPage<T>, overlap = this.#overlapOf(read.page)): T[] {
    const shift = this.#frontier.shiftShownBy(read, overlap);
    const index = this.#frontier.advance(read, overlap);
    if (shift !== undefined) this.#plan.noteShift(shift);
    return this.#emitter.takeUnseen(read.page.value, index);
  }

  #emit(read: ReceivedPage<T>, newRecords: T[]): EmittedPage<T> {
    const mayStall = this.#frontier.noteNewRecords(newRecords.length, read, this.#stream.responses);
    const { probableEnd: end, totalCount } = this.#frontier;
    return this.#emitter.emit(read.page, newRecords, { end, totalCount, pageSize: this.#plan.maxPageSize }, mayStall);
  }

  #isDisjoint(page: Page<T>): boolean {
    return this.#overlapOf(page).continuity === "disjoint";
  }

  #overlapOf(page: Page<T>): PageOverlap {
    return pageOverlapOf(page, (record) => this.#emitter.isSeen(record));
  }

  #firstKeyOf({ value: [record] }: Page<T>): RecordKey | undefined {
    return record === undefined ? undefined : this.#emitter.keyOf(record);
  }
}
