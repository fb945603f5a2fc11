import type { Lot } from "../../schemas/lot.js";
import { type StockLevel, stockLevelSchema } from "../../schemas/stock-level.js";
import { JsonCache } from "./json-cache.js";
import { isOpenLot, type LotStore } from "./lot-store.js";
import { RecordIndex, SortedRecordIds } from "./record-index.js";
import { IndexesByWarehouseScope, type WarehouseScope } from "./scopes.js";
import {
  buildStockIndex,
  getOrCreateQuantities,
  openLotsKey,
  type StockIndex,
  summarizeWarehouseStock,
  type WarehouseStockSummary,
} from "./stock-index.js";
import { hasStockLevel, type StockQuantities, sumToStockLevel } from "./stock-quantities.js";

/** Adds the quantities that do not come from lots: on order, committed, packed, in transit. */
export type AddOrderQuantities = (stockIndex: StockIndex) => void;

/** Running totals per item and warehouse. Computed at the first read or change. */
export class StockTotals {
  private cachedIndex: StockIndex | undefined;
  private readonly jsonCaches = new Map<WarehouseScope, JsonCache>();
  private readonly indexes = new IndexesByWarehouseScope<keyof StockLevel>((scope) => this.createIndex(scope));

  constructor(
    private readonly lots: LotStore,
    private readonly addOrderQuantities: AddOrderQuantities,
  ) {}

  /** Stock levels of the items that have a lot in one of these warehouses. */
  index(scope: WarehouseScope): RecordIndex<keyof StockLevel> {
    return this.indexes.get(scope);
  }

  level(partNo: number, scope: Iterable<number>): StockLevel {
    return sumToStockLevel(partNo, this.quantitiesIn(partNo, scope));
  }

  /** The stock level's JSON as bytes. */
  toJson(partNo: number, scope: WarehouseScope): Uint8Array {
    let json = this.jsonCaches.get(scope);
    if (!json) {
      json = new JsonCache();
      this.jsonCaches.set(scope, json);
    }
    return json.get(partNo, () => this.level(partNo, scope));
  }

  /** Lots of the item that are in stock in the warehouse, oldest first. */
  openLots(partNo: number, wID: number): readonly number[] {
    return this.stockIndex.openLots.get(openLotsKey(partNo, wID)) ?? [];
  }

  /** What is in stock in one warehouse, all items together. */
  summary(wID: number): WarehouseStockSummary {
    return summarizeWarehouseStock(this.stockIndex, wID);
  }

  addLot(lot: Lot, now: number): Lot {
    const { stockIndex } = this;
    return this.updateItem(lot.partNo, [lot.wID], () => {
      const added = this.lots.add(lot, now);
      this.applyLot(stockIndex, added, 1, now);
      return added;
    });
  }

  changeLot(recNo: number, changes: Partial<Lot>, now: number): Lot {
    const { stockIndex } = this;
    const before = this.lots.get(recNo);
    return this.updateItem(before.partNo, [before.wID, changes.wID ?? before.wID], () => {
      this.applyLot(stockIndex, before, -1, now);
      const after = this.lots.change(recNo, changes, now);
      this.applyLot(stockIndex, after, 1, now);
      return after;
    });
  }

  private get stockIndex(): StockIndex {
    if (!this.cachedIndex) {
      this.cachedIndex = buildStockIndex(this.lots);
      this.addOrderQuantities(this.cachedIndex);
    }
    return this.cachedIndex;
  }

  /** Removes the item from every index that shows it, applies the change, and adds it again in its new position. */
  private updateItem(partNo: number, warehouses: readonly number[], change: () => Lot): Lot {
    const affected = new Map<RecordIndex<keyof StockLevel>, ReadonlySet<number>>();
    for (const wID of warehouses) this.indexes.forEachShowing(wID, (index, scope) => affected.set(index, scope));
    for (const [index, scope] of affected) if (this.isListed(partNo, scope)) index.remove(partNo);
    const lot = change();
    for (const json of this.jsonCaches.values()) json.delete(partNo);
    for (const [index, scope] of affected) if (this.isListed(partNo, scope)) index.add(partNo);
    return lot;
  }

  private applyLot(stockIndex: StockIndex, lot: Lot, sign: 1 | -1, now: number): void {
    const quantities = getOrCreateQuantities(stockIndex, lot.wID, lot.partNo);
    quantities.lots += sign;
    quantities.modifiedAt = now;
    if (!isOpenLot(lot)) return;
    const change = sign * lot.units;
    quantities.inStock = quantities.inStock.plus(change);
    if (lot.hold) quantities.onHold = quantities.onHold.plus(change);
    const key = openLotsKey(lot.partNo, lot.wID);
    const openLots = new SortedRecordIds(stockIndex.openLots.get(key) ?? [], (a, b) => this.compareAge(a, b));
    if (sign === 1) openLots.insert(lot.recNo);
    else openLots.remove(lot.recNo);
    stockIndex.openLots.set(key, openLots.ids);
  }

  private compareAge(a: number, b: number): number {
    return this.lots.summary(a).receivedAt - this.lots.summary(b).receivedAt || a - b;
  }

  private isListed(partNo: number, scope: Iterable<number>): boolean {
    return this.quantitiesIn(partNo, scope).some(hasStockLevel);
  }

  private quantitiesIn(partNo: number, scope: Iterable<number>): StockQuantities[] {
    const parts: StockQuantities[] = [];
    for (const wID of scope) {
      const quantities = this.stockIndex.quantities.get(wID)?.get(partNo);
      if (quantities) parts.push(quantities);
    }
    return parts;
  }

  private createIndex(scope: ReadonlySet<number>): RecordIndex<keyof StockLevel> {
    return new RecordIndex({
      defaultColumn: "partNo",
      columns: stockLevelSchema().keyof().options,
      ids: () => this.partNos(scope),
      key: (partNo, column) => this.level(partNo, scope)[column],
      modifiedAt: (partNo) => Math.max(...this.quantitiesIn(partNo, scope).map((quantities) => quantities.modifiedAt)),
    });
  }

  private partNos(scope: ReadonlySet<number>): number[] {
    const partNos = new Set<number>();
    for (const wID of scope) {
      for (const [partNo, quantities] of this.stockIndex.quantities.get(wID) ?? [])
        if (hasStockLevel(quantities)) partNos.add(partNo);
    }
    return [...partNos].sort((a, b) => a - b);
  }
}
