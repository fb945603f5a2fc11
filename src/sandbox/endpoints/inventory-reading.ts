import type { Call } from "../http/call.js";
import { pageReply } from "../http/paging.js";
import type { Reply } from "../http/reply.js";
import type { Scope } from "../store/scopes.js";
import { scopeOf, warehouseInScope } from "./scope.js";

/** GET /Inventory: the lots of all warehouses in the caller's scope. */
export function readLots(call: Call): Reply {
  return listLots(call, scopeOf(call));
}

/** GET /Inventory/{wid} */
export function readLotsOfWarehouse(call: Call): Reply {
  return listLots(call, warehouseInScope(call));
}

/** GET /Inventory/StockLevels: added up over all warehouses in the caller's scope. */
export function readStockLevels(call: Call): Reply {
  return listStockLevels(call, scopeOf(call));
}

/** GET /Inventory/StockLevels/{wid} */
export function readStockLevelsOfWarehouse(call: Call): Reply {
  return listStockLevels(call, warehouseInScope(call));
}

function listLots({ state, query, settings }: Call, scope: Scope): Reply {
  const list = {
    listing: state.ledger.listing(scope),
    // Most recent first.
    defaultDirection: "DESC" as const,
    honoursModifiedSince: settings.modifiedSinceOn.includes("lots"),
    bytes: (recNo: number) => state.ledger.bytes(recNo),
  };
  return pageReply(list, query, settings);
}

function listStockLevels({ state, query, settings }: Call, scope: Scope): Reply {
  const list = {
    listing: state.book.listing(scope),
    defaultDirection: "ASC" as const,
    honoursModifiedSince: settings.modifiedSinceOn.includes("stockLevels"),
    bytes: (partNo: number) => state.book.bytes(partNo, scope),
  };
  return pageReply(list, query, settings);
}
