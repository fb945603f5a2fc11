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
  isHonoured: ({ totalCount }: PageOfRecords) => totalCount === 0,
};

/** The page size to which the service caps a larger one, if it is smaller than documented and the page shows it. */
export function undocumentedPageCap({ totalCount, pageSize }: PageOfRecords): number | undefined {
  return pageSize < Math.min(totalCount, MAX_PAGE_SIZE) ? pageSize : undefined;
}

/** Undefined if the values are all equal. */
function isSorted(records: readonly object[], key: string, direction: "ASC" | "DESC"): boolean | undefined {
  const values = records.map((record): unknown => Reflect.get(record, key));
  if (new Set(values).size < 2) return undefined;
  const isInOrder = (one: string | number, next: string | number) => (direction === "ASC" ? one <= next : one >= next);
  return values.every((value, index) => {
    const next = values[index + 1];
    if (index === values.length - 1) return true;
    if (typeof value === "number" && typeof next === "number") return isInOrder(value, next);
    // Services compare text by rules of their own: the first letters are enough.
    return isInOrder(initial(value), initial(next));
  });
}

const initial = (value: unknown) => String(value).slice(0, 1).toLowerCase();
