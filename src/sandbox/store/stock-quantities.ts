import type { StockLevel } from "../../schemas/stock-level.js";
import { type Decimal, minus, plus, toNumber, ZERO } from "../decimal.js";

/** What there is of one item in one warehouse. Mutable; belongs to the stock book. */
export interface StockQuantities {
  inStock: Decimal;
  onHold: Decimal;
  onOrder: Decimal;
  committed: Decimal;
  packed: Decimal;
  aSN: Decimal;
  /** Lots of the item here, shipped ones included; the item is listed as long as there is one. */
  lots: number;
  modifiedAt: number;
}

export function noQuantities(): StockQuantities {
  return {
    inStock: ZERO,
    onHold: ZERO,
    onOrder: ZERO,
    committed: ZERO,
    packed: ZERO,
    aSN: ZERO,
    lots: 0,
    modifiedAt: 0,
  };
}

/** Whether an item has a stock level here at all: it has lots, be they shipped, or something is on its way or promised. */
export function isListed({ lots, onOrder, committed, packed, aSN }: StockQuantities): boolean {
  return lots > 0 || [onOrder, committed, packed, aSN].some(({ digits }) => digits !== 0n);
}

/** The stock level that the totals of several warehouses add up to. */
export function toStockLevel(partNo: number, parts: readonly StockQuantities[]): StockLevel {
  const sum = parts.length === 1 && parts[0] ? parts[0] : parts.reduce(addQuantities, noQuantities());
  const { inStock, onHold, committed, packed } = sum;
  return {
    partNo,
    available: toNumber(minus(minus(minus(inStock, onHold), committed), packed)),
    inStock: toNumber(inStock),
    onOrder: toNumber(sum.onOrder),
    onHold: toNumber(onHold),
    committed: toNumber(committed),
    packed: toNumber(packed),
    aSN: toNumber(sum.aSN),
  };
}

function addQuantities(a: StockQuantities, b: StockQuantities): StockQuantities {
  return {
    inStock: plus(a.inStock, b.inStock),
    onHold: plus(a.onHold, b.onHold),
    onOrder: plus(a.onOrder, b.onOrder),
    committed: plus(a.committed, b.committed),
    packed: plus(a.packed, b.packed),
    aSN: plus(a.aSN, b.aSN),
    lots: a.lots + b.lots,
    modifiedAt: Math.max(a.modifiedAt, b.modifiedAt),
  };
}
