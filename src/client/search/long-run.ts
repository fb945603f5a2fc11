import { bestOverlappingPage } from "../lists/choose-page.js";
import type { PageRequest } from "../lists/page.js";
import { readProbe, type SearchedList } from "./searched-list.js";
import type { SortedPage } from "./sorted-page.js";

/** A pass reads at most this many pages more than three times what the list fills. */
const MAX_EXTRA_PASS_PAGES = 20;
/** Expected shift of the list between two requests, as a share of a page: pages are chosen so that they overlap by more. */
const EXPECTED_SHIFT = 0.1;

/**
 * The records of one part number that do not fit on one page.
 *
 * A pass reads them from the page that contains their beginning to the one that contains what follows. Each page overlaps
 * the one before it, so it continues the run without a gap. That proves nothing if records change their order among each
 * other meanwhile: one that moves from a page still to be read to one that was read is missed. The order is not documented,
 * so a pass counts as complete only if
 *
 * - it found as many records as there are positions between beginning and end, and the beginning, read again, has moved
 *   as far as the records that two pages had in common: nothing has moved within the run; or
 * - it found no record that an earlier pass had not found.
 *
 * The records of all passes are returned, each as it was read last.
 */
export class LongRun<T> {
  readonly #list: SearchedList<T>;
  readonly #partNo: number;
  readonly #found = new Map<unknown, T>();
  #passes = 0;

  constructor(list: SearchedList<T>, partNo: number) {
    this.#list = list;
    this.#partNo = partNo;
  }

  get records(): T[] {
    return [...this.#found.values()];
  }

  /** Reads the run that begins at a position. Returns whether all records have been found. */
  async readOnce(start: number): Promise<boolean> {
    const { known } = this.#list;
    const foundBefore = this.#found.size;
    const pass = new Pass(this.#list, this.#partNo);
    let beginning = this.#pageFrom(start);
    for (let request = beginning; !pass.hasEnded; request = this.#pageFrom(pass.end)) {
      // The first page may only show what precedes the run.
      if (!pass.hasBegun) beginning = request;
      // As in any iteration, pages after the first are bulk requests.
      const slotKind = pass.pages === 0 ? "single" : "bulk";
      const page = await readProbe(this.#list, { request, direction: "ASC", slotKind });
      pass.add(page);
      if (pass.isLost || pass.pages > MAX_EXTRA_PASS_PAGES + (3 * page.total) / known.maxPageSize) return false;
      // One page shows all at one moment: what earlier passes have found may be gone.
      if (pass.isOnOnePage) this.#found.clear();
      this.#keep(page);
    }
    this.#passes += 1;
    known.notePlace({ partNo: this.#partNo, position: pass.start, length: Math.max(1, pass.count) });
    if (pass.isOnOnePage) return true;
    if (this.#passes > 1 && this.#found.size === foundBefore) return true;
    if (!pass.isCountRight) return false;
    const again = new Pass(this.#list, this.#partNo);
    again.add(await readProbe(this.#list, { request: beginning, direction: "ASC" }));
    return !again.isLost && again.start - pass.start === pass.shift;
  }

  /** The page that continues at a position. */
  #pageFrom(end: number): PageRequest {
    const { maxPageSize } = this.#list.known;
    return bestOverlappingPage({ end, maxPageSize, shifts: [Math.floor(maxPageSize * EXPECTED_SHIFT)] });
  }

  #keep({ records, partNos }: SortedPage<T>): void {
    for (const [index, record] of records.entries()) {
      if (partNos[index] === this.#partNo) this.#found.set(this.#list.keyOf(record) ?? record, record);
    }
  }
}

/** One pass over a run: where its records stand, and how they have moved from page to page. */
class Pass<T> {
  /**
   * The beginning of the run was missed, a page has no record in common with those before it, or such records have moved by
   * different distances.
   */
  isLost = false;
  /** A page has shown what follows the run. */
  hasEnded = false;
  pages = 0;
  /** The run fits on one page after all, which shows all of it at one moment. */
  isOnOnePage = false;
  /** Position of the first record of the run, as the page that contains it shows it. */
  start = 0;
  /** By how many positions the run has moved since. */
  shift = 0;
  /** Position after the run, as far as it was read. */
  end = 0;
  readonly #positions = new Map<unknown, number>();
  readonly #list: SearchedList<T>;
  readonly #partNo: number;

  constructor(list: SearchedList<T>, partNo: number) {
    this.#list = list;
    this.#partNo = partNo;
  }

  /** How many records were found. */
  get count(): number {
    return this.#positions.size;
  }

  /** A page has shown the beginning of the run. */
  get hasBegun(): boolean {
    return this.count > 0;
  }

  /** As many records as there are positions between the beginning and the end of the run. */
  get isCountRight(): boolean {
    return this.count === this.end - (this.start + this.shift);
  }

  add(page: SortedPage<T>): void {
    this.pages += 1;
    const beginsHere = !this.hasBegun;
    const positions = this.#positionsOn(page);
    if (beginsHere) this.#begin(page);
    else this.#noteShift(positions);
    for (const [key, position] of positions) this.#positions.set(key, position);
    const next = page.partNos.findIndex((partNo) => partNo > this.#partNo);
    this.hasEnded = next >= 0 || page.isLast;
    this.end = page.start + (next < 0 ? page.partNos.length : next);
    this.isOnOnePage = beginsHere && this.hasEnded;
  }

  #begin({ partNos, start, isFirst }: SortedPage<T>): void {
    const index = partNos.indexOf(this.#partNo);
    // Behind the neighbour that precedes the run. If only that is on the page, the run follows.
    this.start = start + (index < 0 ? partNos.length : index);
    const [first = this.#partNo] = partNos;
    this.isLost = !isFirst && first >= this.#partNo;
  }

  /** By how many positions the records that a page and those before it have in common have moved. */
  #noteShift(positions: readonly [unknown, number][]): void {
    const shifts = new Set<number>();
    for (const [key, position] of positions) {
      const before = this.#positions.get(key);
      if (before !== undefined) shifts.add(position - before);
    }
    const [shift = 0] = shifts;
    this.shift += shift;
    this.isLost = shifts.size !== 1;
  }

  /** The records of the run on a page, each with its position. */
  #positionsOn({ records, partNos, start }: SortedPage<T>): [unknown, number][] {
    return records.flatMap((record, index): [unknown, number][] =>
      partNos[index] === this.#partNo ? [[this.#list.keyOf(record) ?? record, start + index]] : [],
    );
  }
}
