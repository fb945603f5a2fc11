/** Probes of the lists of a service, one page each. The doctor, `export --since` and the conformance suite use them. */

import { afterEveryChange } from "../mirror/sync/modified-since.js";

/** The largest page that the service's document names, except for orders and reports. */
export const MAX_PAGE_SIZE = 250;

/** The headers of a page that the document names. */
export const PAGE_HEADERS = ["x-total-count", "x-page", "x-page-size", "x-api-version"];

/** A list that the document describes. */
export interface DocumentedList {
  name: "items" | "lots" | "stockLevels";
  path: string;
  /** The field that identifies a record. */
  key: string;
  /** Not the order in which the list comes by default: items by SKU, lots with the most recent first. */
  unusualDirection: "ASC" | "DESC";
}

const ITEMS: DocumentedList = { name: "items", path: "/Item", key: "shortID", unusualDirection: "DESC" };
const LOTS: DocumentedList = { name: "lots", path: "/Inventory", key: "recNo", unusualDirection: "ASC" };
const STOCK_LEVELS: DocumentedList = {
  name: "stockLevels",
  path: "/Inventory/StockLevels",
  key: "partNo",
  unusualDirection: "DESC",
};

export const LISTS = [ITEMS, LOTS, STOCK_LEVELS] as const;

/** What a probe reads of a page. */
interface PageOfRecords {
  value: readonly object[];
  totalCount: number;
  pageSize: number;
}

/** Are `sort`, `direction` and `pageSize` honoured? */
export const sortProbe = {
  params: ({ key, unusualDirection }: DocumentedList) => ({
    sort: key,
    direction: unusualDirection,
    pageSize: MAX_PAGE_SIZE,
  }),
  /** Undefined if the page is too short to tell. */
  isHonoured: ({ value }: PageOfRecords, { key, unusualDirection }: DocumentedList) =>
    isSorted(value, key, unusualDirection),
};

/** Is `modifiedSince` honoured? */
export const modifiedSinceProbe = {
  params: () => ({ modifiedSince: afterEveryChange(Date.now()).toISOString(), pageSize: 1 }),
  /** By the records: `totalCount` may be that of the whole list. */
  isHonoured: ({ value }: PageOfRecords) => value.length === 0,
};

/** The page size to which the service caps the largest one, if it is smaller than documented. */
export function undocumentedPageCap({ pageSize }: PageOfRecords): number | undefined {
  return pageSize > 0 && pageSize < MAX_PAGE_SIZE ? pageSize : undefined;
}

/** Undefined if the values are all equal. */
function isSorted(records: readonly object[], key: string, direction: "ASC" | "DESC"): boolean | undefined {
  const values = records.map((record): unknown => Reflect.get(record, key));
  if (new Set(values).size < 2) return undefined;
  const isInOrder = <Value>(sorted: readonly Value[], compare: (one: Value, next: Value) => number) =>
    sorted.every((value, index) => {
      const next = sorted[index + 1];
      if (next === undefined) return true;
      return direction === "ASC" ? compare(value, next) <= 0 : compare(value, next) >= 0;
    });
  if (values.every((value) => typeof value === "number")) return isInOrder(values, (one, next) => one - next);
  const texts = values.map(String);
  const lowerCase = texts.map((text) => text.toLowerCase());
  const start = commonPrefixLength(lowerCase);
  const initials = lowerCase.map((text) => text.charAt(start));
  // Services compare strings by rules of their own: one rule that fits is enough.
  return (
    isInOrder(initials, compareCodeUnits) ||
    isInOrder(texts, compareCodeUnits) ||
    isInOrder(texts, NATURAL_ORDER.compare)
  );
}

/** `A-9` comes before `A-10`. */
const NATURAL_ORDER = new Intl.Collator("en", { numeric: true });

const compareCodeUnits = (one: string, next: string) => (one === next ? 0 : one < next ? -1 : 1);

function commonPrefixLength([first = "", ...others]: readonly string[]): number {
  let length = 0;
  while (length < first.length && others.every((text) => text.charAt(length) === first.charAt(length))) length += 1;
  return length;
}
