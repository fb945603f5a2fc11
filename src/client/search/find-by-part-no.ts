import { overlappingPage, pageAround } from "../lists/choose-page.js";
import { ListReader } from "../lists/list-reader.js";
import { type PageRequest, startOfPage } from "../lists/page.js";
import { proveEnds, proveOrder } from "./prove-order.js";
import { assertFitsOrderOfSkus, type SearchedItem } from "./sku-order.js";
import {
  isTextBefore,
  notePlace,
  readEnd,
  readSorted,
  type SortedList,
  type SortedPage,
  sortedPageOf,
  UnsearchableListError,
} from "./sorted-list.js";

/** Twice the pages that a search needs in a list of a million records that does not change. */
const MAX_SEARCH_PAGES = 40;
/** How many times records that do not fit on one page are read until two readings agree. */
const MAX_PASSES = 4;
/** The smallest share of a page by which such pages overlap, so that they still overlap after the list has changed. */
const PASS_OVERLAP = 0.1;

/**
 * Finds the records of one part number in a list that is sorted by part number, and reads only a few pages.
 *
 * **Why the result is exact.** A page is one contiguous run of the list at one moment. If a page contains the record before and
 * the record after the part number (or the start or end of the list), then it contains every record of that part number. If it
 * contains none, the part number is not listed. Positions and places from earlier searches only choose the next page.
 *
 * **Steps.**
 *   1. Read the ends of the list (`proveEnds`), unless a part number has at most one record.
 *   2. Read pages until one contains the first record of the part number (`Bracket`). Pages of the same call are used first.
 *   3. If that page also contains the last record, it has the result. Otherwise read on from there (`readLongRun`).
 *   4. Prove the order of the list (`proveOrder`).
 *   5. Check the result. It contains every record of the part number that any page of this call has shown
 *      (`assertNoneElsewhere`). It would also be right if the service sorted by SKU, unless the pages rule out that
 *      order (`assertFitsOrderOfSkus`).
 *
 * If one of these steps proves nothing, an `UnsearchableListError` makes the caller read the whole list.
 */
export async function findByPartNo<T>(list: SortedList<T>, item: SearchedItem): Promise<T[]> {
  const { label, memory } = list;
  const { partNo } = item;
  if (memory.refutation !== undefined) throw new UnsearchableListError(memory.refutation);
  if (!list.isUnique) await proveEnds(list);
  const bracket = new Bracket(partNo, list);
  const limit = list.pages.length + MAX_SEARCH_PAGES;
  for (let index = 0; index < limit; index += 1) {
    // Interpolation needs both ends.
    const end = (["DESC", "ASC"] as const).find((direction) => !memory.knownEnds.has(direction));
    const page = list.pages[index] ?? (await (end ? readEnd(list, end) : readSorted(list, bracket.next(), "ASC")));
    if (page.isFirst && page.isLast)
      return listedOnce(
        list,
        page.records.filter((record) => list.numberOf(record) === partNo),
      );
    const run = bracket.learn(page);
    if (!run) continue;
    const { from, to } = run;
    if (to === page.numbers.length && !page.isLast) {
      const { records, start } = await readLongRun(list, partNo, page.start + from);
      await proveOrder(list);
      await assertNoneElsewhere(list, partNo, { records, start });
      return records;
    }
    const records = listedOnce(list, page.records.slice(from, to));
    if (from === to || !list.isUnique) {
      await proveOrder(list);
      if (from === to) await ensureAbsent(list, partNo);
      await assertNoneElsewhere(list, partNo, { records, start: page.start + from });
      assertFitsOrderOfSkus(list, item, { before: page.records[from - 1], after: page.records[to] });
    }
    notePlace(memory, { number: partNo, position: page.start + from, length: Math.max(1, to - from) });
    return records;
  }
  throw new UnsearchableListError(`${label}: the list changes faster than one part number can be found in it`);
}

