import { PageChoice } from "./choose-page.js";
import { EndSearch } from "./end-search.js";
import { ListEvidence } from "./list-evidence.js";
import {
  endOfPage,
  isListEmpty,
  type Page,
  type PageRequest,
  type PageSession,
  type RecordKey,
  startOfIteration,
  startOfPage,
} from "./page.js";
import { assertRequestedPage, endOf, isCountPossible, isRefusalOfPage } from "./page-end.js";
import { PageRequests, type RequestedPage } from "./page-requests.js";

/** One iteration over a list. */
export interface IterationSession<T> extends PageSession<T> {
  /** How many records the caller wants. No page is read ahead beyond that. */
  limit: number;
  /** Whether the page after the last page is always read, to prove that it shows nothing new. */
  provesEnd?: boolean;
}

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
 *   disjoint      No record on the page was seen. The page is dropped. The end is further left, where `EndSearch` looks.
 *   contained     All records on the page were seen. The end is further right, at first by the growth of `totalCount`.
 *
 * After a disjoint or a contained page, pages are read one at a time until they overlap again, because pages that are
 * requested at the same time tolerate less change.
 *
 * `#end` and positions only choose the next page; they prove nothing.
 *
 * **How an iteration ends** (`page-end.ts`). A page without `hasMore` ends the list, unless the page is *short*. After a short
 * page, the next page is read, too: the list ends if the service refuses that page or the page shows nothing new. If fewer
 * records were listed than every page has counted, the list is returned with a warning. Three cases are an error: later pages
 * repeat page 1 in such a list; too many pages in a row show no new record or lie beyond everything that was
 * counted; the list grows at least as fast as it is read.
 */
export class ListReader<T> {
  readonly #seen = new Set<RecordKey>();
  readonly #requests: PageRequests<T>;
  readonly #choice: PageChoice;
  readonly #evidence: ListEvidence;
  /** Exists while the end is searched. */
  #search: EndSearch | undefined;
  #isOverlapping: boolean;
  #hasTakenPage = false;
  #isClosed = false;
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

  constructor(private readonly session: IterationSession<T>) {
    this.#requests = new PageRequests(session);
    this.#choice = new PageChoice(session);
    this.#evidence = new ListEvidence(session.label, startOfIteration(session) === 0);
    this.#isOverlapping = session.gapless;
  }

  /** Whether the iteration has ended and has shown as many records as the service has counted. */
  get isComplete(): boolean {
    return this.#evidence.isComplete;
  }

