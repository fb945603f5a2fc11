import type { Lot } from "../../service/lot.js";
import { type StockLevel, stockLevelSchema } from "../../service/stock-level.js";
import type { SandboxResponse } from "../http/messages.js";
import { listPageResponse, type PagedList } from "../http/paging.js";
import type { StoredLot } from "../store/lot-store.js";
import { SortedRecords } from "../store/sorted-records.js";
import { hasStockLevel, type ItemStock, quantitiesIn, stockLevelIn } from "../store/stock-totals.js";
import { type EndpointContext, requestedWarehouses } from "./endpoint.js";

/** GET /Inventory: the lots of all warehouses in the client's scope; GET /Inventory/{wid}: of one. */
export function handleListLots(context: EndpointContext): SandboxResponse {
  const { state, query, settings } = context;
  const warehouses = requestedWarehouses(context);
  const list: PagedList<StoredLot, keyof Lot> = {
    records: state.lots.records,
    // Most recent first.
    defaultDirection: "DESC",
    supportsModifiedSince: settings.modifiedSinceOn.includes("lots"),
    supportsSort: settings.sortOn.includes("lots"),
    shows: ({ lot }) => warehouses.includes(lot.wID),
    modifiedAt: ({ modifiedAt }) => modifiedAt,
    toBody: ({ lot }) => lot,
  };
  return listPageResponse(list, query, settings);
}

/** GET /Inventory/StockLevels: all warehouses in the client's scope together; GET /Inventory/StockLevels/{wid}: one. */
export function handleListStockLevels(context: EndpointContext): SandboxResponse {
  const { state, query, settings } = context;
  const warehouses = requestedWarehouses(context);
  const levelOf = stockLevelIn(warehouses);
  const list: PagedList<ItemStock, keyof StockLevel> = {
    records: new SortedRecords(state.stock.all(), {
      columns: stockLevelSchema().keyof().options,
      defaultColumn: "partNo",
      key: (stock, column) => (column === "partNo" ? stock.partNo : levelOf(stock)[column]),
      id: ({ partNo }) => partNo,
    }),
    defaultDirection: "ASC",
    supportsModifiedSince: settings.modifiedSinceOn.includes("stockLevels"),
    supportsSort: settings.sortOn.includes("stockLevels"),
    shows: (stock) => quantitiesIn(stock, warehouses).some(hasStockLevel),
    modifiedAt: (stock) => Math.max(...quantitiesIn(stock, warehouses).map(({ modifiedAt }) => modifiedAt)),
    toBody: levelOf,
  };
  return listPageResponse(list, query, settings);
}
