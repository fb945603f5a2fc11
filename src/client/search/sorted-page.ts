/** A further page is bulk work. */
type SlotKind = "single" | "bulk";

import { type Page, type PageRequest, startOfPage } from "../lists/page.js";

export type Direction = "ASC" | "DESC";

/** A page to read. */
export interface Probe {
  request: PageRequest;
  direction: Direction;
  /** @default "single" */
  slotKind?: SlotKind;
}

/** A page of a list sorted by `partNo`, in ascending order, whatever the direction in which it was requested. */
export interface SortedPage<T> {
  records: T[];
  /** The part number of each record. */
  partNos: number[];
  /** Position of the first record in the ascending list, by the page's own `totalCount`. */
  start: number;
  total: number;
  /** False only on a page that contains the whole list, which may have any order. */
  isSorted: boolean;
  /** The list begins with this page. */
  isFirst: boolean;
  /** The list ends with this page. */
  isLast: boolean;
}

/** The page, or `undefined` if it is not in the order asked for, and is not the whole list. */
export function toSortedPage<T>(
  page: Page<T>,
  direction: Direction,
  partNoOf: (record: T) => number,
): SortedPage<T> | undefined {
  const { value, totalCount, hasMore } = page;
  const offset = startOfPage(page);
  const isAtStart = offset === 0;
  const isAtEnd = !hasMore && offset + value.length >= totalCount;
  const isAscending = direction === "ASC";
  const records = isAscending ? value : value.toReversed();
  const partNos = records.map(partNoOf);
  const isSorted = isAscendingBy(numericOrder, partNos);
  if (!isSorted && !(isAtStart && isAtEnd)) return undefined;
  return {
    records,
    partNos,
    start: isAscending ? Math.min(offset, totalCount) : Math.max(0, totalCount - offset - value.length),
    total: totalCount,
    isSorted,
    isFirst: isAscending ? isAtStart : isAtEnd,
    isLast: isAscending ? isAtEnd : isAtStart,
  };
}

/** An order in which a service may sort part numbers. */
export interface PartNoOrder {
  isBefore(one: number, other: number): boolean;
  /** Rises with the order, for interpolation. */
  rank(partNo: number): number;
}

export const numericOrder: PartNoOrder = {
  isBefore: (one, other) => one < other,
  rank: (partNo) => partNo,
};

/** "10" before "9". */
export const textOrder: PartNoOrder = {
  isBefore: (one, other) => String(one) < String(other),
  rank: (partNo) => partNo / 10 ** String(partNo).length,
};

export const isAscendingBy = (order: PartNoOrder, partNos: readonly number[]) =>
  partNos.every((partNo, index) => index === 0 || !order.isBefore(partNo, partNos[index - 1] ?? partNo));