/** Returns each record once, although a page may list it twice. If a part number has one record, a second one is an error. */
function listedOnce<T>({ isUnique, keyOf }: SortedList<T>, records: readonly T[]): T[] {
  return isUnique ? [...records] : [...new Map(records.map((record) => [keyOf(record) ?? record, record])).values()];
}

/**
 * Throws if a page of this call has shown a record of the part number that is not in the result. In two cases the
 * record counts as removed meanwhile: it stood within a page of the result, or page 1 of the service's own order has
 * shown it and does not show it any more.
 */
async function assertNoneElsewhere<T>(
  { label, pages, unsorted, memory, numberOf, keyOf, fetch }: SortedList<T>,
  partNo: number,
  { records, start }: { records: readonly T[]; start: number },
): Promise<void> {
  const returned = new Set(records.map(keyOf));
  const isMissing = (record: T) => numberOf(record) === partNo && !returned.has(keyOf(record));
  const isFarAway = (position: number) =>
    position < start - memory.maxPageSize || position > start + records.length + memory.maxPageSize;
  const isElsewhere = pages.some((page) =>
    page.records.some((record, index) => isMissing(record) && isFarAway(page.start + index)),
  );
  const missing = new Set(unsorted.filter(isMissing).map(keyOf));
  const isStillListed = async () => {
    const { value } = await fetch({ page: 1, pageSize: memory.maxPageSize }, undefined);
    return value.some((record) => missing.has(keyOf(record)));
  };
  if (isElsewhere || (missing.size > 0 && (await isStillListed())))
    throw new UnsearchableListError(`${label}: its pages contradict each other`);
}

/**
 * Throws unless the part number is also absent where it would stand if the service sorted part numbers as text, which is often
 * at one end of the list.
 */
async function ensureAbsent(list: SortedList<unknown>, partNo: number): Promise<void> {
  const { label, memory } = list;
  const isPlaceShown = () => memory.isNumeric || list.pages.some((page) => containsTextPlace(page, partNo));
  if (!isPlaceShown()) {
    await readEnd(list, "DESC");
    await readEnd(list, "ASC");
  }
  if (!isPlaceShown())
    throw new UnsearchableListError(`${label}: no page has shown whether partNo is sorted as a number or as text`);
}

/** Whether a page contains the place where the part number would stand if part numbers were sorted as text. */
function containsTextPlace({ numbers, isFirst, isLast }: SortedPage<unknown>, partNo: number): boolean {
  const next = numbers.findIndex((other) => isTextBefore(partNo, other));
  return next < 0 ? isLast : next > 0 || isFirst;
}

/** The records of a part number on a page: from index `from` to index `to`, which is excluded. */
interface Run {
  from: number;
  to: number;
}

function runOn({ numbers }: SortedPage<unknown>, partNo: number): Run {
  const from = numbers.findIndex((other) => other >= partNo);
  const to = numbers.findIndex((other) => other > partNo);
  return { from: from < 0 ? numbers.length : from, to: to < 0 ? numbers.length : to };
}

interface Bound {
  position: number;
  number: number;
}

/**
 * How many probes interpolation may waste compared with bisection. The value was found by measuring: with it, any part
 * number among 20,000 stock levels costs at most 12 requests, and ordinary ones about 4 (test/search/requests.test.ts).
 */
const SPARE_PROBES = 2.1;

/**
 * The range of positions in which the first record of a part number stands: after `#low`, at or before `#high`. Pages of this
 * search narrow it. If a page contradicts a bound, the list has changed, and the bound is dropped.
 *
 * Each probe leaves a range that bisection can finish with the remaining probes. Part numbers that defeat interpolation
 * therefore cost at most `SPARE_PROBES` requests more than bisection.
 */
class Bracket {
  #low: Bound | undefined;
  #high: Bound | undefined;
  #probesLeft: number | undefined;
  /** How many pages in a row began with the part number itself. */
  #stepsBack = 0;
  /** The position after the records of the part number, as the last of these pages has shown it. */
  #runEnd = 0;

