import { Big } from "big.js";
import type { Lot } from "../../service/lot.js";
import type { StockLevel } from "../../service/stock-level.js";
import { isOpenLot, type LotStore } from "./lot-store.js";

/** What a stock level shows, except `available`, which follows from the others. */
type QuantityName = Exclude<keyof StockLevel, "partNo" | "available">;

export interface StockQuantities extends Record<QuantityName, Big> {
  /** Lots of the item here, shipped ones included. */
  lots: number;
  /** Those of them that are in stock. */
  openLots: number;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

export interface ItemStock {
  readonly partNo: number;
  /** By warehouse ID. */
  readonly byWarehouse: Map<number, StockQuantities>;
  /** Stock levels since the last change, by the warehouses that they add up: sorting compares each many times. */
  readonly levels: Map<string, StockLevel>;
}

/** One warehouse at a glance, for the page. Adds up units of different measures. */
export interface WarehouseStockSummary {
  /** Items of which something is in stock. */
  readonly items: number;
  readonly lots: number;
  readonly inStock: number;
  readonly onHold: number;
  readonly available: number;
}

/** Sets the quantities that do not come from lots: on order, committed, packed, in transit. */
export type SetOrderQuantities = (totals: StockTotals) => void;

/** Running totals per item and warehouse. Every change of a lot goes through here. */
export class StockTotals {
  readonly #lots: LotStore;
  readonly #items = new Map<number, ItemStock>();

  constructor(lots: LotStore, setOrderQuantities?: SetOrderQuantities) {
    this.#lots = lots;
    // By part number, so that the stock levels are already in their default order.
    for (const { lot, modifiedAt } of lots.records.ascending("partNo")) {
      const quantities = this.#countLot(lot, 1);
      quantities.modifiedAt = Math.max(quantities.modifiedAt, modifiedAt);
    }
    setOrderQuantities?.(this);
  }

  /** The stock of every item that has or had any. */
  all(): ItemStock[] {
    return [...this.#items.values()];
  }

  /** The quantities of an item in a warehouse; zero if there are none yet. */
  quantities(partNo: number, wID: number): StockQuantities {
    const stock = this.#items.get(partNo) ?? { partNo, byWarehouse: new Map(), levels: new Map() };
    const quantities = stock.byWarehouse.get(wID) ?? createZeroQuantities();
    this.#items.set(partNo, stock);
    stock.byWarehouse.set(wID, quantities);
    stock.levels.clear();
    return quantities;
  }

  addLot(lot: Lot, now: number): Lot {
    const added = this.#lots.add(lot, now);
    this.#countLot(added, 1).modifiedAt = now;
    return added;
  }

  changeLot(lot: Lot, changes: Partial<Lot>, now: number): Lot {
    const changed = this.#lots.change(lot, changes, now);
    this.#countLot(lot, -1).modifiedAt = now;
    this.#countLot(changed, 1).modifiedAt = now;
    return changed;
  }

  /** What is in stock in one warehouse, all items together. */
  summary(wID: number): WarehouseStockSummary {
    const all = this.all().flatMap((stock) => quantitiesIn(stock, [wID]));
    const { inStock, onHold, available } = addUp(0, all);
    const items = all.filter((quantities) => quantities.inStock.gt(0)).length;
    return { items, lots: all.reduce((sum, { openLots }) => sum + openLots, 0), inStock, onHold, available };
  }

  /** Adds a lot to the totals, or removes it from them. */
  #countLot(lot: Lot, sign: 1 | -1): StockQuantities {
    const quantities = this.quantities(lot.partNo, lot.wID);
    quantities.lots += sign;
    if (isOpenLot(lot)) {
      quantities.openLots += sign;
      quantities.inStock = quantities.inStock.plus(sign * lot.units);
      if (lot.hold) quantities.onHold = quantities.onHold.plus(sign * lot.units);
    }
    return quantities;
  }
}

/** An item's quantities in each of these warehouses. */
export function quantitiesIn({ byWarehouse }: ItemStock, warehouses: readonly number[]): StockQuantities[] {
  return warehouses.flatMap((wID) => byWarehouse.get(wID) ?? []);
}

/** Returns the stock level of an item in these warehouses together. */
export function stockLevelIn(warehouses: readonly number[]): (stock: ItemStock) => StockLevel {
  const key = warehouses.join();
  return (stock) => {
    const level = stock.levels.get(key) ?? addUp(stock.partNo, quantitiesIn(stock, warehouses));
    stock.levels.set(key, level);
    return level;
  };
}

/** Whether there is a stock level: for lots, even shipped ones, and for quantities on order or promised to orders. */
export function hasStockLevel({ lots, onOrder, committed, packed, aSN }: StockQuantities): boolean {
  return lots > 0 || [onOrder, committed, packed, aSN].some((quantity) => !quantity.eq(0));
}

const ZERO = new Big(0);

function createZeroQuantities(): StockQuantities {
  const none = { inStock: ZERO, onOrder: ZERO, onHold: ZERO, committed: ZERO, packed: ZERO, aSN: ZERO };
  return { ...none, lots: 0, openLots: 0, modifiedAt: 0 };
}

/** The stock level that the quantities of several warehouses add up to. */
function addUp(partNo: number, parts: readonly StockQuantities[]): StockLevel {
  const sum = (name: QuantityName) => parts.reduce((total, part) => total.plus(part[name]), ZERO);
  const [inStock, onHold, committed, packed] = [sum("inStock"), sum("onHold"), sum("committed"), sum("packed")];
  return {
    partNo,
    available: inStock.minus(onHold).minus(committed).minus(packed).toNumber(),
    inStock: inStock.toNumber(),
    onOrder: sum("onOrder").toNumber(),
    onHold: onHold.toNumber(),
    committed: committed.toNumber(),
    packed: packed.toNumber(),
    aSN: sum("aSN").toNumber(),
  };
}
