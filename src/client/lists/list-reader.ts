import { PaginationError } from "../../shared/errors/index.js";
import { untilAborted } from "../../shared/time/wait.js";
import { overlappingPage } from "./choose-page.js";
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

/** One iteration over a list. */
export interface IterationSession<T> extends PageSession<T> {
  /** How many records are wanted. No page is read ahead for more. */
  limit: number;
}

/** A page that was requested, ahead of its turn or not. */
interface RequestedPage<T> {
  request: PageRequest;
  response: Promise<Page<T>>;
  abort: AbortController;
}

/** This many pages in a row without a new record end an iteration: enough for a search in a list of any length. */
const MAX_FRUITLESS_PAGES = 24;
/** With overlap, or while a list grows, at most this many pages more than three times what it had at first are read. */
const MAX_EXTRA_PAGES = 40;
/** How fast the overlap shrinks again, per page, after the list has moved. */
const OVERLAP_DECAY = 0.8;
/** Added to the overlap after a gap. */
const OVERLAP_MARGIN = 8;

/**
 * Reads a list, page after page, and emits each record once.
 *
 * **Two modes.** *Aligned*: pages of one size, one behind the other. *Overlapping* (`gapless`): each page begins a little
 * before the end of what was read. Aligned reading goes on overlapping when `totalCount` falls, or a gap shows: records have
 * moved to pages that were read.
 *
 * **Why nothing is missed while pages overlap.** A page is one contiguous run of the list at one moment, and records keep their
 * order. If it contains a record that was seen, it begins at or before the end of what was read. Nothing precedes position 0;
 * an iteration that began further on rejects if it comes to position 0 without a record that it has seen.
 *
 * In overlapping mode, a page is one of these:
 *
 *   overlapping   it contains a record that was seen and one that was not, or begins at 0: it is emitted, `#end` moves to its end
 *   disjoint      nothing on it was seen: it is dropped. The end is further left (`#high`): steps double
 *   contained     all of it was seen. The end is further right (`#low`): first by the growth of `totalCount`, then steps double
 *
 * Between a contained and a disjoint page, the search halves. After either, pages are read one at a time until they overlap
 * again: pages that were cut at the same time tolerate less change.
 *
 * `#end` and positions only choose the next page; they prove nothing. Pages without a new record are counted: at
 * `MAX_FRUITLESS_PAGES` in a row the iteration rejects, whatever the reason. So it does if a list grows at least as fast as it
 * is read.
 */
export class ListReader<T> {
  readonly #session: IterationSession<T>;
  readonly #seen = new Set<RecordKey>();
  /** Pages that were requested, in the order of the list. The first one may be awaited. */
  #requested: RequestedPage<T>[] = [];
  #hasRequested = false;
  #isOverlapping: boolean;
  #hasBegun = false;
  #isClosed = false;
  /** Size of the pages to request. */
  #size: number;
  /** Larger ones are capped, as far as is known. */
  #maxSize: number;
  /** Pages that may be outstanding. With overlap one at first, and after a surprise; then more with each page. */
  #width: number;
  /** Halved by each surprise. */
  #maxWidth: number;
  /** By how many records the next page should overlap. */
  #overlap = 1;
  /** Position up to which the list was read. */
  #end = 0;
  #totalCount = 0;
  /** While the end is searched: it is at or after `#low`, and before `#high`. */
  #low: number | undefined;
  #high: number | undefined;
  #step = 0;
  #fruitless = 0;
  #totalAtFirst: number | undefined;
  /** Pages that were read with overlap, or while the list was longer than at first. */
  #counted = 0;

  constructor(session: IterationSession<T>) {
    this.#session = session;
    this.#size = session.pageSize;
    this.#maxSize = session.maxPageSize;
    this.#maxWidth = session.readAhead;
    this.#width = session.gapless ? Math.min(1, session.readAhead) : session.readAhead;
    this.#isOverlapping = session.gapless;
  }

