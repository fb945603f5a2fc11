import { PaginationError } from "../../shared/errors/index.js";
import { untilAborted } from "../../shared/time/wait.js";
import { overlappingPage } from "./choose-page.js";
import { ListEvidence } from "./list-evidence.js";
import {
  endOfPage,
  isListEmpty,
  type Page,
  type PageRequest,
  type PageSession,
  pageSizeWithinCap,
  type RecordKey,
  sizeWithOverlap,
  startOfIteration,
  startOfPage,
} from "./page.js";
import { assertRequestedPage, endOf, isCountPossible, isRefusalOfPage } from "./page-end.js";

/** One iteration over a list. */
export interface IterationSession<T> extends PageSession<T> {
  /** How many records the caller wants. No page is read ahead beyond that. */
  limit: number;
  /** Whether the page after the last page is always read, to prove that it shows nothing new. */
  provesEnd?: boolean;
}

/** A page that was requested, perhaps ahead of its turn. */
interface RequestedPage<T> {
  request: PageRequest;
  response: Promise<Page<T>>;
  abort: AbortController;
}

/**
 * How many pages in a row without a new record end an iteration. The search for the end doubles its steps and then
 * bisects, so 24 pages are enough even if the end has moved by 2,000 pages.
 */
const MAX_FRUITLESS_PAGES = 24;
/**
 * An iteration may read three times the pages that the list had at first, and this many more. Only those pages count
 * that were read in overlapping mode, or while the list was longer than at first.
 */
const MAX_EXTRA_PAGES = 40;
/** The factor by which the overlap shrinks with each page after the list has moved. */
const OVERLAP_DECAY = 0.8;
/** How many records are added to the overlap after a gap. */
const OVERLAP_MARGIN = 8;

/**
 * Reads a list page by page, and emits each record once.
 *
 * **Two modes.** *Aligned*: pages of one size follow each other. *Overlapping* (`gapless`): each page begins a little before the
 * end of the page before. Aligned reading becomes overlapping as soon as `totalCount` falls or a gap shows, because records
 * have then moved to pages that were already read.
 *
 * **Why nothing is missed while pages overlap.** A page is one contiguous run of the list at one moment, and records keep their
 * order. If a page contains a record that was seen before, it begins at or before the end of the part that was read. Nothing precedes
 * position 0. If an iteration that began at a later page comes to position 0 without a record that it has seen, it rejects.
 *
 * In overlapping mode, a page is one of these:
 *
 *   overlapping   The page contains a record that was seen and one that was not, or begins at 0. It is emitted, and `#end` moves
 *                 to its end.
 *   adjoining     No record on the page was seen, and no page of the served size contains both sides of `#end` (sizes up to 8).
 *                 The page before is read again. If that page still ends with the last record that was seen, the adjoining page
 *                 is emitted. (A removal and an addition between these three requests can hide a record.)
 *   disjoint      No record on the page was seen. The page is dropped. The end is further left (`#high`); steps double.
 *   contained     All records on the page were seen. The end is further right (`#low`): the first step is the growth of
 *                 `totalCount`, then steps double.
 *
 * Between a contained and a disjoint page, the search bisects. After either of them, pages are read one at a time until they
 * overlap again, because pages that are requested at the same time tolerate less change.
 *
 * `#end` and positions only choose the next page; they prove nothing.
 *
 * **How an iteration ends** (`page-end.ts`). A page without `hasMore` ends the list, unless the page is *short*. After a short
 * page, the next page is read, too: the list ends if the service refuses that page or the page shows nothing new. If fewer
 * records were listed than every page has counted, the list is returned with a warning. Three cases are an error: later pages
 * repeat page 1 in such a list; `MAX_FRUITLESS_PAGES` pages in a row show no new record or lie beyond everything that was
 * counted; the list grows at least as fast as it is read.
 */
