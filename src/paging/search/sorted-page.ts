import { type Page, startOfPage } from "../page.js";

export type Direction = "ASC" | "DESC";

/** A page of a list sorted by a number, in ascending order, whatever the direction in which it was requested. */
export interface SortedPage<T> {
  records: T[];
  /** The number of each record. */
  values: number[];
  /** Position of the first record in the ascending list, by the page's own `totalCount`. */
  start: number;
  total: number;
  /** The list begins with this page. */
  isFirst: boolean;
  /** The list ends with this page. */
  isLast: boolean;
}

/** The page, or `undefined` if it is not in the order asked for. A page that contains the whole list may have any order. */
export function toSortedPage<T>(
  page: Page<T>,
  direction: Direction,
  numberOf: (record: T) => number,
): SortedPage<T> | undefined {
  const { value, totalCount, hasMore } = page;
  const offset = startOfPage(page);
  const isAtStart = offset === 0;
  const isAtEnd = !hasMore && offset + value.length >= totalCount;
  const isAscending = direction === "ASC";
  const records = isAscending ? value : value.toReversed();
  const values = records.map(numberOf);
  const isSorted = isAscendingBy(numericOrder, values);
  if (!isSorted && !(isAtStart && isAtEnd)) return undefined;
  return {
    records,
    values,
    start: isAscending ? Math.min(offset, totalCount) : Math.max(0, totalCount - offset - value.length),
    total: totalCount,
    isFirst: isAscending ? isAtStart : isAtEnd,
    isLast: isAscending ? isAtEnd : isAtStart,
  };
}

/** An order in which a service may sort numbers. */
export interface ValueOrder {
  isBefore(one: number, other: number): boolean;
  /** Rises with the order, for interpolation. */
  rank(value: number): number;
}

export const numericOrder: ValueOrder = {
  isBefore: (one, other) => one < other,
  rank: (value) => value,
};

/** "10" before "9". */
export const textOrder: ValueOrder = {
  isBefore: (one, other) => String(one) < String(other),
  rank: (value) => value / 10 ** String(value).length,
};

export const isAscendingBy = (order: ValueOrder, values: readonly number[]) =>
  values.every((value, index) => index === 0 || !order.isBefore(value, values[index - 1] ?? value));
