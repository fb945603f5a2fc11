import { PaginationError } from "../../errors/index.js";
import { pageAround } from "../choose-page.js";
import type { PageRequest } from "../page.js";
import { LongRun } from "./long-run.js";
import { PlaceSearch, type Run } from "./place-search.js";
import { type SearchedList, UnsortedListError } from "./searched-list.js";
import { type Direction, numericOrder, type SortedPage, textOrder, toSortedPage } from "./sorted-page.js";

/** Twice as many as a calm list of a million records needs. */
const MAX_PAGES = 40;
/** How often reading a run of several pages may begin. */
const MAX_LONG_RUN_READS = 4;
/** Pages that are read for a proof of the order: the first half in parts of the list that have shown none. */
const MAX_PROOFS = 4;
const DIRECTIONS: readonly Direction[] = ["DESC", "ASC"];

/**
 * Finds the records of one number in a sorted list, by a few of its pages.
 *
 * **Why the result is exact.** A page is one contiguous run of the list at one moment. If it contains what precedes and what
 * follows the records of the number (a record of another number, or the start or end of the list), then these are all of
 * them, and if there are none, the number is not listed. No result depends on a position, or on two pages at once.
 *
 * **States of a search.**
 * - *First page*, until descending order is proved: the highest numbers. It shows the total, and often the whole list.
 * - *Probing*: `PlaceSearch` chooses pages until one contains the beginning of the place.
 * - *Proving the order* (`#takeUnprovenDirection`): once per list, the place is read in the direction in which no page has
 *   shown the order yet; or another part of the list, if the place has proved the other direction.
 * - *Complete* (`Run.isComplete`): a page contains the place with both neighbours.
 * - *Doubting absence* (`#isSearchedAsText`): the service may sort numbers as strings. Until a page has shown numeric order, a
 *   number is absent only if its place among strings is empty, too; that is searched in the same way.
 * - *Long run*: the records do not fit on one page ({@link LongRun}).
 *
 * A page that is not in the order asked for, or two pages that are not, end the search with an {@link UnsortedListError}.
 */
export class ItemRecordsSearch<T> {
  readonly #list: SearchedList<T>;
  readonly #target: number;
  #search: PlaceSearch;
  #isSearchedAsText = false;
  /** How many pages were read to prove the order. */
  #proofs = 0;
  readonly #pages: SortedPage<T>[] = [];

  constructor(list: SearchedList<T>, target: number) {
    this.#list = list;
    this.#target = target;
    this.#search = new PlaceSearch(target, numericOrder, list.places);
  }