export class ListReader<T> {
  readonly #session: IterationSession<T>;
  readonly #seen = new Set<RecordKey>();
  /** Requested pages, in the order of the list. The first one may be awaited at the moment. */
  #requested: RequestedPage<T>[] = [];
  #hasRequested = false;
  #isOverlapping: boolean;
  #hasTakenPage = false;
  #isClosed = false;
  /** Size of the pages to request. */
  #size: number;
  /** The largest page size to request. The service caps larger pages, as far as is known. */
  #maxSize: number;
  /** The size of all pages if the service ignores `pageSize`. */
  #fixedSize: number | undefined;
  /**
   * How many requested pages may be outstanding. In overlapping mode, this is 1 at first and after each disjoint or
   * contained page. It grows by 1 with each page that was taken.
   */
  #width: number;
  /** The upper limit of `#width`. Each gap and each disjoint or contained page halves it. */
  #maxWidth: number;
  /** How many records the next page should overlap. */
  #overlap = 1;
  /** The position up to which the list was read. `#last` is the record before it. */
  #end = 0;
  #last: RecordKey | undefined;
  /** The latest `totalCount` that was possible. */
  #totalCount = 0;
  #isShort = false;
  /**
   * Whether the next page is read although the last page has no `hasMore`: that page was short or uncounted, or
   * `provesEnd` is set.
   */
  #isDoubted = false;
  /** While the end is searched: the end is at or after `#low` and before `#high`. */
  #low: number | undefined;
  #high: number | undefined;
  #step = 0;
  /** How many pages in a row have shown no new record. */
  #fruitless = 0;
  /** How many pages in a row have ended beyond everything that was counted. */
  #beyondCount = 0;
  #totalAtFirst: number | undefined;
  /** How many pages count towards the limit of `MAX_EXTRA_PAGES`. */
  #pagesTowardsLimit = 0;
  readonly #evidence: ListEvidence;

  constructor(session: IterationSession<T>) {
    this.#session = session;
    this.#size = session.pageSize;
    this.#maxSize = session.maxPageSize;
    this.#maxWidth = session.readAhead;
    this.#width = session.gapless ? Math.min(1, session.readAhead) : session.readAhead;
    this.#isOverlapping = session.gapless;
    this.#evidence = new ListEvidence(startOfIteration(session) === 0);
  }

  /** Whether the iteration has ended and has shown as many records as the service has counted. */
  get isComplete(): boolean {
    return this.#evidence.isComplete;
  }

