import { PaginationError } from "../../errors/index.js";
import { bestOverlappingPage, pageAround } from "../choose-page.js";
import type { Page, PageRequest } from "../page.js";
import type { RecordKey } from "../seen-keys.js";
import { PlaceSearch, type Run } from "./place-search.js";
import type { RememberedPlaces } from "./remembered-places.js";
import { type Direction, numericOrder, type SortedPage, textOrder, toSortedPage } from "./sorted-page.js";

/** A list that can be requested in the order of a number that its records have. */
export interface SearchedList<T> {
  /** Method and path, the start of every message. */
  label: string;
  numberOf(record: T): unknown;
  keyOf(record: T): RecordKey | undefined;
  places: RememberedPlaces;
  fetch(request: PageRequest, direction: Direction): Promise<Page<T>>;
  /** Reads on from a page, ascending and gapless: the new records of each page. `onPage` receives each page as served. */
  readOn(from: PageRequest, onPage: (page: Page<T>) => void): AsyncIterable<Page<T>>;
}

/** The list is not in the order asked for: only reading the whole list finds a record. */
export class UnsortedListError extends Error {}

/** Twice as many as a calm list of a million records needs. */
const MAX_PAGES = 40;
/** How often reading a run of several pages may begin. */
const MAX_LONG_RUN_READS = 4;
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
 *   shown the order yet.
 * - *Complete* (`Run.isComplete`): a page contains the place with both neighbours.
 * - *Doubting absence* (`#isSearchedAsText`): the service may sort numbers as strings. Until a page has shown numeric order, a
 *   number is absent only if its place among strings is empty, too; that is searched in the same way.
 * - *Long run* (`#readLongRun`): the records do not fit on one page. They are read gapless from the page that contains their
 *   beginning.
 *
 * A page that is not in the order asked for ends the search with an {@link UnsortedListError}.
 */
export class ItemRecordsSearch<T> {
  readonly #list: SearchedList<T>;
  readonly #target: number;
  #search: PlaceSearch;
  #isSearchedAsText = false;
  /** Directions in which the place itself was read, to prove the order. */
  readonly #tried = new Set<Direction>();

  constructor(list: SearchedList<T>, target: number) {
    this.#list = list;
    this.#target = target;
    this.#search = new PlaceSearch(target, numericOrder, list.places);
  }

