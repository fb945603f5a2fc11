import type { EndpointContext } from "../http/endpoint.js";
import { listPageResponse } from "../http/paging.js";
import type { SandboxResponse } from "../http/response.js";
import type { WarehouseScope } from "../store/scopes.js";
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

function lotPageResponse({ state, query, settings }: EndpointContext, scope: WarehouseScope): SandboxResponse {
  const list = {
    index: state.lots.index(scope),
    // Most recent first.
    defaultDirection: "DESC" as const,
    supportsModifiedSince: settings.modifiedSinceOn.includes("lots"),
    toJson: (recNo: number) => state.lots.toJson(recNo),
  };
  return listPageResponse(list, query, settings);
}

function stockLevelPageResponse({ state, query, settings }: EndpointContext, scope: WarehouseScope): SandboxResponse {
  const list = {
    index: state.stock.index(scope),
    defaultDirection: "ASC" as const,
    supportsModifiedSince: settings.modifiedSinceOn.includes("stockLevels"),
    toJson: (partNo: number) => state.stock.toJson(partNo, scope),
  };
  return listPageResponse(list, query, settings);
}
