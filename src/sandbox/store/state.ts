import type { Item } from "../../schemas/item.js";
import { generatedDemand, ownDemand } from "../data/demand.js";
import { FIRST_PART_NO, generateAliases, generateItems } from "../data/generated-items.js";
import { generatedLots } from "../data/generated-lots.js";
import { type LotSource, NO_LOTS } from "../data/lot-source.js";
import { ownAliases } from "../data/own-aliases.js";
import { completeItems, itemsNamedBy } from "../data/own-items.js";
import { completeLots } from "../data/own-lots.js";
import type { Settings } from "../settings.js";
import { Catalogue } from "./catalogue.js";
import { LotLedger } from "./lot-ledger.js";
import { Scopes } from "./scopes.js";
import { type Demand, StockBook } from "./stock-book.js";

/** All that the service remembers about goods. */
export interface State {
  readonly catalogue: Catalogue;
  readonly ledger: LotLedger;
  readonly book: StockBook;
  readonly scopes: Scopes;
  /** Names of the warehouses by ID. */
  readonly warehouses: ReadonlyMap<number, string>;
}

/** The data that a sandbox starts with, and returns to when it is reset. */
export function createState(settings: Settings, now: number): State {
  const items = itemsFrom(settings, now);
  const aliases = settings.aliases ? ownAliases(settings.aliases, items) : aliasesFor(settings, items);
  const catalogue = new Catalogue(items, aliases, FIRST_PART_NO);
  const own = typeof settings.lots === "number" ? [] : completeLots(settings.lots, items, settings.warehouses, now);
  const ledger = new LotLedger(sourceFrom(settings, items), own);
  return {
    catalogue,
    ledger,
    book: new StockBook(ledger, demandFrom(settings, catalogue)),
    scopes: new Scopes(settings.warehouses.map(({ wID }) => wID)),
    warehouses: new Map(settings.warehouses.map(({ wID, name }) => [wID, name])),
  };
}

function itemsFrom({ items, lots, seed }: Settings, now: number): Item[] {
  const ownLots = typeof lots === "number" ? [] : lots;
  if (typeof items === "number") {
    const generated = generateItems(seed, items);
    return ownLots.length === 0 ? generated : completeItems([...generated, ...itemsNamedBy(ownLots, generated)], now);
  }
  return completeItems([...items, ...itemsNamedBy(ownLots, items)], now);
}

function aliasesFor({ items }: Settings, made: readonly Item[]): Map<string, string> {
  return typeof items === "number" ? generateAliases(made) : new Map();
}

function sourceFrom({ lots, seed, warehouses }: Settings, items: readonly Item[]): LotSource {
  const [first, ...others] = items;
  if (typeof lots !== "number" || lots === 0 || !first) return NO_LOTS;
  return generatedLots(seed, lots, [first, ...others], warehouses);
}

function demandFrom({ stockLevels, lots, seed, warehouses }: Settings, catalogue: Catalogue): Demand {
  if (stockLevels) return ownDemand(stockLevels, (sku) => catalogue.bySKU(sku)?.item.partNo, warehouses);
  return typeof lots === "number" ? generatedDemand(seed) : () => {};
}
