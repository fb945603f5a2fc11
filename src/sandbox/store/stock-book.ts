import type { Lot } from "../../schemas/lot.js";
import type { StockLevel } from "../../schemas/stock-level.js";
import { decimalOf, minus, plus } from "../decimal.js";
import { Listing, type SortKey } from "./listing.js";
import { isOpen, type LotLedger } from "./lot-ledger.js";
import { type Balance, openingBalance, shelfKey, totalsIn } from "./opening-balance.js";
import { RecordBytes } from "./record-bytes.js";
import { ScopedListings } from "./scoped-listings.js";
import type { Scope } from "./scopes.js";
import { SortedIds } from "./sorted-ids.js";
import { type StockSummary, summarize } from "./stock-summary.js";
import { isShown, levelOf, type Totals } from "./stock-totals.js";

const COLUMNS = [
  "partNo",
  "available",
  "inStock",
  "onOrder",
  "onHold",
  "committed",
  "packed",
  "aSN",
] as const satisfies readonly (keyof StockLevel)[];

/** Adds quantities that no lot accounts for: on order, committed, packed, in transit. */
export type Demand = (balance: Balance) => void;

/** Running totals per item and warehouse. Nothing is added up before somebody asks or changes something. */
export class StockBook {
  private opened: Balance | undefined;
  private readonly json = new Map<Scope, RecordBytes>();
  private readonly listings = new ScopedListings((scope) => this.listingOf(scope));

  constructor(
    private readonly ledger: LotLedger,
    private readonly demand: Demand,
  ) {}

  /** Stock levels of the items that have a lot in one of these warehouses. */
  listing(scope: Scope): Listing {
    return this.listings.of(scope);
  }

  level(partNo: number, scope: Iterable<number>): StockLevel {
    return levelOf(partNo, this.parts(partNo, scope));
  }

  /** The stock level as the bytes of its JSON. */
  bytes(partNo: number, scope: Scope): Buffer {
    let json = this.json.get(scope);
    if (!json) {
      json = new RecordBytes();
      this.json.set(scope, json);
    }
    return json.of(partNo, () => this.level(partNo, scope));
  }

  /** Lots of the item that are in stock in the warehouse, oldest first. */
  shelf(partNo: number, wID: number): readonly number[] {
    return this.balance.shelves.get(shelfKey(partNo, wID)) ?? [];
  }

  /** What is in stock in one warehouse, all items together. */
  summary(wID: number): StockSummary {
    return summarize(this.balance, wID);
  }

  receive(lot: Lot, now: number): Lot {
    const { balance } = this;
    return this.touching(lot.partNo, [lot.wID], () => {
      const added = this.ledger.add(lot, now);
      this.count(balance, added, 1, now);
      return added;
    });
  }

  alter(recNo: number, changes: Partial<Lot>, now: number): Lot {
    const { balance } = this;
    const before = this.ledger.get(recNo);
    return this.touching(before.partNo, [before.wID, changes.wID ?? before.wID], () => {
      this.count(balance, before, -1, now);
      const after = this.ledger.change(recNo, changes, now);
      this.count(balance, after, 1, now);
      return after;
    });
  }

  private get balance(): Balance {
    if (!this.opened) {
      this.opened = openingBalance(this.ledger);
      this.demand(this.opened);
    }
    return this.opened;
  }

  /** Takes the item out of every order it is in, makes the change, and puts it back where it now belongs. */
  private touching(partNo: number, warehouses: readonly number[], change: () => Lot): Lot {
    const affected = new Map<Listing, ReadonlySet<number>>();
    for (const wID of warehouses) this.listings.each(wID, (listing, scope) => affected.set(listing, scope));
    for (const [listing, scope] of affected) if (this.isListed(partNo, scope)) listing.drop(partNo);
    const lot = change();
    for (const json of this.json.values()) json.forget(partNo);
    for (const [listing, scope] of affected) if (this.isListed(partNo, scope)) listing.add(partNo);
    return lot;
  }

  private count(balance: Balance, lot: Lot, sign: 1 | -1, now: number): void {
    const totals = totalsIn(balance, lot.wID, lot.partNo);
    totals.lots += sign;
    totals.modifiedAt = now;
    if (!isOpen(lot)) return;
    const add = sign === 1 ? plus : minus;
    totals.inStock = add(totals.inStock, decimalOf(lot.units));
    if (lot.hold) totals.onHold = add(totals.onHold, decimalOf(lot.units));
    const key = shelfKey(lot.partNo, lot.wID);
    const shelf = new SortedIds(balance.shelves.get(key) ?? [], (a, b) => this.byAge(a, b));
    if (sign === 1) shelf.insert(lot.recNo);
    else shelf.remove(lot.recNo);
    balance.shelves.set(key, shelf.ids);
  }

  private byAge(a: number, b: number): number {
    return this.ledger.facts(a).receivedAt - this.ledger.facts(b).receivedAt || a - b;
  }

  private isListed(partNo: number, scope: Iterable<number>): boolean {
    return this.parts(partNo, scope).some(isShown);
  }

  private parts(partNo: number, scope: Iterable<number>): Totals[] {
    const parts: Totals[] = [];
    for (const wID of scope) {
      const totals = this.balance.totals.get(wID)?.get(partNo);
      if (totals) parts.push(totals);
    }
    return parts;
  }

  private listingOf(scope: ReadonlySet<number>): Listing {
    return new Listing({
      defaultColumn: "partNo",
      columns: new Map(COLUMNS.map((name) => [name.toLowerCase(), name])),
      ids: () => this.partNos(scope),
      key: (partNo, column) => sortKey(this.level(partNo, scope), column),
      modifiedAt: (partNo) => Math.max(...this.parts(partNo, scope).map((totals) => totals.modifiedAt)),
    });
  }

  private partNos(scope: ReadonlySet<number>): number[] {
    const partNos = new Set<number>();
    for (const wID of scope) {
      for (const [partNo, totals] of this.balance.totals.get(wID) ?? []) if (isShown(totals)) partNos.add(partNo);
    }
    return [...partNos].sort((a, b) => a - b);
  }
}

function sortKey(level: StockLevel, column: string): SortKey {
  const name = COLUMNS.find((known) => known === column);
  return name && level[name];
}
