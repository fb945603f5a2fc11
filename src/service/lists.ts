import type * as z from "zod";
import type { LazySchema } from "../shared/schema.js";
import { itemSchema } from "./item.js";
import { lotSchema } from "./lot.js";
import { ITEMS_PATH, LOTS_PATH, STOCK_LEVELS_PATH } from "./operations.js";
import { stockLevelSchema } from "./stock-level.js";

/** A list that the document describes. */
export interface DocumentedList {
  name: "items" | "lots" | "stockLevels";
  path: string;
  record: LazySchema<z.ZodObject>;
  /** The field that identifies a record. */
  key: "partNo" | "recNo";
  /** A column with unique values that never change. */
  stableSort: "partNo" | "recNo" | "shortID";
  /** The order of the list if none is requested: items by SKU, lots with the most recent first. */
  defaultDirection: "ASC" | "DESC";
}

/** The largest page of these lists. */
export const MAX_PAGE_SIZE = 250;

/** The lists. Source: service interface, "GET /Item" and "GET /Inventory" with the paths below them. */
export const LISTS: { readonly [Name in DocumentedList["name"]]: DocumentedList } = {
  items: {
    name: "items",
    path: ITEMS_PATH,
    record: itemSchema,
    key: "partNo",
    stableSort: "shortID",
    defaultDirection: "ASC",
  },
  lots: {
    name: "lots",
    path: LOTS_PATH,
    record: lotSchema,
    key: "recNo",
    stableSort: "recNo",
    defaultDirection: "DESC",
  },
  stockLevels: {
    name: "stockLevels",
    path: STOCK_LEVELS_PATH,
    record: stockLevelSchema,
    key: "partNo",
    stableSort: "partNo",
    defaultDirection: "ASC",
  },
};
