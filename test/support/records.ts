/** Records and pages as the service's document shows them. All fake services of the tests use them. */
import type { Item, Lot, StockLevel } from "../../src/index.js";

export const newItem = (changes: Partial<Item> = {}): Item => ({
  partNo: 1,
  shortID: "BOLT",
  description: "",
  category: 0,
  subCategory: 0,
  uOM: "EA",
  putUp: "",
  units: 1,
  dfltOwner: 0,
  created: "2026-01-01T00:00:00Z",
  modified: "2026-01-01T00:00:00Z",
  discontinued: false,
  ...changes,
});

export const newLot = (changes: Partial<Lot> = {}): Lot => ({
  recNo: 1,
  partNo: 1,
  shortID: "BOLT",
  description: "",
  associate: "",
  warehouse: "Main",
  wID: 3,
  spot: "",
  units: 1,
  received: "2026-01-01T00:00:00Z",
  shipped: null,
  serial: "",
  serial2: null,
  rFIDTag: null,
  remark: "",
  hold: false,
  jobID: 0,
  jobName: null,
  active: true,
  ...changes,
});

export const newLevel = (changes: Partial<StockLevel> = {}): StockLevel => ({
  partNo: 1,
  available: 1,
  inStock: 1,
  onOrder: 0,
  onHold: 0,
  committed: 0,
  packed: 0,
  aSN: 0,
  ...changes,
});

const PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 250;

/** Returns the page of a list that a query selects. */
export function pageOf<T>(records: readonly T[], query: URLSearchParams, maxPageSize = MAX_PAGE_SIZE) {
  const page = Number(query.get("page") ?? 1);
  const pageSize = Math.min(Number(query.get("pageSize") ?? PAGE_SIZE), maxPageSize);
  const pageCount = Math.ceil(records.length / pageSize);
  const value = records.slice((page - 1) * pageSize, page * pageSize);
  return { value, totalCount: records.length, page, pageSize, pageCount, hasMore: page < pageCount };
}

export const ITEM = newItem({
  partNo: 7,
  shortID: "BOLT-M8",
  description: "Bolt M8 × 40",
  category: 3,
  subCategory: 31,
  putUp: "Box",
  units: 50,
  modified: "2026-02-01T00:00:00Z",
});

export const LOT = newLot({
  recNo: 11,
  partNo: 7,
  shortID: "BOLT-M8",
  description: "Bolt M8 × 40",
  spot: "A-01",
  units: 12.5,
  received: "2026-02-01T00:00:00Z",
  serial: "S1",
});

export const LEVEL = newLevel({ partNo: 7, available: 10, inStock: 12.5, onHold: 2.5 });

/** Returns all records as one page. */
export const envelope = <T>(value: T[], overrides: object = {}) => ({
  value,
  totalCount: value.length,
  page: 1,
  pageSize: MAX_PAGE_SIZE,
  pageCount: 1,
  hasMore: false,
  ...overrides,
});
