import { Big } from "big.js";
import type { Lot } from "../../schemas/lot.js";
import { type StockLevel, stockLevelSchema } from "../../schemas/stock-level.js";
import { isOpenLot, type LotStore } from "./lot-store.js";
import { SortedRecords } from "./sorted-records.js";

/** What a stock level shows, except `available`, which follows from the others. */
type QuantityName = Exclude<keyof StockLevel, "partNo" | "available">;

/** The quantities of one item in one warehouse. */
export interface StockQuantities extends Record<QuantityName, Big> {
  /** Lots of the item here, shipped ones included. */
  lots: number;
  /** Those of them that are in stock. */
  openLots: number;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

/** One item's quantities by warehouse ID. */
export interface ItemStock {
  readonly partNo: number;
  readonly byWarehouse: Map<number, StockQuantities>;
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

/** Running totals per item and warehouse. Every change of a lot goes through here. */
export class StockTotals {
  private readonly items = new Map<number, ItemStock>();
  private readonly levelLists = new Map<string, StockLevelList>();

  /** @param setOrderQuantities sets what does not come from lots: quantities on order, committed, packed, in transit */
  constructor(
    private readonly lots: LotStore,
    setOrderQuantities?: (totals: StockTotals) => void,
  ) {
    for (const { lot, modifiedAt } of lots.records.ascending()) {
      const quantities = this.countLot(lot, 1);
      quantities.modifiedAt = Math.max(quantities.modifiedAt, modifiedAt);
    }
    setOrderQuantities?.(this);
  }

  /** Stock levels of these warehouses. */
  levels(warehouses: readonly number[]): StockLevelList {
    const key = warehouses.join();
    const list = this.levelLists.get(key) ?? new StockLevelList([...this.items.values()], warehouses);
    this.levelLists.set(key, list);
    return list;
  }

  /** The quantities of an item in a warehouse; zero if there are none yet. */
  quantities(partNo: number, wID: number): StockQuantities {
    const { byWarehouse } = this.items.get(partNo) ?? this.addItem(partNo);
    const quantities = byWarehouse.get(wID) ?? createZeroQuantities();
    byWarehouse.set(wID, quantities);
    return quantities;
  }

  /** The stock of every item that has or had any. */
  all(): Iterable<ItemStock> {
    return this.items.values();
  }

  addLot(lot: Lot, now: number): Lot {
    const added = this.lots.add(lot, now);
    this.countLot(added, 1).modifiedAt = now;
    return added;
  }

  changeLot(lot: Lot, changes: Partial<Lot>, now: number): Lot {
    const changed = this.lots.change(lot, changes, now);
    this.countLot(lot, -1).modifiedAt = now;
    this.countLot(changed, 1).modifiedAt = now;
    return changed;
  }

  /** What is in stock in one warehouse, all items together. */
  summary(wID: number): WarehouseStockSummary {
    const all = [...this.items.values()].flatMap(({ byWarehouse }) => byWarehouse.get(wID) ?? []);
    const { inStock, onHold, available } = toStockLevel(0, all);
    const items = all.filter((quantities) => quantities.inStock.gt(0)).length;
    return { items, lots: all.reduce((sum, { openLots }) => sum + openLots, 0), inStock, onHold, available };
  }

  private addItem(partNo: number): ItemStock {
    const stock: ItemStock = { partNo, byWarehouse: new Map() };
    this.items.set(partNo, stock);
    for (const list of this.levelLists.values()) list.records.add(stock);
    return stock;
  }

  /** Adds a lot to the totals, or removes it from them. */
  private countLot(lot: Lot, sign: 1 | -1): StockQuantities {
    const quantities = this.quantities(lot.partNo, lot.wID);
    quantities.lots += sign;
    if (isOpenLot(lot)) {
      quantities.openLots += sign;
      quantities.inStock = quantities.inStock.plus(sign * lot.units);
      if (lot.hold) quantities.onHold = quantities.onHold.plus(sign * lot.units);
    }
    for (const list of this.levelLists.values()) list.forget(lot.partNo);
    return quantities;
  }
}

/** The stock levels of some warehouses together. */
export class StockLevelList {
  readonly records: SortedRecords<ItemStock, keyof StockLevel>;
  /** Levels by part number, since sorting compares each many times. */
  private readonly levels = new Map<number, StockLevel>();

  constructor(
    items: ItemStock[],
    private readonly warehouses: readonly number[],
  ) {
    this.records = new SortedRecords(items, {
      columns: stockLevelSchema().keyof().options,
      defaultColumn: "partNo",
      key: (stock, column) => (column === "partNo" ? stock.partNo : this.level(stock)[column]),
      id: ({ partNo }) => partNo,
    });
  }

  /** Whether the item has a stock level here: lots, even shipped ones, or quantities on order or promised to orders. */
  has(stock: ItemStock): boolean {
    return this.warehouses.some((wID) => {
      const here = stock.byWarehouse.get(wID);
      return (
        here && (here.lots > 0 || [here.onOrder, here.committed, here.packed, here.aSN].some((each) => !each.eq(0)))
      );
    });
  }

  level(stock: ItemStock): StockLevel {
    const level = this.levels.get(stock.partNo) ?? toStockLevel(stock.partNo, this.parts(stock));
    this.levels.set(stock.partNo, level);
    return level;
  }

  modifiedAt(stock: ItemStock): number {
    return Math.max(...this.parts(stock).map(({ modifiedAt }) => modifiedAt));
  }

  /** Required after a change of the item's quantities. */
  forget(partNo: number): void {
    this.levels.delete(partNo);
    this.records.markChanged((column) => column !== "partNo");
  }

  private parts({ byWarehouse }: ItemStock): StockQuantities[] {
    return this.warehouses.flatMap((wID) => byWarehouse.get(wID) ?? []);
  }
}

const ZERO = new Big(0);

function createZeroQuantities(): StockQuantities {
  const none = { inStock: ZERO, onOrder: ZERO, onHold: ZERO, committed: ZERO, packed: ZERO, aSN: ZERO };
  return { ...none, lots: 0, openLots: 0, modifiedAt: 0 };
}

/** The stock level that the quantities of several warehouses add up to. */
function toStockLevel(partNo: number, parts: readonly StockQuantities[]): StockLevel {
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