  async read(): Promise<T[]> {
    const { label, places } = this.#list;
    let direction: Direction = places.provenDirections.has("DESC") ? "ASC" : "DESC";
    let request = direction === "ASC" ? this.#search.next() : { page: 1, pageSize: places.maxPageSize };
    let longRunReads = 0;
    for (let pages = 0; pages < MAX_PAGES && longRunReads < MAX_LONG_RUN_READS; pages += 1) {
      const page = await this.#fetch(request, direction);
      if (page.isFirst && page.isLast) return this.#recordsOf(page.records);
      const run = this.#search.learn(page);
      // It is absent by numbers, and this page has shown that the order is that of numbers.
      if (this.#isSearchedAsText && places.isNumeric) return [];
      const unproven = this.#takeUnprovenDirection(run);
      direction = unproven ?? "ASC";
      if (run && unproven) {
        request = pageOfRun(page, run, unproven, places.maxPageSize);
        continue;
      }
      if (run?.isComplete) {
        const records = page.records.slice(run.from, run.to);
        this.#notePlace(page.start + run.from, records.length);
        if (records.length > 0 || this.#isAbsent(page, run)) return records;
        this.#isSearchedAsText = true;
        this.#search = new PlaceSearch(this.#target, textOrder, places);
      } else {
        const start = run ? page.start + run.from : this.#search.longRunStart;
        if (start !== undefined) {
          longRunReads += 1;
          const records = await this.#readLongRun(start, longRunReads === MAX_LONG_RUN_READS);
          if (records) return records;
        }
      }
      request = this.#search.next();
    }
    throw new PaginationError(
      `${label}: the list changes faster than the records with partNo ${this.#target} can be found in it. Try again later.`,
    );
  }

  async #fetch(request: PageRequest, direction: Direction): Promise<SortedPage<T>> {
    const { places, fetch, label, numberOf } = this.#list;
    const page = await fetch(request, direction);
    places.noteAppliedSize(request, page.pageSize);
    const sorted = toSortedPage(page, direction, numberOf);
    if (!sorted) throw new UnsortedListError(`${label}: page ${page.page} is not in the order of partNo`);
    places.notePage(sorted, direction);
    return sorted;
  }

  /** The next direction in which the order has to be proved. Each is returned once. */
  #takeUnprovenDirection(run: Run | undefined): Direction | undefined {
    const { places, label } = this.#list;
    const direction = run && DIRECTIONS.find((one) => !places.provenDirections.has(one));
    if (direction === undefined) return undefined;
    // The place with its neighbours shows one number only: the whole list may have no other.
    if (this.#tried.has(direction)) throw new UnsortedListError(`${label}: all records have one partNo`);
    this.#tried.add(direction);
    return direction;
  }

  /** Whether a number without a record is absent in any order that the service may use. */
  #isAbsent({ values }: SortedPage<T>, { from, to }: Run): boolean {
    const [before, after] = [values[from - 1], values[to]];
    const isAbsentAsText =
      (before === undefined || textOrder.isBefore(before, this.#target)) &&
      (after === undefined || textOrder.isBefore(this.#target, after));
    return this.#list.places.isNumeric || this.#isSearchedAsText || isAbsentAsText;
  }

  #notePlace(position: number, length: number): void {
    this.#list.places.notePlace({ value: this.#target, position, length: Math.max(1, length) });
  }

  #recordsOf(records: readonly T[]): T[] {
    return records.filter((record) => this.#list.numberOf(record) === this.#target);
  }

  /**
   * The records of a run that does not fit on one page, or did not on the page that was read. `undefined` if it has moved away
   * from its position, or if its records have changed their order. That order is not documented; if it is not stable,
   * overlapping pages prove nothing.
   */
  async #readLongRun(start: number, isLastAttempt: boolean): Promise<T[] | undefined> {
    const { keyOf, numberOf, places, readOn, label } = this.#list;
    const target = this.#target;
    const positions = new Map<RecordKey | undefined, number>();
    let state: "reading" | "moved" | "reordered" | "unsorted" = "reading";
    const check = (served: Page<T>) => {
      const page = toSortedPage(served, "ASC", numberOf);
      if (!page) state = "unsorted";
      if (!page || state !== "reading") return;
      const [first = target] = page.values;
      if (positions.size === 0 && !page.isFirst && first >= target) state = "moved";
      const shifts = new Set<number>();
      for (const [index, record] of page.records.entries()) {
        if (numberOf(record) !== target) continue;
        const position = page.start + index;
        const before = positions.get(keyOf(record));
        if (before !== undefined) shifts.add(position - before);
        positions.set(keyOf(record), position);
      }
      if (shifts.size > 1) state = "reordered";
    };
    const records: T[] = [];
    const first = bestOverlappingPage({ end: start, maxPageSize: places.maxPageSize, shifts: [] });
    for await (const { value } of readOn(first, check)) {
      if (state !== "reading") break;
      records.push(...this.#recordsOf(value));
      if (value.some((record) => Number(numberOf(record)) > target)) break;
    }
    const [place = start] = positions.values();
    if (state === "reading") {
      this.#notePlace(place, records.length);
      return records;
    }
    if (state === "unsorted" || (state === "reordered" && isLastAttempt)) {
      throw new UnsortedListError(`${label}: records change their order from page to page`);
    }
    return undefined;
  }
}

/** The page around a run, requested in a direction. */
function pageOfRun(page: SortedPage<unknown>, run: Run, direction: Direction, maxPageSize: number): PageRequest {
  const from = page.start + run.from - 1;
  const to = page.start + run.to;
  if (direction === "ASC") return pageAround(from, to, maxPageSize);
  const last = page.total - 1;
  return pageAround(last - to, last - from, maxPageSize);
}
