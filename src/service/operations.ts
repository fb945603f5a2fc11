import * as z from "zod";
import { type LazySchema, lazy } from "../shared/schema.js";
import { createItemInputSchema } from "./item-input.js";
import { skuInputSchema } from "./key.js";
import { issueInputSchema, moveInputSchema, receiveInputSchema } from "./transaction.js";

// The security IDs of the permissions. Separate constants: a bundler keeps unused code that reads a property.
const ITEM_MASTER_LIST = 11;
const CREATE_MODIFY_ITEM = 116;
const POSITIVE_ADJUSTMENT = 95;
const LOCATE_MOVE_UNITS = 15;
const NEGATIVE_ADJUSTMENT = 88;
export const ITEMS_PATH = "/Item";
export const LOTS_PATH = "/Inventory";
export const STOCK_LEVELS_PATH = "/Inventory/StockLevels";

export interface Operation {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Relative to the base URL. A name in braces stands for one segment. */
  path: string;
  permission: number;
}

/** The operations that read, except the token request. Source: service interface, its table of endpoints. */
export const READS = {
  readItems: { method: "GET", path: ITEMS_PATH, permission: ITEM_MASTER_LIST },
  listAllItems: { method: "GET", path: "/Item/All", permission: ITEM_MASTER_LIST },
  getItemByPartNo: { method: "GET", path: "/Item/{item}", permission: ITEM_MASTER_LIST },
  listLots: { method: "GET", path: LOTS_PATH, permission: ITEM_MASTER_LIST },
  listLotsOfWarehouse: { method: "GET", path: "/Inventory/{wid}", permission: ITEM_MASTER_LIST },
  listStockLevels: { method: "GET", path: STOCK_LEVELS_PATH, permission: ITEM_MASTER_LIST },
  listStockLevelsOfWarehouse: { method: "GET", path: "/Inventory/StockLevels/{wid}", permission: ITEM_MASTER_LIST },
} as const satisfies Readonly<Record<string, Operation>>;

/** The writes, each with the schema of its input. */
export const WRITES = {
  create: { method: "POST", path: ITEMS_PATH, permission: CREATE_MODIFY_ITEM, input: createItemInputSchema },
  // An update has the fields of a create: the SKU and the new values.
  update: { method: "PUT", path: ITEMS_PATH, permission: CREATE_MODIFY_ITEM, input: createItemInputSchema },
  discontinue: {
    method: "DELETE",
    path: "/Item/{item}",
    permission: CREATE_MODIFY_ITEM,
    input: /* @__PURE__ */ lazy(() => z.strictObject({ shortID: skuInputSchema() })),
  },
  receive: {
    method: "POST",
    path: "/Inventory/Receive",
    permission: POSITIVE_ADJUSTMENT,
    input: receiveInputSchema,
  },
  move: { method: "POST", path: "/Inventory/Move", permission: LOCATE_MOVE_UNITS, input: moveInputSchema },
  issue: {
    method: "POST",
    path: "/Inventory/Issue",
    permission: NEGATIVE_ADJUSTMENT,
    input: issueInputSchema,
  },
} as const satisfies Readonly<Record<string, Operation & { input: LazySchema<z.ZodObject> }>>;

export const TOKEN_REQUEST = { method: "POST", path: "/Token" } as const;

/** Returns the documented paths. Paths without a parameter come first: `/Item/All` is not an item. */
export const documentedPaths = (): string[] =>
  [...new Set([TOKEN_REQUEST, ...Object.values(READS), ...Object.values(WRITES)].map(({ path }) => path))].sort(
    (one, next) => Number(one.includes("{")) - Number(next.includes("{")),
  );
