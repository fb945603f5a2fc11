import type { Item } from "../schemas/item.js";
import { FIRST_PART_NO, generateAliases, generateItems } from "./data/generated-items.js";
import { createLotGenerator } from "./data/generated-lots.js";
import { generateOrderQuantities, userOrderQuantities } from "./data/order-quantities.js";
import { itemsOfLots, userAliases, userItems, userLots } from "./data/user-data.js";
import type { Settings } from "./options/settings.js";
import { ItemCatalog } from "./store/item-catalog.js";
import { type LotGenerator, LotStore, NO_GENERATED_LOTS } from "./store/lot-store.js";
import { ScopeRegistry } from "./store/scopes.js";
import { type AddOrderQuantities, StockTotals } from "./store/stock-totals.js";

/** Items, lots and stock. */
export interface State {
  readonly catalog: ItemCatalog;
  readonly lots: LotStore;
  readonly stock: StockTotals;
  readonly scopes: ScopeRegistry;
  /** Names of the warehouses by ID. */
  readonly warehouses: ReadonlyMap<number, string>;
}

/** The data that a sandbox starts with, and returns to when it is reset. */
export function createState(settings: Settings, now: number): State {
  const items = initialItems(settings, now);
  const aliases = settings.aliases ? userAliases(settings.aliases, items) : initialAliases(settings, items);
  const catalog = new ItemCatalog(items, aliases, FIRST_PART_NO);
  const own = typeof settings.lots === "number" ? [] : userLots(settings.lots, items, settings.warehouses, now);
  const lots = new LotStore(lotGeneratorFor(settings, items), own);
  return {
    catalog,
    lots,
    stock: new StockTotals(lots, orderQuantitiesFor(settings, catalog)),
    scopes: new ScopeRegistry(settings.warehouses.map(({ wID }) => wID)),
    warehouses: new Map(settings.warehouses.map(({ wID, name }) => [wID, name])),
  };
}

function initialItems({ items, lots, seed }: Settings, now: number): Item[] {
  const ownLots = typeof lots === "number" ? [] : lots;
  if (typeof items === "number") {
    const generated = generateItems(seed, items);
    return ownLots.length === 0 ? generated : userItems([...generated, ...itemsOfLots(ownLots, generated)], now);
  }
  return userItems([...items, ...itemsOfLots(ownLots, items)], now);
}

function initialAliases({ items }: Settings, made: readonly Item[]): Map<string, string> {
  return typeof items === "number" ? generateAliases(made) : new Map();
}

function lotGeneratorFor({ lots, seed, warehouses }: Settings, items: readonly Item[]): LotGenerator {
  const [first, ...others] = items;
  if (typeof lots !== "number" || lots === 0 || !first) return NO_GENERATED_LOTS;
  return createLotGenerator(seed, lots, [first, ...others], warehouses);
}

function orderQuantitiesFor(
  { stockLevels, lots, seed, warehouses }: Settings,
  catalog: ItemCatalog,
): AddOrderQuantities {
  if (stockLevels) return userOrderQuantities(stockLevels, (sku) => catalog.findBySku(sku)?.item.partNo, warehouses);
  return typeof lots === "number" ? generateOrderQuantities(seed) : () => {};
}
