import * as z from "zod";
import { type LazySchema, lazy } from "../schemas/field.js";
import { createItemInputSchema } from "../schemas/item-input.js";
import { skuInputSchema } from "../schemas/key.js";
import { issueInputSchema, moveInputSchema, receiveInputSchema } from "../schemas/transaction.js";

/** The permissions of the document, by their security IDs. */
export const PERMISSIONS = {
  itemMasterList: 11,
  createModifyItem: 116,
  positiveAdjustment: 95,
  locateMoveUnits: 15,
  negativeAdjustment: 88,
} as const;

export interface Operation {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Relative to the base URL. A name in braces stands for one segment. */
  path: string;
  permission: number;
}

const { itemMasterList, createModifyItem } = PERMISSIONS;

/** What the service can be asked for, except tokens. Source: service interface, its table of endpoints. */
export const READS = {
  readItems: { method: "GET", path: "/Item", permission: itemMasterList },
  listAllItems: { method: "GET", path: "/Item/All", permission: itemMasterList },
  getItemByPartNo: { method: "GET", path: "/Item/{item}", permission: itemMasterList },
  listLots: { method: "GET", path: "/Inventory", permission: itemMasterList },
  listLotsOfWarehouse: { method: "GET", path: "/Inventory/{wid}", permission: itemMasterList },
  listStockLevels: { method: "GET", path: "/Inventory/StockLevels", permission: itemMasterList },
  listStockLevelsOfWarehouse: { method: "GET", path: "/Inventory/StockLevels/{wid}", permission: itemMasterList },
} as const satisfies Readonly<Record<string, Operation>>;

/** The writes, each with the schema of what identifies and changes its record. */
export const WRITES = {
  create: { method: "POST", path: "/Item", permission: createModifyItem, input: createItemInputSchema },
  // The same fields: the SKU and what to change.
  update: { method: "PUT", path: "/Item", permission: createModifyItem, input: createItemInputSchema },
  discontinue: {
    method: "DELETE",
    path: "/Item/{item}",
    permission: createModifyItem,
    input: /* @__PURE__ */ lazy(() => z.strictObject({ shortID: skuInputSchema() })),
  },
  receive: {
    method: "POST",
    path: "/Inventory/Receive",
    permission: PERMISSIONS.positiveAdjustment,
    input: receiveInputSchema,
  },
  move: { method: "POST", path: "/Inventory/Move", permission: PERMISSIONS.locateMoveUnits, input: moveInputSchema },
  issue: {
    method: "POST",
    path: "/Inventory/Issue",
    permission: PERMISSIONS.negativeAdjustment,
    input: issueInputSchema,
  },
} as const satisfies Readonly<Record<string, Operation & { input: LazySchema<z.ZodObject> }>>;

export const TOKEN_REQUEST = { method: "POST", path: "/Token" } as const;

/** The paths of the document, those without a parameter first: `/Item/All` is not an item. */
export const PATHS: readonly string[] = [
  ...new Set([TOKEN_REQUEST, ...Object.values(READS), ...Object.values(WRITES)].map(({ path }) => path)),
].sort((one, next) => Number(one.includes("{")) - Number(next.includes("{")));
