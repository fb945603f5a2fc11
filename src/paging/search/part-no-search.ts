import { PaginationError } from "../../errors/index.js";
import { LongRun } from "./long-run.js";
import { UnsearchableListError } from "./order-proof.js";
import { PlaceSearch, type Run } from "./place-search.js";
import { readProbe, type SearchedList } from "./searched-list.js";
import { numericOrder, type Probe, type SortedPage, textOrder } from "./sorted-page.js";

/** Twice as many as a calm list of a million records needs. */
const MAX_PAGES = 40;
/** Pages that one search reads for a proof: the first half in parts of the list that have shown none. */
const MAX_PROOF_PAGES = 4;
/** How often reading a run of several pages may begin. */
const MAX_LONG_RUN_READS = 4;

/** Two pages of one search are not in one order: the list has another one, or has changed as a whole. */
class ContradictoryPagesError extends UnsearchableListError {}

/** Searches again, once, if the list may have changed as a whole. Rejects as {@link PartNoSearch} does. */
export async function findByPartNo<T>(list: SearchedList<T>, partNo: number): Promise<T[]> {
  try {
    return await new PartNoSearch(list, partNo).find();
  } catch (error) {
    if (!(error instanceof ContradictoryPagesError)) throw error;
    return new PartNoSearch(list, partNo).find();
  }
}

/**
 * Finds the records of one part number in a list sorted by it, by a few of its pages.
 *
 * **Why the result is exact.** A page is one contiguous run of the list at one moment. If it contains what precedes and what
 * follows the records of the part number (a record of another one, or the start or end of the list), then these are all of
 * them, and if there are none, the part number is not listed. No result depends on a position, or on two pages at once.
 *
 * **Steps of a search.** `find` reads a page and lets `#step` decide, in this order:
 * - *One page*: it contains the whole list, so it contains all records.
 * - *Doubting absence* (`#isSearchedAsText`): the service may sort part numbers as strings, and the pages that were read look
 *   numeric by chance. Until a page has shown numeric order, one is absent only if its place among strings is empty, too. That
 *   is searched in the same way, until it is found, or a page refutes the order or shows that it is numeric.
 * - *Probing*: the page does not contain the beginning of the place (a {@link Run}), so `PlaceSearch` chooses the next one. If
 *   it knows only the middle of a run of several pages, that is read as a long one.
 * - *Proving the order*, once per list ({@link OrderProof}): a page in the direction that is not proved, around the run or
 *   elsewhere. A complete run is kept meanwhile.
 * - *Complete run*: the page contains the place with both neighbours.
 * - *Long run*: the records do not fit on one page ({@link LongRun}).
 *
 * Until descending order is proved, the first page is that of the highest part numbers: it shows the total, and often the whole
 * list.
 *
 * A page that is not in the order asked for, or two pages that are not, end the search with an {@link UnsearchableListError}. After
 * the latter a second search shows whether the list has only changed as a whole ({@link findByPartNo}).
 */
class PartNoSearch<T> {
  readonly #list: SearchedList<T>;
  readonly #partNo: number;
  readonly #longRun: LongRun<T>;
  #search: PlaceSearch;
  /** A complete run, kept until the order is proved. A page that is read for that may show it anew. */
  #completeRun: Run<T> | undefined;
  #isSearchedAsText = false;
  /** How many pages were read to prove the order. */
  #proofPages = 0;
  #longRunReads = 0;
  readonly #pages: SortedPage<T>[] = [];

  constructor(list: SearchedList<T>, partNo: number) {
    this.#list = list;
    this.#partNo = partNo;
    this.#longRun = new LongRun(list, partNo);
    this.#search = new PlaceSearch(partNo, numericOrder, list.known);
  }

