import { Big } from "big.js";
import type { StockLevel } from "../../schemas/stock-level.js";

type StockQuantityName = Exclude<keyof StockLevel, "partNo" | "available">;

/** The quantities of one item in one warehouse. Mutable; belongs to the stock totals. */
export interface StockQuantities extends Record<StockQuantityName, Big> {
  /** Lots of the item here, shipped ones included. */
  lots: number;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

const BIG_ZERO = new Big(0);

export function createZeroQuantities(): StockQuantities {
  return { ...mapQuantityNames(() => BIG_ZERO), lots: 0, modifiedAt: 0 };
}

/**
 * Whether an item has a stock level here: it has lots, even shipped ones, or quantities on order or promised to orders.
 */
export function hasStockLevel({ lots, onOrder, committed, packed, aSN }: StockQuantities): boolean {
  return lots > 0 || [onOrder, committed, packed, aSN].some((quantity) => !quantity.eq(0));
}

/** The stock level that the quantities of several warehouses add up to. */
export function sumToStockLevel(partNo: number, parts: readonly StockQuantities[]): StockLevel {
  const sum = mapQuantityNames((name) => parts.reduce((total, part) => total.plus(part[name]), BIG_ZERO));
  return {
    partNo,
    available: sum.inStock.minus(sum.onHold).minus(sum.committed).minus(sum.packed).toNumber(),
    ...mapQuantityNames((name) => sum[name].toNumber()),
  };
}

/** One value for each quantity that a stock level shows; `available` follows from the others. */
function mapQuantityNames<T>(read: (name: StockQuantityName) => T): Record<StockQuantityName, T> {
  return {
    inStock: read("inStock"),
    onOrder: read("onOrder"),
    onHold: read("onHold"),
    committed: read("committed"),
    packed: read("packed"),
    aSN: read("aSN"),
  };
}