  /** Returns the pages, each with the records that were not emitted before. */
  async *pages(): AsyncGenerator<Page<T>, void> {
    this.#request(this.#session.first);
    try {
      for (;;) {
        const next = this.#requested[0] ?? this.#request(this.#requestAt(this.#end));
        const page = await this.#receive(next);
        if (!page) return this.#finish();
        this.#requested.shift();
        if (page.value.length === 0 && page.hasMore) throw this.#contradiction(`page ${page.page} is empty`);
        this.#maxSize = pageSizeWithinCap(this.#maxSize, next.request, page.pageSize);
        this.#size = Math.min(this.#size, this.#maxSize);
        // A larger page than requested: the service ignores `pageSize`.
        if (page.pageSize > next.request.pageSize) this.#size = this.#fixedSize = page.pageSize;
        this.#countPage(page);
        if (this.#hasTakenPage && isListEmpty(page)) return this.#finish();
        const [firstSeen, lastSeen] = this.#seenOn(page);
        if (this.#confirmsEnd(page, lastSeen)) return this.#finish();
        this.#evidence.add(page, this.#session.keyOf);
        if (this.#hasTakenPage && this.#leavesGap(page, lastSeen) && !(await this.#adjoins(page, next.request))) {
          this.#countFruitless(page);
          this.#searchLeft(page);
          continue;
        }
        const isFirstPage = !this.#hasTakenPage;
        const value = this.#takeUnseen(page, firstSeen);
        const isContained = this.#isOverlapping && lastSeen === page.value.length - 1;
        if (isContained) this.#searchRight(page);
        else this.#advance(page, lastSeen);
        const end = endOf(page);
        this.#isShort = end === "short" && page.value.length > 0;
        const isEnd = end === "end" && !this.#session.provesEnd;
        this.#isDoubted = end !== "more" && !isEnd && page.value.length > 0;
        const goesOn = end === "more" || this.#isDoubted;
        if (value.length > 0) this.#fruitless = 0;
        else if (goesOn) this.#countFruitless(page);
        if (goesOn) this.#readAhead();
        this.#evidence.emitted += value.length;
        if (value.length > 0 || isFirstPage) yield { ...page, value };
        if (!goesOn) return this.#finish();
      }
    } catch (error) {
      // Once the iteration is closed, nobody waits for a failure.
      if (!this.#isClosed) throw error;
    } finally {
      this.close();
    }
  }

  /** Aborts all requests. A pending `next()` of the pages ends. */
  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  /** Returns the requested page; `undefined` if the page before was doubted and the service says that there is no further page. */
  async #receive({ request, response }: RequestedPage<T>): Promise<Page<T> | undefined> {
    try {
      const page = await response;
      assertRequestedPage(this.#session.label, page, request);
      return page;
    } catch (error) {
      if (this.#isDoubted && isRefusalOfPage(error)) return undefined;
      throw error;
    }
  }

  /** Whether the page after a doubted page shows nothing new, and no record has moved to pages that were already read. */
  #confirmsEnd(page: Page<T>, lastSeen: number): boolean {
    const showsNothingNew = page.value.every((record, index) => index <= lastSeen && this.#isSeen(record));
    return this.#isDoubted && !page.hasMore && showsNothingNew && this.#countOf(page) >= this.#totalCount;
  }

  /** Ends the list: without a problem, with a warning if it is short, or with an error if it contradicts itself. */
  #finish(): void {
    const { label, keyOf } = this.#session;
    const problem = this.#evidence.finish(keyOf !== undefined, this.#isShort);
    if (problem?.isContradiction) throw this.#contradiction(problem.message);
    if (problem) this.#session.warn(`${label}: ${problem.message}. The client may not be allowed to see all records.`);
  }

  /** Returns the page's `totalCount` if it is possible, otherwise the count before. */
  #countOf(page: Page<T>): number {
    return isCountPossible(page) ? page.totalCount : Math.max(this.#totalCount, endOfPage(page));
  }

  #isSeen(record: T): boolean {
    const key = this.#session.keyOf?.(record);
    return key !== undefined && this.#seen.has(key);
  }

  /** Returns the index of the first and of the last record on the page that was seen before; -1 if there is none. */
  #seenOn({ value }: Page<T>): [number, number] {
    const first = value.findIndex((record) => this.#isSeen(record));
    return [first, first < 0 ? -1 : value.findLastIndex((record) => this.#isSeen(record))];
  }

  /** Whether records may be missing before the page. Without keys, a gap cannot be repaired and counts as none. */
  #leavesGap(page: Page<T>, lastSeen: number): boolean {
    const start = startOfPage(page);
    const isDisjoint = this.#isOverlapping && lastSeen < 0;
    if (isDisjoint && start === 0 && startOfIteration(this.#session) > 0) throw this.#changesTooFast();
    if (this.#isOverlapping) return isDisjoint && start > 0;
    return this.#session.keyOf !== undefined && (start > this.#end || this.#countOf(page) < this.#totalCount);
  }

  /** Whether a page without seen records directly follows the end, where no page can overlap. Reads the page before it. */
  async #adjoins(page: Page<T>, { page: number, pageSize }: PageRequest): Promise<boolean> {
    const isBridge = this.#isOverlapping && startOfPage(page) === this.#end && !this.#canOverlap(this.#end);
    if (!isBridge || page.value.length === 0) return false;
    const before = await this.#request({ page: number - 1, pageSize }).response;
    this.#requested.shift();
    const last = before.value.at(-1);
    const isSameList = before.totalCount === page.totalCount;
    return last !== undefined && isSameList && this.#session.keyOf?.(last) === this.#last;
  }

  #canOverlap(end: number): boolean {
    if (this.#fixedSize !== undefined) return end % this.#fixedSize > 0;
    const { page, pageSize } = overlappingPage(end, 1, this.#size);
    return page * pageSize > end;
  }

  /** Searches the end to the left: the page was disjoint, or was the first one after records have moved. */
  #searchLeft(page: Page<T>): void {
    this.#drop();
    this.#size = sizeWithOverlap(this.#size, this.#maxSize);
    const total = this.#countOf(page);
    const high = Math.min(startOfPage(page), total, this.#high ?? Infinity);
    const shrinkage = Math.max(0, this.#totalCount - total);
    this.#setOverlap(2 * Math.max(this.#overlap, shrinkage) + OVERLAP_MARGIN);
    if (this.#low !== undefined && this.#low < high) {
      this.#end = Math.floor((this.#low + high) / 2);
    } else {
      this.#low = undefined;
      const step = this.#high === undefined ? 0 : this.#nextStep();
      this.#end = Math.max(0, Math.min(high, this.#end - shrinkage) - step);
    }
    if (this.#isOverlapping) this.#high = high;
    this.#isOverlapping = true;
    this.#totalCount = total;
  }

  /** Sets the overlap: at least one record, at most half a page. */
  #setOverlap(records: number): void {
    this.#overlap = Math.max(1, Math.min(records, Math.floor(this.#size / 2)));
  }

  /** Searches the end to the right: all records on the page were seen. */
  #searchRight(page: Page<T>): void {
    this.#drop();
    const total = this.#countOf(page);
    const expectedEnd = this.#end + Math.max(0, total - this.#totalCount);
    const isSearching = this.#low !== undefined;
    this.#low = endOfPage(page);
    if (this.#high !== undefined && this.#low < this.#high) {
      this.#end = Math.floor((this.#low + this.#high) / 2);
    } else {
      this.#high = undefined;
      this.#end = isSearching ? Math.min(total, this.#low + this.#nextStep()) : Math.max(this.#low, expectedEnd);
    }
    this.#totalCount = total;
  }

  /** Returns the next step of the search, in records. Each step is twice as long as the step before. */
  #nextStep(): number {
    this.#step = this.#step * 2 || this.#size;
    return this.#step;
  }

  /** Notes that the list was read up to the end of the page. */
  #advance(page: Page<T>, lastSeen: number): void {
    const shift = lastSeen < 0 ? 0 : this.#end - (startOfPage(page) + lastSeen + 1);
    this.#setOverlap(Math.max(2 * shift, Math.floor(this.#overlap * OVERLAP_DECAY)));
    this.#width = Math.min(this.#width + 1, this.#maxWidth);
    this.#end = this.#isOverlapping || !page.hasMore ? endOfPage(page) : startOfPage(page) + page.pageSize;
    const last = page.value.at(-1);
    if (last !== undefined) this.#last = this.#session.keyOf?.(last);
    this.#totalCount = this.#countOf(page);
    this.#low = this.#high = undefined;
    this.#step = 0;
    this.#hasTakenPage = true;
  }

  /** Returns the records of a page that were not seen before, and marks them as seen. */
  #takeUnseen(page: Page<T>, firstSeen: number): T[] {
    const { keyOf } = this.#session;
    const start = startOfPage(page);
    if (!keyOf) {
      // Without keys, the position decides. Pages beyond `totalCount` and repeated pages therefore contain nothing new.
      if (start >= page.totalCount && page.totalCount > 0) return [];
      return page.value.slice(this.#hasTakenPage ? Math.max(0, this.#end - start) : 0);
    }
    // If an iteration did not begin at page 1, records before the first seen record do not belong to it.
    const from = startOfIteration(this.#session) === 0 || !this.#hasTakenPage ? 0 : Math.max(0, firstSeen);
    return page.value.filter((record, index) => {
      const key = keyOf(record);
      if (index < from) return false;
      if (key === undefined) return true;
      const isNew = !this.#seen.has(key);
      this.#seen.add(key);
      return isNew;
    });
  }

  #countFruitless({ page }: Page<T>): void {
    this.#fruitless += 1;
    if (this.#fruitless < MAX_FRUITLESS_PAGES) return;
    throw this.#contradiction(`the last ${MAX_FRUITLESS_PAGES} pages, up to page ${page}, contained no new record`);
  }

  #countPage(page: Page<T>): void {
    const total = this.#countOf(page);
    const isBeyondCount = page.hasMore && !isCountPossible(page) && endOfPage(page) > this.#totalCount;
    this.#beyondCount = isBeyondCount ? this.#beyondCount + 1 : 0;
    if (this.#beyondCount >= MAX_FRUITLESS_PAGES)
      throw this.#contradiction(`page ${page.page} ends at position ${endOfPage(page)} of ${page.totalCount}`);
    if (isBeyondCount) return;
    this.#totalAtFirst ??= total;
    if (this.#isOverlapping || total > this.#totalAtFirst) this.#pagesTowardsLimit += 1;
    if (this.#pagesTowardsLimit > MAX_EXTRA_PAGES + (3 * this.#totalAtFirst) / this.#size) throw this.#changesTooFast();
  }

  #changesTooFast(): PaginationError {
    return new PaginationError(
      `${this.#session.label}: the list changes faster than it can be read. Read it again later.`,
    );
  }

  #contradiction(problem: string): PaginationError {
    const advice =
      "Read the list again later: it may change faster than it can be read. If the error persists, report it to the provider of the service.";
    return new PaginationError(`${this.#session.label}: ${problem}, but the service reports more records. ${advice}`);
  }

  #requestAt(end: number): PageRequest {
    if (this.#isOverlapping && this.#canOverlap(end) && this.#fixedSize === undefined) {
      const wide = overlappingPage(end, this.#overlap, this.#size);
      return wide.page * wide.pageSize > end ? wide : overlappingPage(end, 1, this.#size);
    }
    return { page: Math.floor(end / this.#size) + 1, pageSize: this.#size };
  }

  #request(request: PageRequest): RequestedPage<T> {
    const abort = new AbortController();
    const isFurther = this.#hasRequested;
    this.#hasRequested = true;
    const { signal } = abort;
    const response = untilAborted(signal, this.#session.fetch(request, { isFurther, signal }));
    // A failure is reported when it is this page's turn.
    response.catch(() => {});
    const requested = { request, response, abort };
    this.#requested.push(requested);
    return requested;
  }

  /** Requests further pages, up to the known end of the list. */
  #readAhead(): void {
    const limitEnd = startOfIteration(this.#session) + this.#session.limit;
    const expectedEndOf = ({ page, pageSize }: PageRequest) => page * Math.min(pageSize, this.#size);
    const last = this.#requested.at(-1);
    let end = last ? expectedEndOf(last.request) : this.#end;
    const mayRequest = () => !this.#isOverlapping || this.#canOverlap(end);
    while (this.#requested.length < this.#width && end < Math.min(this.#totalCount, limitEnd) && mayRequest()) {
      const request = this.#requestAt(end);
      this.#request(request);
      end = expectedEndOf(request);
    }
  }

  #drop(): void {
    for (const { abort } of this.#requested) abort.abort();
    this.#requested = [];
    this.#maxWidth = Math.ceil(this.#maxWidth / 2);
    this.#width = Math.min(1, this.#maxWidth);
  }
}
