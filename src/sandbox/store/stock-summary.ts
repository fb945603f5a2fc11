import { type Decimal, minus, plus, toNumber, ZERO } from "../decimal.js";
import type { StockIndex } from "./opening-balance.js";

/** One warehouse at a glance. Units of different measures are added up all the same. */
export interface WarehouseSummary {
  /** Items of which something is in stock. */
  readonly items: number;
  /** Lots in stock. */
  readonly lots: number;
  readonly inStock: number;
  readonly onHold: number;
  readonly available: number;
}

export function summarizeWarehouse({ quantities, openLots }: StockIndex, wID: number): WarehouseSummary {
  let inStock: Decimal = ZERO;
  let onHold: Decimal = ZERO;
  let promised: Decimal = ZERO;
  let items = 0;
  for (const item of quantities.get(wID)?.values() ?? []) {
    inStock = plus(inStock, item.inStock);
    onHold = plus(onHold, item.onHold);
    promised = plus(promised, plus(item.committed, item.packed));
    if (item.inStock.digits > 0n) items += 1;
  }
  let lots = 0;
  for (const [key, shelf] of openLots) if (key.endsWith(`@${wID}`)) lots += shelf.length;
  return {
    items,
    lots,
    inStock: toNumber(inStock),
    onHold: toNumber(onHold),
    available: toNumber(minus(minus(inStock, onHold), promised)),
  };
}
