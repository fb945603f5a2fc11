import { setNewest } from "../../shared/bounded-map.js";
import { PaginationError } from "../../shared/errors/index.js";
import { type Page, type PageRequest, pageSizeWithinCap, type RecordKey, startOfPage } from "../lists/page.js";

export type Direction = "ASC" | "DESC";

/** Only reading the whole list finds a record: its pages are not in the order of `partNo`, or do not prove that they are. */
export class UnsearchableListError extends Error {}

/** A list that can be requested in the order of `partNo`, for one call. */
export interface SortedList<T> {
  /** Method and path, the start of every message. */
  label: string;
  /** Throws if the record has none. */
  partNoOf(record: T): number;
  keyOf(record: T): RecordKey | undefined;
  /** Without a direction: ascending in the service's own order. */
  fetch(request: PageRequest, direction: Direction | undefined, isFurther?: boolean): Promise<Page<T>>;
  /** It has at most one record of each part number. */
  isUnique: boolean;
  memory: ListMemory;
  /** The pages that this call has read so far. Each shows one moment of the call. */
  pages: SortedPage<T>[];
}

/** Where records of a part number were seen: the position of the first one, and how many they are. */
export interface Place {
  partNo: number;
  position: number;
  length: number;
}

/** What the searches of a client have shown of a list. Places and total only choose the next page: they prove nothing. */
export interface ListMemory {
  maxPageSize: number;
  /** Records in the list; 0 before the first page. */
  total: number;
  places: Map<number, Place>;
  /** The part numbers at the ends of the list that were read, by the direction asked for. */
  knownEnds: Map<Direction, number | undefined>;
  /** The order is proved (`proveOrder`). */
  isProven: boolean;
  /** Why it cannot be proved, if that was tried. */
  unproven?: string;
  /** Why the list cannot be searched at all: a page was not in the order asked for. */
  refutation?: string;
  /** A page has shown that part numbers are sorted as numbers, not as text. */
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

const MAX_PLACES = 1_000;

export const notePlace = ({ places }: ListMemory, place: Place) => setNewest(places, place.partNo, place, MAX_PLACES);

/** A page in ascending order, whatever the direction in which it was requested. */
export interface SortedPage<T> {
  records: T[];
  partNos: number[];
  /** Position of the first record in the ascending list, by the page's own `totalCount`. */
  start: number;
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

/** Only a page with the whole list may have any order. */
export function sortedPageOf<T>(
  { label, memory, partNoOf }: SortedList<T>,
  page: Page<T>,
  request: PageRequest,
  direction: Direction,
): SortedPage<T> {
  if (page.page !== request.page) {
    throw new PaginationError(`${label}: the response to a request for page ${request.page} is page ${page.page}.`);
  }
  const { value, totalCount: total, hasMore } = page;
  memory.maxPageSize = pageSizeWithinCap(memory.maxPageSize, request, page.pageSize);
  memory.total = total;
  const isForward = direction === "ASC";
  const records = isForward ? value : value.toReversed();
  const partNos = records.map(partNoOf);
  const offset = startOfPage(page);
  const isAtEnd = !hasMore && offset + value.length >= total;
  const start = isForward ? offset : Math.max(0, total - offset - value.length);
  const [isFirst, isLast] = isForward ? [offset === 0, isAtEnd] : [isAtEnd, offset === 0];
  if (isAscending(partNos)) {
    memory.isNumeric ||= partNos.some((partNo, index) => index > 0 && isTextBefore(partNo, partNos[index - 1]));
    const ends = partNos.length > 0 ? [0, partNos.length - 1] : [];
    for (const index of ends) notePosition(memory, partNos[index] ?? 0, start + index);
  } else if (!isFirst || !isLast) {
    memory.refutation = `${label}: page ${page.page} (${direction}) is not in the order of partNo`;
    throw new UnsearchableListError(memory.refutation);
  }
  return { records, partNos, start, isFirst, isLast };
}

const isAscending = (partNos: readonly number[]) =>
  partNos.every((partNo, index) => index === 0 || partNo >= (partNos[index - 1] ?? 0));

/** One record of a place that is known as a whole shows nothing new of it. */
function notePosition(memory: ListMemory, partNo: number, position: number): void {
  const known = memory.places.get(partNo);
  const isWithin = known && position >= known.position && position < known.position + known.length;
  notePlace(memory, isWithin ? known : { partNo, position, length: 1 });
}

/** "10" before "9". */
export const isTextBefore = (one: number, other: number | undefined) => String(one) < String(other);

/** The page at one end of the list. */
export async function readEnd<T>(list: SortedList<T>, direction: Direction): Promise<SortedPage<T>> {
  const page = await readSorted(list, { page: 1, pageSize: list.memory.maxPageSize }, direction);
  const { knownEnds } = list.memory;
  knownEnds.set(direction, direction === "ASC" ? page.partNos[0] : page.partNos.at(-1));
  const [first = 0, last = Infinity] = [knownEnds.get("ASC"), knownEnds.get("DESC")];
  if (first > last) {
    list.memory.refutation = `${list.label}: it begins with a larger partNo than it ends with`;
    throw new UnsearchableListError(list.memory.refutation);
  }
  return page;
}

/**
 * Proves, once, that the service sorts the list by `partNo`: the first pages of both directions are in the order asked for, do
 * not begin with the same part number (then `direction` may be ignored), and a page without `sort` is not in that order. A service that ignores an unknown column has its own order, which cannot both ascend and
 * descend, unless it consists of imports in the order of part numbers; then `sort` makes no difference.
 */
export async function proveOrder<T>(list: SortedList<T>): Promise<void> {
  const { memory, label, partNoOf } = list;
  if (memory.isProven) return;
  if (memory.unproven !== undefined) throw new UnsearchableListError(memory.unproven);
  if (!memory.knownEnds.has("DESC")) await readEnd(list, "DESC");
  const ascending = list.pages.find(({ isFirst }) => isFirst) ?? (await readEnd(list, "ASC"));
  if (ascending.isLast) return;
  if (memory.knownEnds.get("DESC") === ascending.partNos[0]) {
    throw new UnsearchableListError(`${label}: both directions begin with the same partNo`);
  }
  const { value } = await list.fetch({ page: 1, pageSize: memory.maxPageSize }, undefined);
  const [first = 0] = value.map(partNoOf);
  const isElsewhere = first > (ascending.partNos.at(-1) ?? 0);
  memory.isProven = isElsewhere || !isAscending(value.map(partNoOf));
  if (memory.isProven) return;
  memory.unproven = `${label}: sort=partNo changes nothing`;
  throw new UnsearchableListError(memory.unproven);
}
