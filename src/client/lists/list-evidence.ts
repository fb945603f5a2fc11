import { endOfPage, type Page, type RecordKey, startOfPage } from "./page.js";
import { endOf, isCountPossible } from "./page-end.js";

/** Why a list that has ended may lack records that the service has counted. */
export interface ListProblem {
  message: string;
  /** Whether the service contradicts itself. Otherwise the client may not be allowed to see everything. */
  isContradiction: boolean;
}

/** Collects what the pages of one iteration show, and judges whether the list was complete. */
export class ListEvidence {
  /** Number of records that were emitted. */
  emitted = 0;
  isComplete = false;
  readonly #isFromStart: boolean;
  /** The smallest `totalCount` of all pages, because records that were removed meanwhile are not missing. */
  #fewestCounted = Infinity;
  /** The largest `totalCount` of all pages. If fewer records were listed, the list may be incomplete. */
  #mostCounted = 0;
  /** The first page with records: its keys, its count, and the position at which it ends. */
  #first: { keys: RecordKey[]; totalCount: number; end: number } | undefined;
  /** The number of a later page that shows the records of page 1 again. */
  #repeated: number | undefined;
  #last: Page<unknown> | undefined;

  constructor(isFromStart: boolean) {
    this.#isFromStart = isFromStart;
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
   * Ends the iteration. Returns the problem of the list, if there is one.
   *
   * @param hasKeys Whether the records have keys. Without keys, a record may have been emitted twice or never, so the
   * number of emitted records is not compared with the counts of the service.
   * @param wasShort Whether the last page with records was short (page-end.ts), and no page followed it.
   */
  finish(hasKeys: boolean, wasShort: boolean): ListProblem | undefined {
    const last = this.#last;
    const isShort = wasShort || (last !== undefined && endOf(last) === "short");
    const isIncomplete =
      hasKeys && this.#isFromStart && Number.isFinite(this.#fewestCounted) && this.emitted < this.#fewestCounted;
    const areAllListed = !hasKeys || !this.#isFromStart || this.emitted >= this.#mostCounted;
    this.isComplete = !isShort && areAllListed && last !== undefined && endOf(last) === "end";
    if (!isShort && !isIncomplete) return undefined;
    if (this.#repeated !== undefined) {
      const message = `page ${this.#repeated} repeats page 1, so the service may ignore the parameter page; ${this.emitted} records were listed`;
      return { message, isContradiction: true };
    }
    const listed = hasKeys && this.#isFromStart ? this.emitted : last ? endOfPage(last) : 0;
    const counted = Number.isFinite(this.#fewestCounted) ? this.#fewestCounted : 0;
    return {
      message: `the service counts ${Math.max(counted, last?.totalCount ?? 0)} records, but lists only ${listed}`,
      isContradiction: false,
    };
  }
}
