import { decimalOf, plus } from "../decimal.js";
import type { LotLedger } from "./lot-ledger.js";
import { noTotals, type Totals } from "./stock-totals.js";

/** What one pass over all lots finds. */
export interface Balance {
  /** By warehouse, then by part number. */
  readonly totals: Map<number, Map<number, Totals>>;
  /** Lots in stock, oldest first, by {@link shelfKey}. */
  readonly shelves: Map<string, number[]>;
}

export function shelfKey(partNo: number, wID: number): string {
  return `${partNo}@${wID}`;
}

export function totalsIn(balance: Balance, wID: number, partNo: number): Totals {
  let items = balance.totals.get(wID);
  if (!items) {
    items = new Map();
    balance.totals.set(wID, items);
  }
  let totals = items.get(partNo);
  if (!totals) {
    totals = noTotals();
    items.set(partNo, totals);
  }
  return totals;
}

/** Adds up every lot, once. Runs over a million lots, so it sums plain numbers and makes decimals at the end. */
export function openingBalance(ledger: LotLedger): Balance {
  const balance: Balance = { totals: new Map(), shelves: new Map() };
  const sums = new Map<Totals, { inStock: number; onHold: number }>();
  for (const recNo of ledger.oldestFirst()) {
    const lot = ledger.facts(recNo);
    const totals = totalsIn(balance, lot.wID, lot.partNo);
    totals.lots += 1;
    totals.modifiedAt = Math.max(totals.modifiedAt, lot.modifiedAt);
    if (!lot.open) continue;
    shelve(balance, shelfKey(lot.partNo, lot.wID), recNo);
    const thousandths = Math.round(lot.units * 1000);
    if (thousandths / 1000 === lot.units && Math.abs(thousandths) < 1e9) {
      const sum = sums.get(totals) ?? { inStock: 0, onHold: 0 };
      sum.inStock += thousandths;
      if (lot.hold) sum.onHold += thousandths;
      sums.set(totals, sum);
    } else {
      totals.inStock = plus(totals.inStock, decimalOf(lot.units));
      if (lot.hold) totals.onHold = plus(totals.onHold, decimalOf(lot.units));
    }
  }
  for (const [totals, sum] of sums) {
    totals.inStock = plus(totals.inStock, { digits: BigInt(sum.inStock), scale: 3 });
    totals.onHold = plus(totals.onHold, { digits: BigInt(sum.onHold), scale: 3 });
  }
  return balance;
}

function shelve({ shelves }: Balance, key: string, recNo: number): void {
  const shelf = shelves.get(key);
  if (shelf) shelf.push(recNo);
  else shelves.set(key, [recNo]);
}
