import type { Endpoint } from "./endpoint.js";
import { handleListLots, handleListStockLevels } from "./inventory-lists.js";
import {
  handleCreateItem,
  handleDiscontinueItem,
  handleGetItemByPartNo,
  handleGetItems,
  handleListAllItems,
  handleUpdateItem,
} from "./items.js";
import { handleIssue, handleMove, handleReceive } from "./transactions.js";

/** Security IDs, as the document numbers them. */
export const SECURITY_ID = {
  itemMasterList: 11,
  createModifyItem: 116,
  positiveAdjustment: 95,
  locateMoveUnits: 15,
  negativeAdjustment: 88,
} as const;

/** The document's table of endpoints, except POST /Token. If two paths match, the first one takes precedence. */
export const ENDPOINTS: readonly Endpoint[] = [
  { method: "GET", path: "/Item", permission: SECURITY_ID.itemMasterList, handle: handleGetItems },
  { method: "GET", path: "/Item/All", permission: SECURITY_ID.itemMasterList, handle: handleListAllItems },
  { method: "GET", path: "/Item/:partNo", permission: SECURITY_ID.itemMasterList, handle: handleGetItemByPartNo },
  { method: "POST", path: "/Item", permission: SECURITY_ID.createModifyItem, handle: handleCreateItem },
  { method: "PUT", path: "/Item", permission: SECURITY_ID.createModifyItem, handle: handleUpdateItem },
  { method: "DELETE", path: "/Item/:shortID", permission: SECURITY_ID.createModifyItem, handle: handleDiscontinueItem },
  { method: "GET", path: "/Inventory", permission: SECURITY_ID.itemMasterList, handle: handleListLots },
  {
    method: "GET",
    path: "/Inventory/StockLevels",
    permission: SECURITY_ID.itemMasterList,
    handle: handleListStockLevels,
  },
  {
    method: "GET",
    path: "/Inventory/StockLevels/:wid",
    permission: SECURITY_ID.itemMasterList,
    handle: handleListStockLevels,
  },
  { method: "GET", path: "/Inventory/:wid", permission: SECURITY_ID.itemMasterList, handle: handleListLots },
  { method: "POST", path: "/Inventory/Receive", permission: SECURITY_ID.positiveAdjustment, handle: handleReceive },
  { method: "POST", path: "/Inventory/Move", permission: SECURITY_ID.locateMoveUnits, handle: handleMove },
  { method: "POST", path: "/Inventory/Issue", permission: SECURITY_ID.negativeAdjustment, handle: handleIssue },
];