  constructor(
    private readonly partNo: number,
    private readonly list: SortedList<unknown>,
  ) {}

  /** Returns the records of the part number on a page if the page contains the first of them. */
  learn(page: SortedPage<unknown>): Run | undefined {
    const { numbers, start, isFirst, isLast } = page;
    const { from, to } = runOn(page, this.partNo);
    const [first, last] = [numbers[0], numbers.at(-1)];
    if (first === undefined || last === undefined) this.#low = this.#high = this.#probesLeft = undefined;
    else if (from === numbers.length && !isLast) this.#noteBound("low", { position: start + from - 1, number: last });
    else if (from === 0 && !isFirst) this.#noteBound("high", { position: start, number: first }, start + to);
    else return { from, to };
    return undefined;
  }

  #noteBound(side: "low" | "high", bound: Bound, runEnd = 0): void {
    const [low, high] = side === "low" ? [bound, this.#high] : [this.#low, bound];
    const inverted = low && high ? low.position - high.position : -1;
    // If the list changes, bounds may contradict each other by less than a page. A larger contradiction means another order.
    if (inverted >= this.list.memory.maxPageSize) {
      throw new UnsearchableListError(`${this.list.label}: its pages are not in the order of partNo`);
    }
    if (inverted >= 0) this.#low = this.#high = this.#probesLeft = undefined;
    if (side === "low" && !(this.#low && this.#low.position > bound.position)) this.#low = bound;
    if (side === "high" && !(this.#high && this.#high.position < bound.position)) this.#high = bound;
    this.#stepsBack = side === "high" && bound.number === this.partNo ? this.#stepsBack + 1 : 0;
    this.#runEnd = runEnd;
  }

  next(): PageRequest {
    const { maxPageSize, total } = this.list.memory;
    const low = this.#low?.position ?? -1;
    const high = this.#high?.position ?? total;
    if (high - low < maxPageSize) {
      const page = pageAround(low, high, maxPageSize);
      const start = (page.page - 1) * page.pageSize;
      if (start <= Math.max(0, low) && Math.min(high, total - 1) < start + page.pageSize) return page;
    }
    if (this.#stepsBack > 0) return this.#pageBefore(low, high);
    const range = high - low;
    const isFirstProbe = this.#probesLeft === undefined;
    this.#probesLeft ??= Math.log2(Math.max(1, range / maxPageSize)) + SPARE_PROBES;
    this.#probesLeft = Math.max(1, this.#probesLeft - 1);
    const reach = Math.floor(maxPageSize * 2 ** (this.#probesLeft - 1));
    const { position, length, isVague } = this.#expectedPlace(low, high);
    const aim = position + (isFirstProbe && isVague ? this.#shift(position - low, high - position, reach / 2) : 0);
    const from = Math.max(low, high - reach, Math.min(aim, low + reach, high));
    // If the place does not fit on a page, aim at its beginning.
    return pageAround(from - 1, from + (length <= maxPageSize - 2 ? length : 1), maxPageSize);
  }

  /**
   * Shifts the first probe towards the larger side. A miss on that side would leave a range so large that the next probe has to
   * bisect instead of interpolate.
   */
  #shift(below: number, above: number, nextReach: number): number {
    const { maxPageSize } = this.list.memory;
    if (below > nextReach) return -maxPageSize;
    return above > nextReach ? maxPageSize : 0;
  }

  /**
   * Returns the page to read after a page that began with the part number itself. The first such page covers the last 80 % of
   * a page before the end of the part number's records, with a margin on both sides. Further pages contain the position that
   * is 1, 2, 4 … pages before `high`.
   */
  #pageBefore(low: number, high: number): PageRequest {
    const { maxPageSize } = this.list.memory;
    if (this.#stepsBack === 1)
      return pageAround(this.#runEnd - Math.floor(maxPageSize * 0.8), this.#runEnd, maxPageSize);
    const from = Math.max(low, high - maxPageSize * 2 ** (this.#stepsBack - 2));
    return pageAround(from - 1, from + 1, maxPageSize);
  }

  /**
   * Returns the most probable place between two positions. `isVague`: part numbers may have several records, and only the ends
   * of the list are known.
   */
  #expectedPlace(low: number, high: number): { position: number; length: number; isVague?: boolean } {
    const partNo = this.partNo;
    const { places } = this.list.memory;
    const isInRange = ({ position }: Bound) => position > low && position < high;
    const known = places.get(partNo);
    if (known && isInRange(known)) return known;
    let below = this.#low ?? { position: -1, number: 0 };
    let above = this.#high;
    const ends = [below, above];
    for (const place of places.values()) {
      if (!isInRange(place)) continue;
      if (place.number < partNo && place.number > below.number) below = place;
      if (place.number > partNo && !(above && above.number < place.number)) above = place;
    }
    if (!above || above.number === partNo) return { position: Math.floor((below.position + high) / 2), length: 1 };
    const share = Math.min(1, Math.max(0, (partNo - below.number) / (above.number - below.number)));
    const isVague = !this.list.isUnique && ends.includes(below) && ends.includes(above);
    return { position: Math.round(below.position + share * (above.position - below.position)), length: 1, isVague };
  }
}

/**
 * Reads the records of a part number that do not fit on one page. They are read like a `gapless` list, from the page that
 * contains the first record to the page that contains the record after the last one.
 *
 * A reading is complete if the records keep their order among each other. The document does not promise that: a record that
 * moves from a page that is still to be read to a page that was already read is missed. So the records are read until two
 * readings in a row find the same ones.
 */
async function readLongRun<T>(
  list: SortedList<T>,
  partNo: number,
  beginning: number,
): Promise<{ records: T[]; start: number }> {
  const { memory, label, keyOf } = list;
  const { maxPageSize } = memory;
  let start = beginning;
  let before = new Map<unknown, T>();
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const first = overlappingPage(start, Math.floor(maxPageSize * PASS_OVERLAP), maxPageSize);
    const found = new Map<unknown, T>();
    for await (const page of pagesOfRun(list, first)) {
      const { from, to } = runOn(page, partNo);
      const records = page.records.slice(from, to);
      const isBehind = from === 0 && !page.isFirst;
      if (found.size === 0) start = isBehind ? Math.max(0, start - Math.floor(maxPageSize / 2)) : page.start + from;
      // The records have moved left, so the next reading starts further left.
      if (found.size === 0 && isBehind) break;
      const hasEnd = to < page.numbers.length || page.isLast;
      if (found.size === 0 && hasEnd) return { records, start };
      for (const record of records) found.set(keyOf(record) ?? record, record);
      if (hasEnd) break;
    }
    notePlace(memory, { number: partNo, position: start, length: Math.max(1, found.size) });
    if (found.size > 0 && found.size === before.size && [...found.keys()].every((key) => before.has(key))) {
      return { records: [...found.values()], start };
    }
    before = found;
  }
  throw new UnsearchableListError(`${label}: the records of one part number change too often, or change their order`);
}

async function* pagesOfRun<T>(list: SortedList<T>, first: PageRequest): AsyncGenerator<SortedPage<T>, void> {
  const { memory, label, keyOf } = list;
  const sizes = { first, pageSize: memory.maxPageSize, maxPageSize: memory.maxPageSize };
  // The reader may read the page before once more, before it gives a page out.
  const fetched = new Map<number, SortedPage<T>>();
  const fetch = async (request: PageRequest, { isFurther }: { isFurther: boolean }) => {
    const served = await list.fetch(request, "ASC", isFurther);
    fetched.set(startOfPage(served), sortedPageOf(list, served, request, "ASC"));
    return served;
  };
  const session = { label, keyOf, ...sizes, readAhead: 0, gapless: true, limit: Infinity, fetch, warn: () => {} };
  for await (const served of new ListReader<T>(session).pages()) {
    const page = fetched.get(startOfPage(served));
    if (page) yield page;
    fetched.clear();
  }
}
