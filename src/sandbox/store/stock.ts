import { isInStock, type Lot, lotSchema } from "../../service/lot.js";
import type { StockLevel } from "../../service/stock-level.js";
import { addDecimals, parseIsoTime } from "../values.js";
import type { StoredItem } from "./item-catalog.js";
import { SortedRecords } from "./sorted-records.js";

/** The quantities of a stock level. `available` is left out, since it follows from the others. */
type QuantityName = Exclude<keyof StockLevel, "partNo" | "available">;

interface StockQuantities extends Record<QuantityName, number> {
  /** Lots of the item here, shipped ones included. */
  lots: number;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

export interface ItemStock {
  readonly partNo: number;
  /** Stock levels by warehouse ID. */
  readonly byWarehouse: Map<number, StockQuantities>;
  /** Stock levels since the last change, by the warehouses that they add up: sorting compares each many times. */
  readonly levels: Map<string, StockLevel>;
}

/** Sets the quantities that do not come from lots: on order, committed, packed, in transit. */
export type SetOrderQuantities = (totals: StockTotals) => void;

/** Running totals per item and warehouse. */
export class StockTotals {
  readonly #items = new Map<number, ItemStock>();

  constructor(lots: readonly StoredLot[], setOrderQuantities?: SetOrderQuantities) {
    for (const { lot, modifiedAt } of lots) {
      const quantities = this.countLot(lot, 1);
      quantities.modifiedAt = Math.max(quantities.modifiedAt, modifiedAt);
    }
    setOrderQuantities?.(this);
  }

  /** The stock of every item that has or had any. */
  all(): ItemStock[] {
    return [...this.#items.values()];
  }

  /** Returns the stock of the given items, in their order. Items that never had stock are left out. */
  of(items: readonly StoredItem[]): ItemStock[] {
    return items.flatMap(({ item }) => this.#items.get(item.partNo) ?? []);
  }

  /** The quantities of an item in a warehouse; zero if there are none yet. */
  quantities(partNo: number, wID: number): StockQuantities {
    const stock = this.#items.get(partNo) ?? { partNo, byWarehouse: new Map(), levels: new Map() };
    const none = { inStock: 0, onOrder: 0, onHold: 0, committed: 0, packed: 0, aSN: 0 };
    const quantities = stock.byWarehouse.get(wID) ?? { ...none, lots: 0, modifiedAt: 0 };
    this.#items.set(partNo, stock);
    stock.byWarehouse.set(wID, quantities);
    stock.levels.clear();
    return quantities;
  }

  /** Adds a lot to the totals, or removes it from them. */
  countLot(lot: Lot, sign: 1 | -1): StockQuantities {
    const quantities = this.quantities(lot.partNo, lot.wID);
    quantities.lots += sign;
    if (isInStock(lot)) {
      quantities.inStock = addDecimals(quantities.inStock, sign * lot.units);
      if (lot.hold) quantities.onHold = addDecimals(quantities.onHold, sign * lot.units);
    }
    return quantities;
  }
}

export function quantitiesIn({ byWarehouse }: ItemStock, warehouses: readonly number[]): StockQuantities[] {
  return warehouses.flatMap((wID) => byWarehouse.get(wID) ?? []);
}

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
  return lots > 0 || [onOrder, committed, packed, aSN].some((quantity) => quantity !== 0);
}

function addUp(partNo: number, parts: readonly StockQuantities[]): StockLevel {
  const sum = (name: QuantityName) => parts.reduce((total, part) => addDecimals(total, part[name]), 0);
  const [inStock, onHold, committed, packed] = [sum("inStock"), sum("onHold"), sum("committed"), sum("packed")];
  const available = [onHold, committed, packed].reduce((rest, quantity) => addDecimals(rest, -quantity), inStock);
  return { partNo, available, inStock, onOrder: sum("onOrder"), onHold, committed, packed, aSN: sum("aSN") };
}

/** A receive record, and what the service stores about it but does not show. Times in milliseconds since the epoch. */
export interface StoredLot {
  /** Replaced, never changed. */
  lot: Lot;
  readonly receivedAt: number;
  modifiedAt: number;
}

/** The record number of the first lot, if the caller's data name none. */
export const FIRST_REC_NO = 100_001;

/** Every receive record, in stock or shipped, and the stock that they add up to. */
export class LotStore {
  readonly records: SortedRecords<StoredLot, keyof Lot>;
  readonly #byRecNo: Map<number, StoredLot>;
  readonly #setOrderQuantities: SetOrderQuantities | undefined;
  #nextRecNo: number;
  #stock: StockTotals | undefined;

  constructor(lots: readonly StoredLot[], setOrderQuantities: SetOrderQuantities | undefined) {
    this.#setOrderQuantities = setOrderQuantities;
    this.#byRecNo = new Map(lots.map((stored) => [stored.lot.recNo, stored]));
    this.#nextRecNo = lots.length === 0 ? FIRST_REC_NO : 1 + lots.reduce((max, { lot }) => Math.max(max, lot.recNo), 0);
    this.records = new SortedRecords([...lots], {
      columns: lotSchema().keyof().options,
      defaultColumn: "received",
      key: ({ lot, receivedAt }, column) => (column === "received" ? receivedAt : lot[column]),
      id: ({ lot }) => lot.recNo,
    });
  }

  /** Added up when it is needed: that takes as long as all the rest, and many programs never read stock levels. */
  get stock(): StockTotals {
    this.#stock ??= new StockTotals(this.records.ascending("partNo"), this.#setOrderQuantities);
    return this.#stock;
  }

  /** Lots of the item that are in stock in the warehouse, oldest first. */
  openLots(partNo: number, wID: number): Lot[] {
    return this.records
      .ascending()
      .filter(({ lot }) => lot.partNo === partNo && lot.wID === wID && isInStock(lot))
      .map(({ lot }) => lot);
  }

  /** Adds a lot under the next record number; its own is ignored. */
  add(lot: Lot, now: number): Lot {
    const { stock } = this;
    const stored = { lot: { ...lot, recNo: this.#nextRecNo++ }, receivedAt: receivedTime(lot), modifiedAt: now };
    this.#byRecNo.set(stored.lot.recNo, stored);
    this.records.markChanged(stored);
    stock.countLot(stored.lot, 1).modifiedAt = now;
    return stored.lot;
  }

  change(lot: Lot, changes: Partial<Lot>, now: number): Lot {
    const { stock } = this;
    const changed = { ...lot, ...changes };
    const stored = this.#byRecNo.get(lot.recNo);
    if (stored) Object.assign(stored, { lot: changed, modifiedAt: now });
    this.records.markChanged();
    stock.countLot(lot, -1).modifiedAt = now;
    stock.countLot(changed, 1).modifiedAt = now;
    return changed;
  }

  /** Sets the description that all lots of an item show. That does not count as a change of the lots. */
  setDescription(partNo: number, description: string): void {
    for (const stored of this.#byRecNo.values()) {
      if (stored.lot.partNo === partNo) stored.lot = { ...stored.lot, description };
    }
    this.records.markChanged();
  }
}

/** A lot that the sandbox starts with: it was last changed when it was shipped or, if it is in stock, received. */
export function toStoredLot(lot: Lot): StoredLot {
  const receivedAt = receivedTime(lot);
  return { lot, receivedAt, modifiedAt: parseIsoTime(lot.shipped ?? lot.received) ?? receivedAt };
}

function receivedTime({ received }: Lot): number {
  return parseIsoTime(received) ?? 0;
}
