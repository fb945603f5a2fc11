import { type Decimal, decimalOf, minus, plus, toNumber, ZERO } from "../decimal.js";
import type { LotStore } from "./lot-store.js";
import { noQuantities, type StockQuantities } from "./stock-quantities.js";

/** What one pass over all lots finds. */
export interface StockIndex {
  /** By warehouse, then by part number. */
  readonly quantities: Map<number, Map<number, StockQuantities>>;
  /** Lots in stock, oldest first, by {@link openLotsKey}. */
  readonly openLots: Map<string, number[]>;
}

export function openLotsKey(partNo: number, wID: number): string {
  return `${partNo}@${wID}`;
}

export function quantitiesFor(stockIndex: StockIndex, wID: number, partNo: number): StockQuantities {
  let items = stockIndex.quantities.get(wID);
  if (!items) {
    items = new Map();
    stockIndex.quantities.set(wID, items);
  }
  let quantities = items.get(partNo);
  if (!quantities) {
    quantities = noQuantities();
    items.set(partNo, quantities);
  }
  return quantities;
}

/** Adds up every lot, once. Runs over a million lots, so it sums plain numbers and makes decimals at the end. */
export function buildStockIndex(lots: LotStore): StockIndex {
  const stockIndex: StockIndex = { quantities: new Map(), openLots: new Map() };
  const sums = new Map<StockQuantities, { inStock: number; onHold: number }>();
  for (const recNo of lots.oldestFirst()) {
    const lot = lots.summary(recNo);
    const quantities = quantitiesFor(stockIndex, lot.wID, lot.partNo);
    quantities.lots += 1;
    quantities.modifiedAt = Math.max(quantities.modifiedAt, lot.modifiedAt);
    if (!lot.open) continue;
    addOpenLot(stockIndex, openLotsKey(lot.partNo, lot.wID), recNo);
    const thousandths = Math.round(lot.units * 1000);
    if (thousandths / 1000 === lot.units && Math.abs(thousandths) < 1e9) {
      const sum = sums.get(quantities) ?? { inStock: 0, onHold: 0 };
      sum.inStock += thousandths;
      if (lot.hold) sum.onHold += thousandths;
      sums.set(quantities, sum);
    } else {
      quantities.inStock = plus(quantities.inStock, decimalOf(lot.units));
      if (lot.hold) quantities.onHold = plus(quantities.onHold, decimalOf(lot.units));
    }
  }
  for (const [quantities, sum] of sums) {
    quantities.inStock = plus(quantities.inStock, { digits: BigInt(sum.inStock), scale: 3 });
    quantities.onHold = plus(quantities.onHold, { digits: BigInt(sum.onHold), scale: 3 });
  }
  return stockIndex;
}

function addOpenLot({ openLots }: StockIndex, key: string, recNo: number): void {
  const recNos = openLots.get(key);
  if (recNos) recNos.push(recNo);
  else openLots.set(key, [recNo]);
}

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