  async find(): Promise<T[]> {
    const { label, known } = this.#list;
    known.order.ensureNotRefuted();
    let probe = known.order.isProven("DESC") ? this.#nextProbe() : this.#firstProbe();
    for (let pages = 0; pages < MAX_PAGES && this.#longRunReads < MAX_LONG_RUN_READS; pages += 1) {
      const step = await this.#step(await this.#readPage(probe));
      if (Array.isArray(step)) return step;
      probe = step;
    }
    // Sorted by a column whose values differ, the whole list does not depend on that order.
    if (this.#longRunReads > 0)
      throw new UnsearchableListError(`${label}: records with the same partNo change too often, or change their order`);
    throw new PaginationError(
      `${label}: the list changes faster than the records with partNo ${this.#partNo} can be found in it. Try again later.`,
    );
  }

  /** The records, or the page to read next. */
  async #step(page: SortedPage<T>): Promise<T[] | Probe> {
    if (page.isFirst && page.isLast) return this.#recordsOf(page.records);
    const run = this.#search.learn(page) ?? this.#completeRun;
    // Absent among numbers, and this page has shown that the list is sorted by number.
    if (this.#isSearchedAsText && this.#list.known.order.isNumeric) return [];
    if (!run) {
      const { longRunStart } = this.#search;
      const records = longRunStart === undefined ? undefined : await this.#readLongRun(longRunStart);
      return records ?? this.#nextProbe();
    }
    const proof = this.#nextProof(run);
    if (proof) {
      // An incomplete run is only the beginning of a long one. It is found anew once the order is proved.
      this.#completeRun = run.isComplete ? run : undefined;
      return proof;
    }
    this.#completeRun = undefined;
    const records = run.isComplete ? this.#conclude(run) : await this.#readLongRun(run.page.start + run.from);
    return records ?? this.#nextProbe();
  }

  #firstProbe(): Probe {
    return { request: { page: 1, pageSize: this.#list.known.maxPageSize }, direction: "DESC" };
  }

  #nextProbe(): Probe {
    return { request: this.#search.next(), direction: "ASC" };
  }

  /** The page to read in order to prove the order of the list, around this run or elsewhere; `undefined` once it is proved. */
  #nextProof({ page: { start, total }, from, to }: Run<T>): Probe | undefined {
    const { label, known } = this.#list;
    if (this.#proofPages >= MAX_PROOF_PAGES / 2) known.order.countDiscounted();
    const withNeighbours = { from: start + from - 1, to: start + to + 1 };
    const proof = known.order.nextProbe(withNeighbours, total);
    if (!proof) return undefined;
    if (this.#proofPages === MAX_PROOF_PAGES) {
      known.order.undo();
      throw new UnsearchableListError(`${label}: its pages do not prove that they are in the order of partNo`);
    }
    this.#proofPages += 1;
    return proof;
  }

  async #readPage(probe: Probe): Promise<SortedPage<T>> {
    const page = await readProbe(this.#list, probe);
    const { label, known } = this.#list;
    if (this.#pages.some((earlier) => contradicts(earlier, page) || contradicts(page, earlier))) {
      known.order.undo();
      throw new ContradictoryPagesError(`${label}: its pages are not in the order of partNo`);
    }
    this.#pages.push(page);
    return page;
  }

  /** The records of a complete run; `undefined` if there are none, and they may stand elsewhere among strings. */
  #conclude(run: Run<T>): T[] | undefined {
    const { page, from, to } = run;
    const records = page.records.slice(from, to);
    const length = Math.max(1, records.length);
    this.#list.known.notePlace({ partNo: this.#partNo, position: page.start + from, length });
    if (records.length > 0 || this.#isAbsent(run)) return records;
    this.#isSearchedAsText = true;
    this.#search = new PlaceSearch(this.#partNo, textOrder, this.#list.known);
    return undefined;
  }

  /** Whether a part number without a record is absent in any order that the service may use. */
  #isAbsent({ page: { partNos }, from, to }: Run<T>): boolean {
    const [before, after] = [partNos[from - 1], partNos[to]];
    const isAbsentAsText =
      (before === undefined || textOrder.isBefore(before, this.#partNo)) &&
      (after === undefined || textOrder.isBefore(this.#partNo, after));
    return this.#list.known.order.isNumeric || this.#isSearchedAsText || isAbsentAsText;
  }

  /** The records of a run that does not fit on one page; `undefined` if it has to be read again. */
  async #readLongRun(start: number): Promise<T[] | undefined> {
    this.#longRunReads += 1;
    return (await this.#longRun.readOnce(start)) ? this.#longRun.records : undefined;
  }

  #recordsOf(records: readonly T[]): T[] {
    return records.filter((record) => this.#list.partNoOf(record) === this.#partNo);
  }
}

/** Pages that are at least this many positions apart are taken not to have passed each other by changes of the list. */
const MIN_DISTANCE = 250;

/** Whether a page shows higher part numbers than another that stands behind it. */
const contradicts = (page: SortedPage<unknown>, behind: SortedPage<unknown>): boolean =>
  behind.start - (page.start + page.partNos.length) >= MIN_DISTANCE &&
  (page.partNos.at(-1) ?? 0) > (behind.partNos[0] ?? Number.POSITIVE_INFINITY);
