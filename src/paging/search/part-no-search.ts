import { PaginationError } from "../../errors/index.js";
import type { PageRequest } from "../page.js";
import { LongRun } from "./long-run.js";
import { UnsortedListError } from "./order-proof.js";
import { PlaceSearch, type Run } from "./place-search.js";
import { type SearchedList, sortedPage } from "./searched-list.js";
import { type Direction, numericOrder, type SortedPage, textOrder } from "./sorted-page.js";

/** Twice as many as a calm list of a million records needs. */
const MAX_PAGES = 40;
/** How often reading a run of several pages may begin. */
const MAX_LONG_RUN_READS = 4;

/** The page that is read next. */
interface Probe {
  request: PageRequest;
  direction: Direction;
}

/** A page that contains the beginning of the place. */
interface PlacePage<T> {
  page: SortedPage<T>;
  run: Run;
}

/**
 * Finds the records of one part number in a list sorted by it, by a few of its pages.
 *
 * **Why the result is exact.** A page is one contiguous run of the list at one moment. If it contains what precedes and what
 * follows the records of the part number (a record of another one, or the start or end of the list), then these are all of
 * them, and if there are none, the part number is not listed. No result depends on a position, or on two pages at once.
 *
 * **States of a search.**
 * - *First page*, until descending order is proved: the highest part numbers. It shows the total, and often the whole list.
 * - *Probing*: `PlaceSearch` chooses pages until one contains the beginning of the place.
 * - *Proving the order*, once per list ({@link OrderProof}): a page in the direction that is not proved, around the place, or
 *   elsewhere.
 * - *Complete* (`Run.isComplete`): a page contains the place with both neighbours.
 * - *Doubting absence* (`#isSearchedAsText`): the service may sort part numbers as strings. Until a page has shown numeric
 *   order, one is absent only if its place among strings is empty, too; that is searched in the same way.
 * - *Long run*: the records do not fit on one page ({@link LongRun}).
 *
 * A page that is not in the order asked for, or two pages that are not, end the search with an {@link UnsortedListError}.
 */
export class PartNoSearch<T> {
  readonly #list: SearchedList<T>;
  readonly #partNo: number;
  #search: PlaceSearch;
  #isSearchedAsText = false;
  /** How many pages were read to prove the order. */
  #proofPages = 0;
  readonly #pages: SortedPage<T>[] = [];

  constructor(list: SearchedList<T>, partNo: number) {
    this.#list = list;
    this.#partNo = partNo;
    this.#search = new PlaceSearch(partNo, numericOrder, list.known);
  }

  async read(): Promise<T[]> {
    const { label, known } = this.#list;
    known.order.ensureNotRefuted();
    let probe = known.order.isProven("DESC") ? this.#nextProbe() : this.#firstProbe();
    const longRun = new LongRun(this.#list, this.#partNo);
    let longRunReads = 0;
    let place: PlacePage<T> | undefined;
    for (let pages = 0; pages < MAX_PAGES && longRunReads < MAX_LONG_RUN_READS; pages += 1) {
      const page = await this.#fetch(probe);
      if (page.isFirst && page.isLast) return this.#recordsOf(page.records);
      const run = this.#search.learn(page);
      // It is absent by numbers, and this page has shown that the order is that of numbers.
      if (this.#isSearchedAsText && known.order.isNumeric) return [];
      if (run) place = { page, run };
      const proof = place && this.#nextProof(place);
      if (proof) {
        // An incomplete one would only be the beginning of a long run, which is read anew.
        if (!place?.run.isComplete) place = undefined;
        probe = proof;
        continue;
      }
      if (place?.run.isComplete) {
        const records = this.#recordsIn(place);
        if (records.length > 0 || this.#isAbsent(place)) return records;
        this.#isSearchedAsText = true;
        this.#search = new PlaceSearch(this.#partNo, textOrder, known);
      } else {
        const start = place ? place.page.start + place.run.from : this.#search.longRunStart;
        if (start !== undefined && (await longRun.readOnce(start))) return longRun.records;
        if (start !== undefined) longRunReads += 1;
      }
      place = undefined;
      probe = this.#nextProbe();
    }
    // Sorted by a column whose values differ, the whole list does not depend on that order.
    if (longRunReads > 0) throw new UnsortedListError(`${label}: records with the same partNo change their order`);
    throw new PaginationError(
      `${label}: the list changes faster than the records with partNo ${this.#partNo} can be found in it. Try again later.`,
    );
  }

  #firstProbe(): Probe {
    return { request: { page: 1, pageSize: this.#list.known.maxPageSize }, direction: "DESC" };
  }

  #nextProbe(): Probe {
    return { request: this.#search.next(), direction: "ASC" };
  }

  #nextProof({ page: { start, total }, run: { from, to } }: PlacePage<T>): Probe | undefined {
    const { label, known } = this.#list;
    const { order, maxPageSize: pageSize } = known;
    const withNeighbours = { from: start + from - 1, to: start + to };
    const proof = order.nextPage(withNeighbours, { pagesRead: this.#proofPages, total, pageSize, label });
    if (proof) this.#proofPages += 1;
    return proof;
  }

  async #fetch({ request, direction }: Probe): Promise<SortedPage<T>> {
    const { known, fetch, label } = this.#list;
    const page = await fetch(request, direction);
    if (page.page !== request.page) {
      throw new PaginationError(`${label}: the response to a request for page ${request.page} is page ${page.page}.`);
    }
    known.noteAppliedSize(request, page.pageSize);
    const sorted = sortedPage(this.#list, page, direction);
    known.notePage(sorted, direction);
    if (this.#pages.some((earlier) => contradicts(earlier, sorted) || contradicts(sorted, earlier)))
      known.order.undo(`${label}: its pages are not in the order of partNo`);
    this.#pages.push(sorted);
    return sorted;
  }

  #recordsIn({ page, run: { from, to } }: PlacePage<T>): T[] {
    const records = page.records.slice(from, to);
    const length = Math.max(1, records.length);
    this.#list.known.notePlace({ partNo: this.#partNo, position: page.start + from, length });
    return records;
  }

  /** Whether a part number without a record is absent in any order that the service may use. */
  #isAbsent({ page: { partNos }, run: { from, to } }: PlacePage<T>): boolean {
    const [before, after] = [partNos[from - 1], partNos[to]];
    const isAbsentAsText =
      (before === undefined || textOrder.isBefore(before, this.#partNo)) &&
      (after === undefined || textOrder.isBefore(this.#partNo, after));
    return this.#list.known.order.isNumeric || this.#isSearchedAsText || isAbsentAsText;
  }

  #recordsOf(records: readonly T[]): T[] {
    return records.filter((record) => this.#list.partNoOf(record) === this.#partNo);
  }
}

/** Pages that are at least this many positions apart have not passed each other by changes of the list. */
const MIN_DISTANCE = 250;

/** Whether a page shows higher part numbers than another that stands behind it. */
const contradicts = (page: SortedPage<unknown>, behind: SortedPage<unknown>): boolean =>
  behind.start - (page.start + page.partNos.length) >= MIN_DISTANCE &&
  (page.partNos.at(-1) ?? 0) > (behind.partNos[0] ?? Number.POSITIVE_INFINITY);
