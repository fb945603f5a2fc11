import { setNewest } from "../../shared/bounded-map.js";
import { ResponseValidationError } from "../../shared/errors/index.js";
import { fieldOf, undefinedIf } from "../../shared/unknown.js";
import type { ListReading } from "../lists/list.js";
import { type Page, type PageRequest, pageSizeWithinCap, type RecordKey, startOfPage } from "../lists/page.js";
import { assertRequestedPage, endOf, isCountPossible } from "../lists/page-end.js";
import type { Requester } from "../send/requester.js";

export type Direction = "ASC" | "DESC";

/** The list cannot be searched: its pages are not in the order of the column, or do not prove that they are. Read it as a whole. */
export class UnsearchableListError extends Error {}

/** Turns this error into `undefined`, and throws any other. */
export const unlessUnsearchable = /* @__PURE__ */ undefinedIf((error) => error instanceof UnsearchableListError);

/** A list that one call requests in the order of a column of numbers. */
export interface SortedList<T> {
  /** Method and path, the start of every message. */
  label: string;
  /** The column by which the pages are sorted. */
  column: "partNo" | "recNo";
  /** Returns the record's number in that column. Throws if the record has none. */
  numberOf(record: T): number;
  keyOf(record: T): RecordKey | undefined;
  /** Fetches a page. Without a direction, the service's own order is used. */
  fetch(request: PageRequest, direction: Direction | undefined, isFurther?: boolean): Promise<Page<T>>;
  /** Whether the list has at most one record per number. */
  isUnique: boolean;
  memory: ListMemory;
  /** The pages that this call has read in the order of the column. Each page shows one moment of the call. */
  pages: SortedPage<T>[];
  /** The records of all pages that this call has read, in any order. */
  shown: (readonly T[])[];
  /** The records of pages that this call has read in the service's own order. */
  unsorted: T[];
}

/** Where the records of a number were seen: the position of the first record, and how many records there are. */
export interface Place {
  number: number;
  position: number;
  length: number;
}

/** Facts about a list from earlier searches of a client. Places and the total only choose the next page; they prove nothing. */
export interface ListMemory {
  maxPageSize: number;
  /** Records in the list; 0 before the first page. */
  total: number;
  places: Map<number, Place>;
  /** The numbers at the ends of the list that were read, by the requested direction. */
  knownEnds: Map<Direction, number | undefined>;
  /** Whether the order is proved (`proveOrder`). */
  isProven: boolean;
  /** Why the order cannot be proved: `sort` changes nothing. Only absence needs the proof, not a record that was found. */
  unproven?: string;
  /** Why the list cannot be searched at all: the service does not sort it as asked. */
  refutation?: string;
  /** Whether a page has shown that the column is sorted as numbers, not as text. */
  isNumeric: boolean;
}

export const createListMemory = (maxPageSize: number): ListMemory => ({
  maxPageSize,
  total: 0,
  places: new Map(),
  knownEnds: new Map(),
  isProven: false,
  isNumeric: false,
});

const MAX_LISTS = 100;

/** The sorted lists of a client. Keeps for each list the facts that earlier searches have found (`ListMemory`). */
export class SortedLists {
  readonly #memories = new Map<string, ListMemory>();

