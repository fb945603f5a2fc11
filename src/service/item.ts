import * as z from "zod";
import { boolean, datetime, decimal, integer, lazy, type SameShape, string } from "../shared/schema.js";

/**
 * One entry of the item catalog (the item master).
 *
 * Source: service interface, "Item object". Fields that the service adds later are kept in the value, but are not in
 * the type. IDs and part numbers are integers without a unit.
 */
export interface Item {
  /** Internal part number; assigned by the service, never changes. */
  partNo: number;
  /** SKU: unique, cannot be changed. */
  shortID: string;
  /** Item description. */
  description: string;
  /** Category ID. */
  category: number;
  /** Sub-category ID. */
  subCategory: number;
  /** Unit of measure, for example `EA`, `KG`, `M`. */
  uOM: string;
  /** Packaging description. */
  putUp: string;
  /** Quantity per package, in the item's unit of measure (`uOM`). */
  units: number;
  /** Customer ID of the default owner; 0 means own stock. */
  dfltOwner: number;
  /** When the item was created: ISO 8601, see {@link parseServiceDate}. */
  created: string;
  /** When the item was last modified: ISO 8601, see {@link parseServiceDate}. */
  modified: string;
  /** True when the item has been discontinued. */
  discontinued: boolean;
}

export const itemSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    partNo: integer(),
    shortID: string(),
    description: string(),
    category: integer(),
    subCategory: integer(),
    uOM: string(),
    putUp: string(),
    units: decimal(),
    dfltOwner: integer(),
    created: datetime(),
    modified: datetime(),
    discontinued: boolean(),
  }),
);

true satisfies SameShape<Item, typeof itemSchema>;