  async read(): Promise<T[]> {
    const { label, places } = this.#list;
    if (places.disproof !== undefined) throw new UnsortedListError(places.disproof);
    let direction: Direction = places.isProven("DESC") ? "ASC" : "DESC";
    let request = direction === "ASC" ? this.#search.next() : { page: 1, pageSize: places.maxPageSize };
    const longRun = new LongRun(this.#list, this.#target);
    let longRunReads = 0;
    /** The page that contains the place with both neighbours, while the order is being proved. */
    let unprovenPlace: { page: SortedPage<T>; run: Run } | undefined;
    for (let pages = 0; pages < MAX_PAGES && longRunReads < MAX_LONG_RUN_READS; pages += 1) {
      const page = await this.#fetch(request, direction);
      if (page.isFirst && page.isLast) return this.#recordsOf(page.records);
      const run = this.#search.learn(page);
      // It is absent by numbers, and this page has shown that the order is that of numbers.
      if (this.#isSearchedAsText && places.isNumeric) return [];
      const place = run ? { page, run } : unprovenPlace;
      const unproven = place && this.#takeUnprovenDirection();
      direction = unproven ?? "ASC";
      unprovenPlace = unproven && place?.run.isComplete ? place : undefined;
      if (place && unproven) {
        request = this.#proofOf(unproven, place.page, place.run);
        continue;
      }
      if (place?.run.isComplete) {
        const { from, to } = place.run;
        const records = place.page.records.slice(from, to);
        places.notePlace({
          value: this.#target,
          position: place.page.start + from,
          length: Math.max(1, records.length),
        });
        if (records.length > 0 || this.#isAbsent(place.page, place.run)) return records;
        this.#isSearchedAsText = true;
        this.#search = new PlaceSearch(this.#target, textOrder, places);
      } else {
        const start = run ? page.start + run.from : this.#search.longRunStart;
        if (start !== undefined && (await longRun.readOnce(start))) return longRun.records;
        if (start !== undefined) longRunReads += 1;
      }
      request = this.#search.next();
    }
    // Sorted by a column whose values differ, the whole list does not depend on that order.
    if (longRunReads > 0) throw new UnsortedListError(`${label}: records with the same partNo change their order`);
    throw new PaginationError(
      `${label}: the list changes faster than the records with partNo ${this.#target} can be found in it. Try again later.`,
    );
  }

  async #fetch(request: PageRequest, direction: Direction): Promise<SortedPage<T>> {
    const { places, fetch, label, numberOf } = this.#list;
    const page = await fetch(request, direction);
    if (page.page !== request.page) {
      throw new PaginationError(`${label}: the response to a request for page ${request.page} is page ${page.page}.`);
    }
    places.noteAppliedSize(request, page.pageSize);
    const sorted = toSortedPage(page, direction, numberOf);
    if (!sorted) {
      places.disproof = `${label}: page ${page.page} is not in the order of partNo`;
      throw new UnsortedListError(places.disproof);
    }
    places.notePage(sorted, direction);
    if (this.#pages.some((earlier) => contradicts(earlier, sorted) || contradicts(sorted, earlier))) {
      places.forgetOrder();
      throw new UnsortedListError(`${label}: its pages are not in the order of partNo`);
    }
    this.#pages.push(sorted);
    return sorted;
  }

  /** The next direction in which the order has to be proved. */
  #takeUnprovenDirection(): Direction | undefined {
    const { places, label } = this.#list;
    if (this.#proofs >= MAX_PROOFS / 2) places.acceptsShared = true;
    const direction = DIRECTIONS.find((one) => !places.isProven(one));
    if (direction === undefined) return undefined;
    // These pages show one number each: the whole list may have no other.
    if (this.#proofs === MAX_PROOFS) {
      places.forgetOrder();
      throw new UnsortedListError(`${label}: all records have one partNo`);
    }
    this.#proofs += 1;
    return direction;
  }

  /** The page around a run, which often completes it; or another, if this part of the list has proved the other direction. */
  #proofOf(direction: Direction, { start, total }: SortedPage<T>, { from, to }: Run): PageRequest {
    const { places } = this.#list;
    const { maxPageSize } = places;
    const place = { from: start + from - 1, to: start + to };
    const part = places.isUsedUp(direction, place) ? middleOf(places.unseenPart) : place;
    if (direction === "ASC") return pageAround(part.from, part.to, maxPageSize);
    return pageAround(total - 1 - part.to, total - 1 - part.from, maxPageSize);
  }

  /** Whether a number without a record is absent in any order that the service may use. */
  #isAbsent({ values }: SortedPage<T>, { from, to }: Run): boolean {
    const [before, after] = [values[from - 1], values[to]];
    const isAbsentAsText =
      (before === undefined || textOrder.isBefore(before, this.#target)) &&
      (after === undefined || textOrder.isBefore(this.#target, after));
    return this.#list.places.isNumeric || this.#isSearchedAsText || isAbsentAsText;
  }

  #recordsOf(records: readonly T[]): T[] {
    return records.filter((record) => this.#list.numberOf(record) === this.#target);
  }
}

function middleOf({ from, to }: { from: number; to: number }): { from: number; to: number } {
  const middle = Math.floor((from + to) / 2);
  return { from: middle, to: middle };
}

/** Pages that are at least this many positions apart have not passed each other by changes of the list. */
const MIN_DISTANCE = 250;

/** Whether a page shows higher numbers than another that stands behind it. */
const contradicts = (page: SortedPage<unknown>, behind: SortedPage<unknown>): boolean =>
  behind.start - (page.start + page.values.length) >= MIN_DISTANCE &&
  (page.values.at(-1) ?? 0) > (behind.values[0] ?? Number.POSITIVE_INFINITY);
