import * as z from "zod";
import { decimal, integer, lazy, type SameShape } from "./field.js";

/**
 * How much there is of one item, in all warehouses or in one.
 *
 * Source: service interface, "Stock level object". Quantities are in the item's unit of measure.
 */
export interface StockLevel {
  /** Item part number. */
  partNo: number;
  /** `inStock - onHold - committed - packed`. */
  available: number;
  /** Total physically in the warehouse. */
  inStock: number;
  /** On open purchase orders. */
  onOrder: number;
  /** In stock but held (quality, inspection and so on). */
  onHold: number;
  /** Allocated to shipping orders. */
  committed: number;
  /** Packed and awaiting shipment. */
  packed: number;
  /** In transit (advance ship notice). */
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
