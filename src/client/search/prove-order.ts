import { fieldOf } from "../../shared/unknown.js";
import { pageAround } from "../lists/choose-page.js";
import { isSorted } from "../lists/sorted.js";
import {
  forgetPlaces,
  isAscending,
  readEnd,
  readSorted,
  refuteOrder,
  type SortedList,
  type SortedPage,
  UnsearchableListError,
} from "./sorted-list.js";

/*
 * Proves that the service sorts a list by the requested column, once per client and list. Five facts are checked:
 *
 *   both ends         Page 1 is sorted in both directions, and the two pages begin with different numbers. If they began with the
 *                     same number, the service might ignore `direction`.
 *   its own order     A page without `sort` shows other records (part numbers only). A service that ignores `sort` returns its
 *                     own order, which may look sorted.
 *   the last page     The last page in ascending order shows the records of the first page in descending order. They differ if
 *                     the service sorts by another column first and does not reverse that column.
 *   quarter points    Pages at a quarter, a half and three quarters ascend, compared with the ends and with every known place. If
 *                     the service sorted by another column first, the numbers would begin anew with each value of that column.
 *   other columns     No other column explains the order. If a column of a few groups ascends on all pages, the borders between
 *                     its groups are read: there the numbers would begin anew.
 *
 * A list that changes meanwhile may contradict itself, so a contradiction is checked a second time.
 */

const SHARES = [0.25, 0.5, 0.75];
/** Enough to find two borders of groups by bisection in a million records. */
const MAX_BORDER_PAGES = 16;
/** Columns whose values form a few groups. For a date, the groups are "has a date" and "has none". */
const GROUP_COLUMNS: { readonly [name: string]: (value: unknown) => unknown } = {
  wID: (value) => value,
  associate: (value) => String(value ?? ""),
  hold: Number,
  active: Number,
  shipped: (value) => Number(value === null || value === undefined),
};

/** Throws an `UnsearchableListError` if the order is not proved. */
export async function proveOrder<T>(list: SortedList<T>): Promise<void> {
  const { memory } = list;
  if (memory.isProven) return;
  const problem = memory.refutation ?? memory.unproven;
  if (problem !== undefined) throw new UnsearchableListError(problem);
  try {
    await proveOnce(list);
  } catch (error) {
    if (!(error instanceof ContradictionError)) throw error;
    forgetPlaces(list);
    try {
      await proveOnce(list);
    } catch (again) {
      const hasChanged = new Set(list.pages.map(({ total }) => total)).size > 1;
      if (again instanceof ContradictionError && !hasChanged) refuteOrder(list, again.message);
      throw again;
    }
  }
}

/** Two pages contradict each other: either the list has changed meanwhile, or it is not sorted by the column. */
class ContradictionError extends UnsearchableListError {}

async function proveOnce<T>(list: SortedList<T>): Promise<void> {
  const { memory } = list;
  if ((await proveEnds(list)) === "one page") return;
  for (const share of SHARES) {
    const position = Math.floor(share * memory.total);
    const reach = memory.total / (2 * (SHARES.length + 1));
    const isNear = ({ start, numbers }: SortedPage<T>) =>
      start <= position + reach && start + numbers.length > position - reach;
    if (!list.pages.some(isNear)) await readSorted(list, pageAround(position, position, memory.maxPageSize), "ASC");
  }
  await compareEnds(list);
  assertAscending(list);
  await readBorders(list);
  memory.isProven = true;
}

/**
 * Makes the part of the proof with which a search begins. Throws an `UnsearchableListError` if the ends of the list refute the
 * order.
 *
 * @returns Whether one page shows the whole list.
 */
export async function proveEnds<T>(list: SortedList<T>): Promise<"one page" | "several pages"> {
  const { memory, column, numberOf } = list;
  if (memory.isProven) return "several pages";
  if (!memory.knownEnds.has("DESC")) await readEnd(list, "DESC");
  const ascending = list.pages.find(({ isFirst }) => isFirst) ?? (await readEnd(list, "ASC"));
  if (ascending.isLast) return "one page";
  if (memory.knownEnds.get("DESC") === ascending.numbers[0])
    throw new UnsearchableListError(`${list.label}: both directions begin with the same ${column}`);
  if (column === "partNo" && list.unsorted.length === 0) {
    const { value } = await list.fetch({ page: 1, pageSize: memory.maxPageSize }, undefined);
    list.unsorted.push(...value);
    // A few records may have been added or removed between the two requests.
    const sorted = new Set(ascending.records.map(list.keyOf));
    const shared = value.filter((record) => sorted.has(list.keyOf(record))).length;
    if (2 * shared > value.length && isAscending(value.map(numberOf))) {
      memory.unproven = `${list.label}: sort=${column} changes nothing`;
      throw new UnsearchableListError(memory.unproven);
    }
  }
  return "several pages";
}

