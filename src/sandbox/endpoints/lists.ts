import type { Lot } from "../../service/lot.js";
import { type StockLevel, stockLevelSchema } from "../../service/stock-level.js";
import { jsonResponse, type SandboxResponse, validationError } from "../http/messages.js";
import type { SandboxSettings } from "../options/settings.js";
import { SortedRecords } from "../store/sorted-records.js";
import { hasStockLevel, type ItemStock, quantitiesIn, type StoredLot, stockLevelIn } from "../store/stock.js";
import { parseIsoTime } from "../values.js";
import { type EndpointContext, requestedWarehouses } from "./endpoint.js";

/** GET /Inventory: the lots of all warehouses in the client's scope; GET /Inventory/{wid}: of one. */
export function handleListLots(context: EndpointContext): SandboxResponse {
  const { state } = context;
  const warehouses = requestedWarehouses(context);
  return listPageResponse<StoredLot, keyof Lot>(context, {
    name: "lots",
    records: state.lots.records,
    // Most recent first.
    defaultDirection: "DESC",
    shows: ({ lot }) => warehouses.includes(lot.wID),
    modifiedAt: ({ modifiedAt }) => modifiedAt,
    toBody: ({ lot }) => lot,
  });
}

/** GET /Inventory/StockLevels: all warehouses in the client's scope together; GET /Inventory/StockLevels/{wid}: one. */
export function handleListStockLevels(context: EndpointContext): SandboxResponse {
  const { state } = context;
  const warehouses = requestedWarehouses(context);
  const levelOf = stockLevelIn(warehouses);
  return listPageResponse<ItemStock, keyof StockLevel>(context, {
    name: "stockLevels",
    // Sorted by SKU, as the document says of items.
    records: new SortedRecords(state.lots.stock.of(state.catalog.records.ascending("shortID")), {
      columns: stockLevelSchema().keyof().options,
      key: (stock, column) => (column === "partNo" ? stock.partNo : levelOf(stock)[column]),
      id: ({ partNo }) => partNo,
    }),
    defaultDirection: "ASC",
    shows: (stock) => quantitiesIn(stock, warehouses).some(hasStockLevel),
    modifiedAt: (stock) => Math.max(...quantitiesIn(stock, warehouses).map(({ modifiedAt }) => modifiedAt)),
    toBody: levelOf,
  });
}

const SERVICE_DEFAULT_PAGE_SIZE = 25;
const SERVICE_MAX_PAGE_SIZE = 250;

/** The records of a list endpoint, and how they are listed. */
interface PagedList<T, Column extends string> {
  /** Its name in the options `modifiedSinceOn` and `sortOn`, if they concern it. */
  readonly name?: SandboxSettings["sortOn"][number];
  readonly records: SortedRecords<T, Column>;
  /** Direction if the request names no column. */
  readonly defaultDirection: "ASC" | "DESC";
  /** Whether the list shows this record to this client. */
  shows(record: T): boolean;
  /** Milliseconds since the epoch. A list without it ignores `modifiedSince`. */
  modifiedAt?(record: T): number;
  /** The record as the list shows it. */
  toBody(record: T): unknown;
}

/** The requested page of a list, in the common envelope and with its headers. */
export function listPageResponse<T, Column extends string>(
  { query, settings }: EndpointContext,
  list: PagedList<T, Column>,
): SandboxResponse {
  const page = readPositiveInteger(query, "page", 1);
  const pageSize = Math.min(readPositiveInteger(query, "pageSize", SERVICE_DEFAULT_PAGE_SIZE), SERVICE_MAX_PAGE_SIZE);
  const since = isNamed(list, settings.modifiedSinceOn) ? readModifiedSince(query) : undefined;
  const { column, isDescending } = readOrder(list, query, settings);
  const isRecent = (record: T) => since === undefined || !list.modifiedAt || list.modifiedAt(record) >= since;
  const isFound = (record: T) => list.shows(record) && isRecent(record);
  const { found, totalCount } = selectPage(list.records.ascending(column), isDescending, isFound, page, pageSize);
  const pageCount = Math.ceil(totalCount / pageSize);
  const value = found.map((record) => list.toBody(record));
  const envelope = { value, totalCount, page, pageSize, pageCount, hasMore: page < pageCount };
  return jsonResponse(200, envelope, {
    "x-total-count": String(totalCount),
    "x-page-size": String(pageSize),
    "x-page": String(page),
    "x-api-version": "v1",
  });
}

/** Whether an option that names lists applies to a list. It applies to each list that has no name. */
const isNamed = ({ name }: Pick<PagedList<never, never>, "name">, names: readonly string[]) =>
  name === undefined || names.includes(name);

/** The records of one page, and how many there are on all pages. */
function selectPage<T>(
  ascending: readonly T[],
  isDescending: boolean,
  isFound: (record: T) => boolean,
  page: number,
  pageSize: number,
): { found: T[]; totalCount: number } {
  const start = (page - 1) * pageSize;
  const found: T[] = [];
  let totalCount = 0;
  // A loop, since an array of all matching records for each page would cost more than the rest of the request.
  for (let index = 0; index < ascending.length; index += 1) {
    const record = ascending[isDescending ? ascending.length - 1 - index : index];
    if (record === undefined || !isFound(record)) continue;
    if (totalCount >= start && found.length < pageSize) found.push(record);
    totalCount += 1;
  }
  return { found, totalCount };
}

/** An unknown column is ignored, and `direction` with it. */
function readOrder<T, Column extends string>(
  { records, defaultDirection, ...list }: PagedList<T, Column>,
  query: URLSearchParams,
  { sortOn }: SandboxSettings,
): { column: Column | undefined; isDescending: boolean } {
  const named = query.get("sort");
  const column = named && isNamed(list, sortOn) ? records.column(named) : undefined;
  const direction = query.get("direction")?.toUpperCase();
  if (column) return { column, isDescending: direction === "DESC" };
  const asked = !named && (direction === "ASC" || direction === "DESC") ? direction : defaultDirection;
  return { column, isDescending: asked === "DESC" };
}

/** Milliseconds since the epoch; undefined if the request does not name a time. */
function readModifiedSince(query: URLSearchParams): number | undefined {
  const text = query.get("modifiedSince");
  if (!text) return undefined;
  const since = parseIsoTime(text);
  if (since !== undefined) return since;
  throw validationError({ modifiedSince: ["The field modifiedSince must be a datetime (ISO 8601)."] });
}

/** Returns a valid value: 1 for a smaller integer, and the default for a text that is no integer. */
function readPositiveInteger(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null || text === "") return fallback;
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1) return Math.min(value, Number.MAX_SAFE_INTEGER);
  return Number.isNaN(value) ? fallback : 1;
}
