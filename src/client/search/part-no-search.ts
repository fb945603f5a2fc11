import { PaginationError } from "../../shared/errors/index.js";
import { LongRun } from "./long-run.js";
import { type Positions, UnsearchableListError } from "./order-proof.js";
import { PlaceSearch, type VisibleRun } from "./place-search.js";
import { readProbe, type SearchedList } from "./searched-list.js";
import { numericOrder, type Probe, type SortedPage, textOrder } from "./sorted-page.js";

/** Twice as many as a calm list of a million records needs. */
const MAX_PAGES = 40;
/** Pages that one search reads for a proof: after half of them, parts that have shown the other direction count, too. */
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
 * them, and if there are none, the part number is not listed. No result of one page depends on a position, or on another page.
 *
 * **Steps of a search.** `find` reads a page and lets `#step` decide, in this order:
 * - *One page*: it contains the whole list, so it contains all records.
 * - *Doubting absence* (`#isSearchedAsText`): the service may sort part numbers as strings, and the pages that were read look
 *   numeric by chance. Until a page has shown numeric order, one is absent only if its place among strings is empty, too. That
 *   is searched in the same way, until it is found, or a page refutes the order or shows that it is numeric.
 * - *Probing*: neither this page nor those before it show where the run begins, so `PlaceSearch` chooses the next one.
 * - *Proving the order*, once per list ({@link OrderProof}): a page in the direction that is not proved, around the beginning of
 *   the run or elsewhere.
 * - *Complete run*: one page contains it with both neighbours ({@link VisibleRun}).
 * - *Long run*: it does not fit on one page ({@link LongRun}).
 *
 * Until descending order is proved, the first page is that of the highest part numbers: it shows the total, and often the whole
 * list.
 *
 * A page that is not in the order asked for ends the search with an {@link UnsearchableListError}; so do two pages of these steps
 * that contradict each other, but then a second search shows whether the list has only changed as a whole
 * ({@link findByPartNo}). docs/decisions/019-one-item-in-a-few-requests.md has the reasons and measurements.
 */
class PartNoSearch<T> {
  readonly #list: SearchedList<T>;
  readonly #partNo: number;
  readonly #longRun: LongRun<T>;
  #search: PlaceSearch;
  /** Kept until the order is proved. A page that is read for that may show it anew. */
  #foundRun: VisibleRun<T> | undefined;
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
    // The whole list is read by recNo instead, of which no two are equal.
    if (this.#longRunReads > 0)
      throw new UnsearchableListError(`${label}: records with the same partNo change too often, or change their order`);
    throw new PaginationError(
      `${label}: the list changes faster than the records with partNo ${this.#partNo} can be found in it. Try again later.`,
    );
  }

  /** The records, or the page to read next. */
  async #step(page: SortedPage<T>): Promise<T[] | Probe> {
    if (page.isFirst && page.isLast) return this.#recordsOf(page.records);
    const run = this.#search.learn(page) ?? this.#foundRun;
    // It was absent among numbers (`#conclude`), and this page has shown that the list is sorted by number.
    if (this.#isSearchedAsText && this.#list.known.order.isNumeric) return [];
    const start = run ? run.page.start + run.from : this.#search.longRunStart;
    if (start === undefined) return this.#nextProbe();
    const proof = this.#nextProof({ from: start - 1, to: (run ? run.page.start + run.to : start) + 1 }, page.total);
    this.#foundRun = proof && run;
    if (proof) return proof;
    const records = run?.isComplete ? this.#conclude(run) : await this.#readLongRun(start);
    return records ?? this.#nextProbe();
  }

  #firstProbe(): Probe {
    return { request: { page: 1, pageSize: this.#list.known.maxPageSize }, direction: "DESC" };
  }

  #nextProbe(): Probe {
    return { request: this.#search.next(), direction: "ASC" };
  }

  /** The page to read in order to prove the order of the list, around this place or elsewhere; `undefined` once it is proved. */
  #nextProof(place: Positions, total: number): Probe | undefined {
    const { label, known } = this.#list;
    if (this.#proofPages >= MAX_PROOF_PAGES / 2) known.order.countDiscounted();
    const proof = known.order.nextProbe(place, total);
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
  #conclude(run: VisibleRun<T>): T[] | undefined {
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
  #isAbsent({ page: { partNos }, from, to }: VisibleRun<T>): boolean {
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
