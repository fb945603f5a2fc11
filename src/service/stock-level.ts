import * as z from "zod";
import { decimal, integer, lazy, type SameShape } from "../shared/schema.js";

/**
 * The quantities of one item, in all warehouses or in one.
 *
 * Source: service interface, "Stock level object".
 */
export interface StockLevel {
  /** Item part number. */
  partNo: number;
  /** `inStock - onHold - committed - packed`, in the item's unit of measure (`uOM`), like the quantities below. */
  available: number;
  /** Quantity physically in the warehouse, in the item's unit of measure. */
  inStock: number;
  /** Quantity on open purchase orders, in the item's unit of measure. */
  onOrder: number;
  /** Quantity in stock but held (quality, inspection and so on), in the item's unit of measure. */
  onHold: number;
  /** Quantity allocated to shipping orders, in the item's unit of measure. */
  committed: number;
  /** Quantity packed and awaiting shipment, in the item's unit of measure. */
  packed: number;
  /** Quantity in transit (advance ship notice), in the item's unit of measure. */
  aSN: number;
}

export const stockLevelSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    partNo: integer(),
    available: decimal(),
    inStock: decimal(),
    onOrder: decimal(),
    onHold: decimal(),
    committed: decimal(),
    packed: decimal(),
    aSN: decimal(),
  }),
);

true satisfies SameShape<StockLevel, typeof stockLevelSchema>;
