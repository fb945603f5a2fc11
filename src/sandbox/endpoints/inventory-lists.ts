import type { Lot } from "../../schemas/lot.js";
import type { StockLevel } from "../../schemas/stock-level.js";
import { listPageResponse, type PagedList } from "../http/paging.js";
import type { SandboxResponse } from "../http/response.js";
import type { StoredLot } from "../store/lot-store.js";
import type { ItemStock } from "../store/stock-totals.js";
import type { EndpointContext } from "./endpoint.js";
import { scopeOfRequestedWarehouse, warehouseScopeOfClient } from "./warehouse-scope.js";

/** GET /Inventory: the lots of all warehouses in the client's scope. */
export function handleListLots(context: EndpointContext): SandboxResponse {
  return lotPageResponse(context, warehouseScopeOfClient(context));
}

/** GET /Inventory/{wid} */
export function handleListLotsOfWarehouse(context: EndpointContext): SandboxResponse {
  return lotPageResponse(context, scopeOfRequestedWarehouse(context));
}

/** GET /Inventory/StockLevels: aggregated over all warehouses in the client's scope. */
export function handleListStockLevels(context: EndpointContext): SandboxResponse {
  return stockLevelPageResponse(context, warehouseScopeOfClient(context));
}

/** GET /Inventory/StockLevels/{wid} */
export function handleListStockLevelsOfWarehouse(context: EndpointContext): SandboxResponse {
  return stockLevelPageResponse(context, scopeOfRequestedWarehouse(context));
}

function lotPageResponse({ state, query, settings }: EndpointContext, warehouses: readonly number[]): SandboxResponse {
  const list: PagedList<StoredLot, keyof Lot> = {
    records: state.lots.records,
    // Most recent first.
    defaultDirection: "DESC",
    supportsModifiedSince: settings.modifiedSinceOn.includes("lots"),
    shows: ({ lot }) => warehouses.includes(lot.wID),
    modifiedAt: ({ modifiedAt }) => modifiedAt,
    toBody: ({ lot }) => lot,
  };
  return listPageResponse(list, query, settings);
}

function stockLevelPageResponse(
  { state, query, settings }: EndpointContext,
  warehouses: readonly number[],
): SandboxResponse {
  const levels = state.stock.levels(warehouses);
  const list: PagedList<ItemStock, keyof StockLevel> = {
    records: levels.records,
    defaultDirection: "ASC",
    supportsModifiedSince: settings.modifiedSinceOn.includes("stockLevels"),
    shows: (stock) => levels.has(stock),
    modifiedAt: (stock) => levels.modifiedAt(stock),
    toBody: (stock) => levels.level(stock),
  };
  return listPageResponse(list, query, settings);
}