/** Throws unless the last page in ascending order shows the records of the first page in descending order. */
async function compareEnds<T>(list: SortedList<T>): Promise<void> {
  const { label, memory, column, keyOf } = list;
  const descending = list.pages.find(({ isLast }) => isLast);
  const end = memory.total - 1;
  const last = await readSorted(list, pageAround(end, end, memory.maxPageSize), "ASC");
  if (!descending || last.total !== descending.total) return;
  const shown = new Set(descending.records.map(keyOf));
  const [lowest = 0] = descending.numbers;
  // Records of the lowest number may continue on the next page.
  const shared = last.records.filter((_, index) => (last.numbers[index] ?? 0) > lowest);
  const missing = shared.filter((record) => !shown.has(keyOf(record)));
  // A few records may have been added or removed between the two requests.
  if (last.numbers.at(-1) !== descending.numbers.at(-1) || 2 * missing.length > shared.length)
    throw new ContradictionError(`${label}: ${column} does not ascend as it descends`);
}

const byStart = (one: SortedPage<unknown>, next: SortedPage<unknown>) =>
  one.start - next.start || one.numbers.length - next.numbers.length;

/** Throws unless the pages of this call ascend, compared with each other and with the places that earlier searches have seen. */
function assertAscending({ label, column, pages, memory }: SortedList<unknown>): void {
  const sorted = pages.filter(({ numbers }) => numbers.length > 0).sort(byStart);
  for (const [index, { numbers, start }] of sorted.entries()) {
    const next = sorted[index + 1];
    const [first = 0, last = 0] = [numbers[0], numbers.at(-1)];
    const [nextFirst = Infinity, nextLast = Infinity] = [next?.numbers[0], next?.numbers.at(-1)];
    const isBehind = next !== undefined && next.start >= start + numbers.length;
    let isInOrder = first <= nextFirst && last <= (isBehind ? nextFirst : nextLast);
    // Positions move when the list changes, but a place that is further away than a page stays on its side.
    for (const place of memory.places.values()) {
      if (place.position < start - memory.maxPageSize) isInOrder &&= place.number <= first;
      if (place.position > start + numbers.length + memory.maxPageSize) isInOrder &&= place.number >= last;
    }
    if (!isInOrder) throw new ContradictionError(`${label}: its pages are not in the order of ${column}`);
  }
}

/** For each column that ascends on all pages read so far, reads the borders between its groups. */
async function readBorders<T>(list: SortedList<T>): Promise<void> {
  for (let read = 0; ; read += 1) {
    const border = hiddenBorder(list.pages);
    if (!border) return;
    const { from, to, column } = border;
    if (read === MAX_BORDER_PAGES)
      throw new UnsearchableListError(`${list.label}: its pages are in the order of ${column}, too`);
    const middle = Math.floor((from + to) / 2);
    const isNear = to - from < list.memory.maxPageSize - 2;
    const request = isNear
      ? pageAround(from, to, list.memory.maxPageSize)
      : pageAround(middle, middle, list.memory.maxPageSize);
    await readSorted(list, request, "ASC");
    assertAscending(list);
  }
}

/** Returns positions between which a column of groups changes its value and which no page shows; `undefined` if there are none. */
function hiddenBorder(pages: readonly SortedPage<unknown>[]): { column: string; from: number; to: number } | undefined {
  const sorted = pages.filter(({ numbers }) => numbers.length > 0).sort(byStart);
  for (const [column, groupOf] of Object.entries(GROUP_COLUMNS)) {
    const groupsOf = ({ records }: SortedPage<unknown>) => records.map((record) => groupOf(fieldOf(record, column)));
    const groups = sorted.flatMap(groupsOf);
    if (!isSorted(groups, "ASC") && !isSorted(groups, "DESC")) continue;
    let end = 0;
    let last: unknown = groups[0];
    for (const page of sorted) {
      const own = groupsOf(page);
      if (page.start > end && own[0] !== last) return { column, from: end - 1, to: page.start };
      if (page.start + own.length < end) continue;
      end = page.start + own.length;
      last = own.at(-1);
    }
  }
  return undefined;
}