  /** Returns the pages, each with the records that were not emitted before. */
  async *pages(): AsyncGenerator<Page<T>, void> {
    this.#requests.request(this.session.first);
    try {
      for (;;) {
        const next = this.#requests.next ?? this.#requests.request(this.#choice.pageAt(this.#end, this.#isOverlapping));
        const page = await this.#receive(next);
        if (!page) return this.#finish();
        this.#requests.shift();
        if (page.value.length === 0 && page.hasMore) throw this.#evidence.contradiction(`page ${page.page} is empty`);
        this.#choice.noteSize(next.request, page);
        this.#evidence.countPage(page, {
          counted: this.#countOf(page),
          before: this.#totalCount,
          isOverlapping: this.#isOverlapping,
          pageSize: this.#choice.size,
        });
        if (this.#hasTakenPage && isListEmpty(page)) return this.#finish();
        const [firstSeen, lastSeen] = this.#seenOn(page);
        if (this.#confirmsEnd(page, lastSeen)) return this.#finish();
        this.#evidence.add(page, this.session.keyOf);
        if (this.#hasTakenPage && this.#leavesGap(page, lastSeen) && !(await this.#adjoins(page, next.request))) {
          this.#evidence.noteNew(page, 0);
          this.#searchLeft(page);
          continue;
        }
        const isFirstPage = !this.#hasTakenPage;
        const value = this.#takeUnseen(page, firstSeen);
        const isContained = this.#isOverlapping && lastSeen === page.value.length - 1;
        if (isContained) this.#searchRight(page);
        else this.#advance(page, lastSeen);
        const goesOn = this.#goesOn(page);
        if (goesOn || value.length > 0) this.#evidence.noteNew(page, value.length);
        if (goesOn) this.#readAhead();
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
    this.#requests.drop();
  }

  /** Returns the requested page; `undefined` if the page before was doubted and the service says that there is no further page. */
  async #receive({ request, response }: RequestedPage<T>): Promise<Page<T> | undefined> {
    try {
      const page = await response;
      assertRequestedPage(this.session.label, page, request);
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

  /** Whether another page is read after this page. */
  #goesOn(page: Page<T>): boolean {
    const end = endOf(page);
    const isEnd = end === "end" && !this.session.provesEnd;
    this.#isShort = end === "short" && page.value.length > 0;
    this.#isDoubted = end !== "more" && !isEnd && page.value.length > 0;
    return end === "more" || this.#isDoubted;
  }

  /** Ends the list: without a problem, with a warning if it is short, or with an error if it contradicts itself. */
  #finish(): void {
    const { label, keyOf } = this.session;
    const problem = this.#evidence.finish(keyOf !== undefined, this.#isShort);
    if (problem?.isContradiction) throw this.#evidence.contradiction(problem.message);
    if (problem) this.session.warn(`${label}: ${problem.message}. The client may not be allowed to see all records.`);
  }

  /** Returns the page's `totalCount` if it is possible, otherwise the count before. */
  #countOf(page: Page<T>): number {
    return isCountPossible(page) ? page.totalCount : Math.max(this.#totalCount, endOfPage(page));
  }

  #isSeen(record: T): boolean {
    const key = this.session.keyOf?.(record);
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
    if (isDisjoint && start === 0 && startOfIteration(this.session) > 0) throw this.#evidence.changesTooFast();
    if (this.#isOverlapping) return isDisjoint && start > 0;
    return this.session.keyOf !== undefined && (start > this.#end || this.#countOf(page) < this.#totalCount);
  }

  /** Whether a page without seen records directly follows the end, where no page can overlap. Reads the page before it. */
  async #adjoins(page: Page<T>, { page: number, pageSize }: PageRequest): Promise<boolean> {
    const isBridge = this.#isOverlapping && startOfPage(page) === this.#end && !this.#choice.canOverlap(this.#end);
    if (!isBridge || page.value.length === 0) return false;
    const before = await this.#requests.request({ page: number - 1, pageSize }).response;
    this.#requests.shift();
    const last = before.value.at(-1);
    const isSameList = before.totalCount === page.totalCount;
    return last !== undefined && isSameList && this.session.keyOf?.(last) === this.#last;
  }

  /** Searches the end to the left: the page was disjoint, or was the first one after records have moved. */
  #searchLeft(page: Page<T>): void {
    const total = this.#countOf(page);
    const shrinkage = Math.max(0, this.#totalCount - total);
    this.#requests.drop();
    this.#choice.overlapMore(shrinkage);
    const search = this.#search ?? new EndSearch();
    this.#end = search.left(Math.min(startOfPage(page), total), this.#end - shrinkage, this.#choice.size);
    // A page that was read in aligned mode does not bound the search: the list has only begun to move.
    if (this.#isOverlapping) this.#search = search;
    this.#isOverlapping = true;
    this.#totalCount = total;
  }

  /** Searches the end to the right: all records on the page were seen. */
  #searchRight(page: Page<T>): void {
    const total = this.#countOf(page);
    const growth = Math.max(0, total - this.#totalCount);
    this.#requests.drop();
    this.#search ??= new EndSearch();
    this.#end = this.#search.right(endOfPage(page), this.#end + growth, this.#choice.size, total);
    this.#totalCount = total;
  }

  /** Notes that the list was read up to the end of the page. */
  #advance(page: Page<T>, lastSeen: number): void {
    this.#choice.overlapLess(lastSeen < 0 ? 0 : this.#end - (startOfPage(page) + lastSeen + 1));
    this.#requests.widen();
    this.#end = this.#isOverlapping || !page.hasMore ? endOfPage(page) : startOfPage(page) + page.pageSize;
    const last = page.value.at(-1);
    if (last !== undefined) this.#last = this.session.keyOf?.(last);
    this.#totalCount = this.#countOf(page);
    this.#search = undefined;
    this.#hasTakenPage = true;
  }

  /** Returns the records of a page that were not seen before, and marks them as seen. */
  #takeUnseen(page: Page<T>, firstSeen: number): T[] {
    const { keyOf } = this.session;
    const start = startOfPage(page);
    if (!keyOf) {
      // Without keys, the position decides. Pages beyond `totalCount` and repeated pages therefore contain nothing new.
      if (start >= page.totalCount && page.totalCount > 0) return [];
      return page.value.slice(this.#hasTakenPage ? Math.max(0, this.#end - start) : 0);
    }
    // If an iteration did not begin at page 1, records before the first seen record do not belong to it.
    const from = startOfIteration(this.session) === 0 || !this.#hasTakenPage ? 0 : Math.max(0, firstSeen);
    return page.value.filter((record, index) => {
      const key = keyOf(record);
      if (index < from) return false;
      if (key === undefined) return true;
      const isNew = !this.#seen.has(key);
      this.#seen.add(key);
      return isNew;
    });
  }

  /** Requests further pages, up to the known end of the list. */
  #readAhead(): void {
    const limitEnd = startOfIteration(this.session) + this.session.limit;
    const expectedEndOf = ({ page, pageSize }: PageRequest) => page * Math.min(pageSize, this.#choice.size);
    const { last } = this.#requests;
    let end = last ? expectedEndOf(last.request) : this.#end;
    const canFollow = () => !this.#isOverlapping || this.#choice.canOverlap(end);
    while (this.#requests.mayRequest && end < Math.min(this.#totalCount, limitEnd) && canFollow()) {
      end = expectedEndOf(this.#requests.request(this.#choice.pageAt(end, this.#isOverlapping)).request);
    }
  }
}
