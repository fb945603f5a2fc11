import type { EndpointContext } from "../http/endpoint.js";
import { pageResponse } from "../http/paging.js";
import type { SandboxResponse } from "../http/response.js";
import type { Scope } from "../store/scopes.js";
import { scopeOf, warehouseInScope } from "./warehouse-scope.js";

/** GET /Inventory: the lots of all warehouses in the client's scope. */
export function readLots(context: EndpointContext): SandboxResponse {
  return listLots(context, scopeOf(context));
}

/** GET /Inventory/{wid} */
export function readLotsOfWarehouse(context: EndpointContext): SandboxResponse {
  return listLots(context, warehouseInScope(context));
}

/** GET /Inventory/StockLevels: aggregated over all warehouses in the client's scope. */
export function readStockLevels(context: EndpointContext): SandboxResponse {
  return listStockLevels(context, scopeOf(context));
}

/** GET /Inventory/StockLevels/{wid} */
export function readStockLevelsOfWarehouse(context: EndpointContext): SandboxResponse {
  return listStockLevels(context, warehouseInScope(context));
}

function listLots({ state, query, settings }: EndpointContext, scope: Scope): SandboxResponse {
  const list = {
    index: state.lots.index(scope),
    // Most recent first.
    defaultDirection: "DESC" as const,
    supportsModifiedSince: settings.modifiedSinceOn.includes("lots"),
    toJson: (recNo: number) => state.lots.toJson(recNo),
  };
  return pageResponse(list, query, settings);
}

function listStockLevels({ state, query, settings }: EndpointContext, scope: Scope): SandboxResponse {
  const list = {
    index: state.stock.index(scope),
    defaultDirection: "ASC" as const,
    supportsModifiedSince: settings.modifiedSinceOn.includes("stockLevels"),
    toJson: (partNo: number) => state.stock.toJson(partNo, scope),
  };
  return pageResponse(list, query, settings);
}