  /** Opens a list for one call. `group` sends the requests. */
  open<T>(
    group: Requester,
    { reading, path, column }: Pick<SortedList<T>, "column"> & { reading: ListReading<T>; path: string },
  ): SortedList<T> {
    const { pageReader, keyOf, maxPageSize } = reading;
    const name = `${path} ${column}`;
    const memory = this.#memories.get(name) ?? createListMemory(maxPageSize);
    setNewest(this.#memories, name, memory, MAX_LISTS);
    const shown: (readonly T[])[] = [];
    return {
      label: `GET ${path}`,
      column,
      memory,
      pages: [],
      shown,
      unsorted: [],
      // A part number may have several lots.
      isUnique: column === "recNo" || reading.stableSort === "partNo",
      keyOf: (record) => keyOf?.(record),
      numberOf: (record) => numberIn(record, column, path),
      fetch: async (request, direction, isFurther = false) => {
        const query = direction ? { ...request, sort: column, direction } : { ...request, direction: "ASC" };
        const priority = isFurther ? "low" : undefined;
        const page = await group.send({ method: "GET", path, query, read: pageReader(request), priority });
        shown.push(page.value);
        return page;
      },
    };
  }
}

/** Returns the number of a record. A record without a number could belong to any item, so it is an error in every validation mode. */
function numberIn(record: unknown, column: string, path: string): number {
  const number = fieldOf(record, column);
  if (Number.isSafeInteger(number) || (typeof number === "string" && /^\d{1,15}$/.test(number))) return Number(number);
  const issues = [{ path: ["value", column], message: "expected an integer" }];
  const message = `GET ${path}: a record has no integer ${column}, so one item cannot be found.`;
  throw new ResponseValidationError(message, { status: 200, issues });
}

const MAX_PLACES = 1_000;

export const notePlace = ({ places }: ListMemory, place: Place) => setNewest(places, place.number, place, MAX_PLACES);

/** Forgets where records were seen: the list may have changed since. */
export function forgetPlaces(list: SortedList<unknown>): void {
  list.pages = [];
  list.memory.places.clear();
  list.memory.knownEnds.clear();
}

/** Remembers that the list cannot be searched, and throws. */
export function refuteOrder({ label, memory }: SortedList<unknown>, problem: string): never {
  memory.refutation = `${label}: ${problem}`;
  throw new UnsearchableListError(memory.refutation);
}

/** A page in ascending order, whatever the direction in which it was requested. */
export interface SortedPage<T> {
  records: T[];
  numbers: number[];
  /** Position of the first record in the ascending list, by the page's own `totalCount`. */
  start: number;
  /** Records in the whole list when the page was cut. */
  total: number;
  /** Whether its `totalCount` is at least the position at which it ends. */
  isCounted: boolean;
  isFirst: boolean;
  isLast: boolean;
}

/** Reads a page, checks its order, and notes what it shows. */
export async function readSorted<T>(
  list: SortedList<T>,
  request: PageRequest,
  direction: Direction,
): Promise<SortedPage<T>> {
  const page = sortedPageOf(list, await list.fetch(request, direction), request, direction);
  list.pages.push(page);
  return page;
}

/** Returns a page in ascending order. Throws if its records are not sorted, unless the page shows the whole list. */
export function sortedPageOf<T>(
  list: SortedList<T>,
  page: Page<T>,
  request: PageRequest,
  direction: Direction,
): SortedPage<T> {
  const { label, memory, numberOf, column } = list;
  assertRequestedPage(label, page, request);
  const { value, totalCount: total } = page;
  memory.maxPageSize = pageSizeWithinCap(memory.maxPageSize, request, page.pageSize);
  memory.total = total;
  const isForward = direction === "ASC";
  const records = isForward ? value : value.toReversed();
  const numbers = records.map(numberOf);
  const offset = startOfPage(page);
  const isAtEnd = endOf(page) === "end";
  const start = isForward ? offset : Math.max(0, total - offset - value.length);
  const [isFirst, isLast] = isForward ? [offset === 0, isAtEnd] : [isAtEnd, offset === 0];
  if (isAscending(numbers)) {
    memory.isNumeric ||= numbers.some((number, index) => index > 0 && isTextBefore(number, numbers[index - 1]));
    const ends = numbers.length > 0 ? [0, numbers.length - 1] : [];
    for (const index of ends) notePosition(memory, numbers[index] ?? 0, start + index);
  } else if (!isFirst || !isLast) {
    refuteOrder(list, `page ${page.page} (${direction}) is not in the order of ${column}`);
  }
  return { records, numbers, start, total, isCounted: isCountPossible(page), isFirst, isLast };
}

export const isAscending = (numbers: readonly number[]) =>
  numbers.every((number, index) => index === 0 || number >= (numbers[index - 1] ?? 0));

/** Notes where a record was seen, unless it lies within a place that is already known as a whole. */
function notePosition(memory: ListMemory, number: number, position: number): void {
  const known = memory.places.get(number);
  const isWithin = known && position >= known.position && position < known.position + known.length;
  notePlace(memory, isWithin ? known : { number, position, length: 1 });
}

/** Whether a number comes before another one when both are sorted as text: 10 before 9. */
export const isTextBefore = (one: number, other: number | undefined) => String(one) < String(other);

/** Reads the page at one end of the list. */
export async function readEnd<T>(list: SortedList<T>, direction: Direction): Promise<SortedPage<T>> {
  const page = await readSorted(list, { page: 1, pageSize: list.memory.maxPageSize }, direction);
  const { knownEnds } = list.memory;
  knownEnds.set(direction, direction === "ASC" ? page.numbers[0] : page.numbers.at(-1));
  const [first = 0, last = Infinity] = [knownEnds.get("ASC"), knownEnds.get("DESC")];
  if (first > last) refuteOrder(list, `it begins with a larger ${list.column} than it ends with`);
  return page;
}
