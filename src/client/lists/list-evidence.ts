import { PaginationError } from "../../shared/errors/index.js";
import { endOfPage, type Page, type RecordKey, startOfPage } from "./page.js";
import { endOf, isCountPossible } from "./page-end.js";

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

/** Collects what the pages of one iteration show. Judges whether it goes on forever, and whether the list was complete. */
export class ListEvidence {
  /** Number of records that were emitted. */
  emitted = 0;
  isComplete = false;
  /** The smallest `totalCount` of all pages, because records that were removed meanwhile are not missing. */
  #fewestCounted = Infinity;
  /** The largest `totalCount` of all pages. If fewer records were listed, the list may be incomplete. */
  #mostCounted = 0;
  /** The first page with records: its keys, its count, and the position at which it ends. */
  #first: { keys: RecordKey[]; totalCount: number; end: number } | undefined;
  /** The number of a later page that shows the records of page 1 again. */
  #repeated: number | undefined;
  #last: Page<unknown> | undefined;
  /** How many pages in a row have shown no new record. */
  #fruitless = 0;
  /** How many pages in a row have ended beyond everything that was counted. */
  #beyondCount = 0;
  #totalAtFirst: number | undefined;
  /** How many pages count towards the limit of `MAX_EXTRA_PAGES`. */
  #pagesTowardsLimit = 0;

  constructor(
    private readonly label: string,
    private readonly isFromStart: boolean,
  ) {}

  /**
   * Counts a page that was received.
   *
   * @param counted The page's own `totalCount`, if it is possible. `before`: the count of the pages before.
   * @throws PaginationError if too many pages were received.
   */
  countPage(
    page: Page<unknown>,
    {
      counted,
      before,
      isOverlapping,
      pageSize,
    }: { counted: number; before: number; isOverlapping: boolean; pageSize: number },
  ): void {
    const isBeyondCount = page.hasMore && !isCountPossible(page) && endOfPage(page) > before;
    this.#beyondCount = isBeyondCount ? this.#beyondCount + 1 : 0;
    if (this.#beyondCount >= MAX_FRUITLESS_PAGES)
      throw this.contradiction(`page ${page.page} ends at position ${endOfPage(page)} of ${page.totalCount}`);
    if (isBeyondCount) return;
    this.#totalAtFirst ??= counted;
    if (isOverlapping || counted > this.#totalAtFirst) this.#pagesTowardsLimit += 1;
    if (this.#pagesTowardsLimit > MAX_EXTRA_PAGES + (3 * this.#totalAtFirst) / pageSize) throw this.changesTooFast();
  }

  /** Notes that a page has shown so many new records. @throws PaginationError if too many pages in a row have shown none. */
  noteNew({ page }: Page<unknown>, count: number): void {
    this.emitted += count;
    this.#fruitless = count > 0 ? 0 : this.#fruitless + 1;
    if (this.#fruitless < MAX_FRUITLESS_PAGES) return;
    throw this.contradiction(`the last ${MAX_FRUITLESS_PAGES} pages, up to page ${page}, contained no new record`);
  }

  changesTooFast(): PaginationError {
    return new PaginationError(`${this.label}: the list changes faster than it can be read. Read it again later.`);
  }

  contradiction(problem: string): PaginationError {
    const advice =
      "Read the list again later: it may change faster than it can be read. If the error persists, report it to the provider of the service.";
    return new PaginationError(`${this.label}: ${problem}, but the service reports more records. ${advice}`);
  }

  add<T>(page: Page<T>, keyOf: ((record: T) => RecordKey | undefined) | undefined): void {
    this.#last = page;
    if (isCountPossible(page)) this.#fewestCounted = Math.min(this.#fewestCounted, page.totalCount);
    this.#mostCounted = Math.max(this.#mostCounted, page.totalCount);
    if (!keyOf || page.value.length === 0) return;
    const keys = page.value.map((record) => keyOf(record) ?? "");
    this.#first ??= { keys, totalCount: page.totalCount, end: startOfPage(page) + page.pageSize };
    const { keys: firstKeys, totalCount, end } = this.#first;
    const isElsewhere = startOfPage(page) >= end && page.totalCount === totalCount;
    if (isElsewhere && keys.every((key, index) => index >= firstKeys.length || key === firstKeys[index]))
      this.#repeated = page.page;
  }

  /**
   * Ends the iteration. Returns why the list may lack records that the service has counted, if it may. `isContradiction`:
   * whether the service contradicts itself. Otherwise the client may not be allowed to see everything.
   *
   * @param hasKeys Whether the records have keys. Without keys, a record may have been emitted twice or never, so the
   * number of emitted records is not compared with the counts of the service.
   * @param wasShort Whether the last page with records was short (page-end.ts), and no page followed it.
   */
  finish(hasKeys: boolean, wasShort: boolean): { message: string; isContradiction: boolean } | undefined {
    const last = this.#last;
    const isShort = wasShort || (last !== undefined && endOf(last) === "short");
    const isIncomplete =
      hasKeys && this.isFromStart && Number.isFinite(this.#fewestCounted) && this.emitted < this.#fewestCounted;
    const areAllListed = !hasKeys || !this.isFromStart || this.emitted >= this.#mostCounted;
    this.isComplete = !isShort && areAllListed && last !== undefined && endOf(last) === "end";
    if (!isShort && !isIncomplete) return undefined;
    if (this.#repeated !== undefined) {
      const message = `page ${this.#repeated} repeats page 1, so the service may ignore the parameter page; ${this.emitted} records were listed`;
      return { message, isContradiction: true };
    }
    const listed = hasKeys && this.isFromStart ? this.emitted : last ? endOfPage(last) : 0;
    const counted = Number.isFinite(this.#fewestCounted) ? this.#fewestCounted : 0;
    return {
      message: `the service counts ${Math.max(counted, last?.totalCount ?? 0)} records, but lists only ${listed}`,
      isContradiction: false,
    };
  }
}