  /** The pages, each with the records that were not emitted before. */
  async *pages(): AsyncGenerator<Page<T>, void> {
    this.#request(this.#session.first);
    try {
      for (;;) {
        const next = this.#requested[0] ?? this.#request(this.#requestAt(this.#end));
        const page = await next.response;
        this.#requested.shift();
        if (page.value.length === 0 && page.hasMore) throw this.#contradiction(`page ${page.page} is empty`);
        this.#maxSize = pageSizeWithinCap(this.#maxSize, next.request, page.pageSize);
        this.#size = Math.min(this.#size, this.#maxSize);
        this.#countPage(page);
        if (this.#hasBegun && isListEmpty(page)) return;
        const [firstSeen, lastSeen] = this.#seenOn(page);
        if (this.#hasBegun && this.#leavesGap(page, lastSeen)) {
          this.#countFruitless(page);
          this.#searchLeft(page);
          continue;
        }
        const isFirst = !this.#hasBegun;
        const value = this.#takeUnseen(page, firstSeen);
        const isContained = this.#isOverlapping && lastSeen === page.value.length - 1;
        if (isContained) this.#searchRight(page);
        else this.#advance(page, lastSeen);
        if (value.length > 0) this.#fruitless = 0;
        else if (page.hasMore) this.#countFruitless(page);
        if (page.hasMore) this.#readAhead();
        if (value.length > 0 || isFirst) yield { ...page, value };
        if (!page.hasMore) return;
      }
    } catch (error) {
      // After the end of the iteration, nobody waits for a failure.
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

  /** Index of the first and of the last record seen before, -1 if there is none. */
  #seenOn({ value }: Page<T>): [number, number] {
    const isSeen = (record: T) => {
      const key = this.#session.keyOf?.(record);
      return key !== undefined && this.#seen.has(key);
    };
    const first = value.findIndex(isSeen);
    return [first, first < 0 ? -1 : value.findLastIndex(isSeen)];
  }

  /** Whether records may be missing before the page. Without keys that cannot be repaired. */
  #leavesGap(page: Page<T>, lastSeen: number): boolean {
    const start = startOfPage(page);
    const isDisjoint = this.#isOverlapping && lastSeen < 0;
    if (isDisjoint && start === 0 && startOfIteration(this.#session) > 0) throw this.#changesTooFast();
    if (this.#isOverlapping) return isDisjoint && start > 0;
    return this.#session.keyOf !== undefined && (start > this.#end || page.totalCount < this.#totalCount);
  }

  /** The page is disjoint, or the first one after records have moved. */
  #searchLeft(page: Page<T>): void {
    this.#drop();
    this.#size = sizeWithOverlap(this.#size, this.#maxSize);
    const high = Math.min(startOfPage(page), page.totalCount, this.#high ?? Infinity);
    const shrinkage = Math.max(0, this.#totalCount - page.totalCount);
    this.#overlap = Math.min(2 * Math.max(this.#overlap, shrinkage) + OVERLAP_MARGIN, Math.floor(this.#size / 2));
    if (this.#low !== undefined && this.#low < high) {
      this.#end = Math.floor((this.#low + high) / 2);
    } else {
      this.#low = undefined;
      const step = this.#high === undefined ? 0 : this.#nextStep();
      this.#end = Math.max(0, Math.min(high, this.#end - shrinkage) - step);
    }
    if (this.#isOverlapping) this.#high = high;
    this.#isOverlapping = true;
    this.#totalCount = page.totalCount;
  }

  /** The page is contained in what was read. */
  #searchRight(page: Page<T>): void {
    this.#drop();
    const expectedEnd = this.#end + Math.max(0, page.totalCount - this.#totalCount);
    const isSearching = this.#low !== undefined;
    this.#low = endOfPage(page);
    if (this.#high !== undefined && this.#low < this.#high) {
      this.#end = Math.floor((this.#low + this.#high) / 2);
    } else {
      this.#high = undefined;
      this.#end = isSearching
        ? Math.min(page.totalCount, this.#low + this.#nextStep())
        : Math.max(this.#low, expectedEnd);
    }
    this.#totalCount = page.totalCount;
  }

  /** How far the search goes: twice as far each time. */
  #nextStep(): number {
    this.#step = this.#step * 2 || this.#size;
    return this.#step;
  }

  /** The list was read up to the end of the page. */
  #advance(page: Page<T>, lastSeen: number): void {
    const shift = lastSeen < 0 ? 0 : this.#end - (startOfPage(page) + lastSeen + 1);
    const overlap = Math.max(1, 2 * shift, Math.floor(this.#overlap * OVERLAP_DECAY));
    this.#overlap = Math.min(overlap, Math.floor(this.#size / 2));
    this.#width = Math.min(this.#width + 1, this.#maxWidth);
    this.#end = this.#isOverlapping || !page.hasMore ? endOfPage(page) : startOfPage(page) + page.pageSize;
    this.#totalCount = page.totalCount;
    this.#low = this.#high = undefined;
    this.#step = 0;
    this.#hasBegun = true;
  }

  /** The records of a page that were not seen before. From now on they are. */
  #takeUnseen(page: Page<T>, firstSeen: number): T[] {
    const { keyOf } = this.#session;
    const start = startOfPage(page);
    if (!keyOf) {
      // By position: a service that returns the same page for ever, or pages beyond its own total, returns nothing new.
      if (start >= page.totalCount && page.totalCount > 0) return [];
      return page.value.slice(this.#hasBegun ? Math.max(0, this.#end - start) : 0);
    }
    // What precedes a record seen before, an iteration that began further on does not include.
    const from = startOfIteration(this.#session) === 0 || !this.#hasBegun ? 0 : Math.max(0, firstSeen);
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

  #countPage({ totalCount }: Page<T>): void {
    this.#totalAtFirst ??= totalCount;
    if (this.#isOverlapping || totalCount > this.#totalAtFirst) this.#counted += 1;
    if (this.#counted > MAX_EXTRA_PAGES + (3 * this.#totalAtFirst) / this.#size) throw this.#changesTooFast();
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
    if (this.#isOverlapping) return overlappingPage(end, this.#overlap, this.#size);
    return { page: Math.floor(end / this.#size) + 1, pageSize: this.#size };
  }

  #request(request: PageRequest): RequestedPage<T> {
    const abort = new AbortController();
    const isFurther = this.#hasRequested;
    this.#hasRequested = true;
    const { signal } = abort;
    const response = untilAborted(signal, this.#session.fetch(request, { isFurther, signal }));
    // Its failure is reported when the page is next.
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
    while (this.#requested.length < this.#width && end < Math.min(this.#totalCount, limitEnd)) {
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
