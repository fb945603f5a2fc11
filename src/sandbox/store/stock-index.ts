import { Big } from "big.js";
import type { LotStore } from "./lot-store.js";
import { createZeroQuantities, type StockQuantities } from "./stock-quantities.js";

/** Quantities and open lots, computed from all lots. */
export interface StockIndex {
  /** By warehouse, then by part number. */
  readonly quantities: Map<number, Map<number, StockQuantities>>;
  /** Lots in stock, oldest first, by {@link openLotsKey}. */
  readonly openLots: Map<string, number[]>;
}

export function openLotsKey(partNo: number, wID: number): string {
  return `${partNo}@${wID}`;
}

export function getOrCreateQuantities(stockIndex: StockIndex, wID: number, partNo: number): StockQuantities {
  let items = stockIndex.quantities.get(wID);
  if (!items) {
    items = new Map();
    stockIndex.quantities.set(wID, items);
  }
  let quantities = items.get(partNo);
  if (!quantities) {
    quantities = createZeroQuantities();
    items.set(partNo, quantities);
  }
  return quantities;
}

/** Adds up every lot, once. */
export function buildStockIndex(lots: LotStore): StockIndex {
  const stockIndex: StockIndex = { quantities: new Map(), openLots: new Map() };
  for (const recNo of lots.recNosByAge()) {
    const lot = lots.summary(recNo);
    const quantities = getOrCreateQuantities(stockIndex, lot.wID, lot.partNo);
    quantities.lots += 1;
    quantities.modifiedAt = Math.max(quantities.modifiedAt, lot.modifiedAt);
    if (!lot.open) continue;
    addOpenLot(stockIndex, openLotsKey(lot.partNo, lot.wID), recNo);
    quantities.inStock = quantities.inStock.plus(lot.units);
    if (lot.hold) quantities.onHold = quantities.onHold.plus(lot.units);
  }
  return stockIndex;
}

function addOpenLot({ openLots }: StockIndex, key: string, recNo: number): void {
  const recNos = openLots.get(key);
  if (recNos) recNos.push(recNo);
  else openLots.set(key, [recNo]);
}

/** One warehouse at a glance, for the page. Adds up units of different measures. */
export interface WarehouseStockSummary {
  /** Items of which something is in stock. */
  readonly items: number;
  /** Lots in stock. */
  readonly lots: number;
  readonly inStock: number;
  readonly onHold: number;
  readonly available: number;
}

export function summarizeWarehouseStock({ quantities, openLots }: StockIndex, wID: number): WarehouseStockSummary {
  let inStock = new Big(0);
  let onHold = new Big(0);
  let promised = new Big(0);
  let items = 0;
  for (const item of quantities.get(wID)?.values() ?? []) {
    inStock = inStock.plus(item.inStock);
    onHold = onHold.plus(item.onHold);
    promised = promised.plus(item.committed).plus(item.packed);
    if (item.inStock.gt(0)) items += 1;
  }
  let lots = 0;
  for (const [key, recNos] of openLots) if (key.endsWith(`@${wID}`)) lots += recNos.length;
  return {
    items,
    lots,
    inStock: inStock.toNumber(),
    onHold: onHold.toNumber(),
    available: inStock.minus(onHold).minus(promised).toNumber(),
  };
}
