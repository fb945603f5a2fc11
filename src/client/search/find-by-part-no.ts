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

/** Twice as many as a calm list of a million records needs. */
const MAX_SEARCH_PAGES = 40;
/** How often records that do not fit on one page are read. */
const MAX_PASSES = 4;
/** Pages of these overlap by at least this share, so that they still do when the list moves. */
const PASS_OVERLAP = 0.1;

/**
 * Finds the records of one part number in a list sorted by it, by a few of its pages.
 *
 * **Why the result is exact.** A page is one contiguous run of the list at one moment. If it contains what precedes and what
 * follows the records of the part number (a record of another one, or the start or end of the list), then these are all of
 * them, and if there are none, the part number is not listed. Positions, and places found earlier, only choose the next page.
 *
 * **Steps.** Read the ends of the list (`proveEnds`), unless a record that is found is the only one. Read pages until one contains the
 * beginning of the place (`Bracket`); pages of the same call count, too. If it also contains the end, it is the result;
 * otherwise the records are read from their beginning on (`readLongRun`). Then prove the order (`proveOrder`). A record of the part number that any page of the call
 * has shown must be in the result, and the result must be right if the service sorts by SKU, unless the pages exclude that.
 * Whenever this cannot be decided for certain, an `UnsearchableListError` makes the caller read the whole list.
 */
export async function findByPartNo<T>(list: SortedList<T>, item: SearchedItem): Promise<T[]> {
  const { label, memory } = list;
  const { partNo } = item;
  if (memory.refutation !== undefined) throw new UnsearchableListError(memory.refutation);
  if (!list.isUnique) await proveEnds(list);
  const bracket = new Bracket(partNo, list);
  const limit = list.pages.length + MAX_SEARCH_PAGES;
  for (let index = 0; index < limit; index += 1) {
    // Without both ends there is nothing to interpolate.
    const end = (["DESC", "ASC"] as const).find((direction) => !memory.knownEnds.has(direction));
    const page = list.pages[index] ?? (await (end ? readEnd(list, end) : readSorted(list, bracket.next(), "ASC")));
    if (page.isFirst && page.isLast) return page.records.filter((record) => list.numberOf(record) === partNo);
    const run = bracket.learn(page);
    if (!run) continue;
    const { from, to } = run;
    if (to === page.numbers.length && !page.isLast) {
      const { records, start } = await readLongRun(list, partNo, page.start + from);
      await proveOrder(list);
      await assertNoneElsewhere(list, partNo, { records, start });
      return records;
    }
    const records = page.records.slice(from, to);
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

/**
 * A record of the part number that a page of this call has shown in another place refutes the order, unless it is in the result.
 * In the same place, it was removed meanwhile; in the service's own order, if it is not there any more.
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
 * A part number that stands nowhere among numbers may stand elsewhere if the service sorts them as text, often at an end. So a
 * page must show that it is not there either.
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

/** Whether a page contains the place that a part number would have among strings. */
function containsTextPlace({ numbers, isFirst, isLast }: SortedPage<unknown>, partNo: number): boolean {
  const next = numbers.findIndex((other) => isTextBefore(partNo, other));
  return next < 0 ? isLast : next > 0 || isFirst;
}

/** The records of a part number on a page: from the index `from` up to, not including, `to`. */
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

/** Probes that interpolation may waste. */
const SPARE_PROBES = 2.1;

/**
 * The part of the list in which a part number begins: after `#low`, at or before `#high`, as pages of this search have shown.
 * A page that contradicts one of them shows that the list has changed; then that bound is dropped.
 *
 * Every probe leaves a range that bisection can finish with the probes that remain, so a distribution that defeats the
 * interpolation costs `SPARE_PROBES` requests more than bisection.
 */
class Bracket {
  #low: Bound | undefined;
  #high: Bound | undefined;
  #probesLeft: number | undefined;
  /** Pages in a row that began with the part number itself, and the position after its records on the last one. */
  #stepsBack = 0;
  #runEnd = 0;

  constructor(
    private readonly partNo: number,
    private readonly list: SortedList<unknown>,
  ) {}

  /** The records of the part number on a page, if it contains where they begin. */
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
    // Changes of the list explain a small contradiction. A large one on pages of one search: it is in another order.
    if (inverted >= this.list.memory.maxPageSize) {
      throw new UnsearchableListError(`${this.list.label}: its pages are not in the order of partNo`);
    }
    if (inverted >= 0) this.#low = this.#high = this.#probesLeft = undefined;
    if (side === "low" && !(this.#low && this.#low.position > bound.position)) this.#low = bound;
    if (side === "high" && !(this.#high && this.#high.position < bound.position)) this.#high = bound;
    this.#stepsBack = side === "high" && bound.number === this.partNo ? this.#stepsBack + 1 : 0;
    this.#runEnd = runEnd;
  }

  /** The page to read next. */
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
    const isFirst = this.#probesLeft === undefined;
    this.#probesLeft ??= Math.log2(Math.max(1, range / maxPageSize)) + SPARE_PROBES;
    this.#probesLeft = Math.max(1, this.#probesLeft - 1);
    const reach = Math.floor(maxPageSize * 2 ** (this.#probesLeft - 1));
    const { position, length, isVague } = this.#expectedPlace(low, high);
    const aim = position + (isFirst && isVague ? this.#shift(position - low, high - position, reach / 2) : 0);
    const from = Math.max(low, high - reach, Math.min(aim, low + reach, high));
    // Of a place that does not fit on a page, the beginning.
    return pageAround(from - 1, from + (length <= maxPageSize - 2 ? length : 1), maxPageSize);
  }

  /**
   * How far the first probe goes beside a place that is only vaguely known: if it misses on the side of the larger range, the next
   * probe is not free to go where the place is expected then.
   */
  #shift(below: number, above: number, nextReach: number): number {
    const { maxPageSize } = this.list.memory;
    if (below > nextReach) return -maxPageSize;
    return above > nextReach ? maxPageSize : 0;
  }

  /** The last page began with the part number: first the page that ends behind its records, then twice as far back each time. */
  #pageBefore(low: number, high: number): PageRequest {
    const { maxPageSize } = this.list.memory;
    if (this.#stepsBack === 1)
      return pageAround(this.#runEnd - Math.floor(maxPageSize * 0.8), this.#runEnd, maxPageSize);
    const from = Math.max(low, high - maxPageSize * 2 ** (this.#stepsBack - 2));
    return pageAround(from - 1, from + 1, maxPageSize);
  }

  /** The most probable place between two positions. It is vague if items have several records, and only the ends are known. */
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
 * The records of a part number that do not fit on one page. They are read like a `gapless` list, from the page that contains
 * their beginning to the one that contains what follows.
 *
 * That misses nothing while they keep their order among each other, which is not documented: one that moves from a page still
 * to be read to one that was read is missed. So they are read until two readings in a row find the same ones.
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
      // The records have moved left: they are read from further left next time.
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
