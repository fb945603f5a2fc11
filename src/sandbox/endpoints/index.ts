import type { Endpoint } from "../http/endpoint.js";
import { readLots, readLotsOfWarehouse, readStockLevels, readStockLevelsOfWarehouse } from "./inventory-lists.js";
import { issueStock } from "./issue.js";
import { createItem, discontinueItem, readAllItems, readByPartNo, readItems, updateItem } from "./items.js";
import { moveStock } from "./move.js";
import { receiveStock } from "./receive.js";

/** Security IDs, as the document numbers them. */
export const PERMISSION = {
  itemMasterList: 11,
  createModifyItem: 116,
  positiveAdjustment: 95,
  locateMoveUnits: 15,
  negativeAdjustment: 88,
} as const;

/** The document's table of endpoints, all but POST /Token. Where two paths fit, the first one counts. */
export const ENDPOINTS: readonly Endpoint[] = [
  { method: "GET", path: "/Item", permission: PERMISSION.itemMasterList, handle: readItems },
  { method: "GET", path: "/Item/All", permission: PERMISSION.itemMasterList, handle: readAllItems },
  { method: "GET", path: "/Item/:partNo", permission: PERMISSION.itemMasterList, handle: readByPartNo },
  { method: "POST", path: "/Item", permission: PERMISSION.createModifyItem, handle: createItem },
  { method: "PUT", path: "/Item", permission: PERMISSION.createModifyItem, handle: updateItem },
  { method: "DELETE", path: "/Item/:shortID", permission: PERMISSION.createModifyItem, handle: discontinueItem },
  { method: "GET", path: "/Inventory", permission: PERMISSION.itemMasterList, handle: readLots },
  { method: "GET", path: "/Inventory/StockLevels", permission: PERMISSION.itemMasterList, handle: readStockLevels },
  {
    method: "GET",
    path: "/Inventory/StockLevels/:wid",
    permission: PERMISSION.itemMasterList,
    handle: readStockLevelsOfWarehouse,
  },
  { method: "GET", path: "/Inventory/:wid", permission: PERMISSION.itemMasterList, handle: readLotsOfWarehouse },
  { method: "POST", path: "/Inventory/Receive", permission: PERMISSION.positiveAdjustment, handle: receiveStock },
  { method: "POST", path: "/Inventory/Move", permission: PERMISSION.locateMoveUnits, handle: moveStock },
  { method: "POST", path: "/Inventory/Issue", permission: PERMISSION.negativeAdjustment, handle: issueStock },
];
