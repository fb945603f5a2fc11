import type { Item } from "../schemas/item.js";
import { FIRST_PART_NO, generateAliases, generateItems } from "./data/generated-items.js";
import { createLotGenerator } from "./data/generated-lots.js";
import { createOrderQuantityGenerator, createUserOrderQuantityAdder } from "./data/order-quantities.js";
import { checkUserAliases, collectItemsNamedByLots, completeUserItems, completeUserLots } from "./data/user-data.js";
import type { SandboxSettings } from "./options/settings.js";
import { ItemCatalog } from "./store/item-catalog.js";
import { EMPTY_LOT_GENERATOR, type LotGenerator, LotStore } from "./store/lot-store.js";
import { WarehouseScopeRegistry } from "./store/scopes.js";
import { type AddOrderQuantities, StockTotals } from "./store/stock-totals.js";

/** Items, lots and stock. */
export interface SandboxState {
  readonly catalog: ItemCatalog;
  readonly lots: LotStore;
  readonly stock: StockTotals;
  readonly scopes: WarehouseScopeRegistry;
  /** Names of the warehouses by ID. */
  readonly warehouses: ReadonlyMap<number, string>;
}

/** The data that a sandbox starts with, and returns to when it is reset. */
export function createSandboxState(settings: SandboxSettings, now: number): SandboxState {
  const items = createInitialItems(settings, now);
  const aliases = settings.aliases ? checkUserAliases(settings.aliases, items) : createInitialAliases(settings, items);
  const catalog = new ItemCatalog(items, aliases, FIRST_PART_NO);
  const own = typeof settings.lots === "number" ? [] : completeUserLots(settings.lots, items, settings.warehouses, now);
  const lots = new LotStore(createInitialLotGenerator(settings, items), own);
  return {
    catalog,
    lots,
    stock: new StockTotals(lots, orderQuantityAdderFor(settings, catalog)),
    scopes: new WarehouseScopeRegistry(settings.warehouses.map(({ wID }) => wID)),
    warehouses: new Map(settings.warehouses.map(({ wID, name }) => [wID, name])),
  };
}

function createInitialItems({ items, lots, seed }: SandboxSettings, now: number): Item[] {
  const ownLots = typeof lots === "number" ? [] : lots;
  if (typeof items === "number") {
    const generated = generateItems(seed, items);
    return ownLots.length === 0
      ? generated
      : completeUserItems([...generated, ...collectItemsNamedByLots(ownLots, generated)], now);
  }
  return completeUserItems([...items, ...collectItemsNamedByLots(ownLots, items)], now);
}

function createInitialAliases({ items }: SandboxSettings, made: readonly Item[]): Map<string, string> {
  return typeof items === "number" ? generateAliases(made) : new Map();
}

function createInitialLotGenerator({ lots, seed, warehouses }: SandboxSettings, items: readonly Item[]): LotGenerator {
  const [first, ...others] = items;
  if (typeof lots !== "number" || lots === 0 || !first) return EMPTY_LOT_GENERATOR;
  return createLotGenerator(seed, lots, [first, ...others], warehouses);
}

function orderQuantityAdderFor(
  { stockLevels, lots, seed, warehouses }: SandboxSettings,
  catalog: ItemCatalog,
): AddOrderQuantities {
  if (stockLevels)
    return createUserOrderQuantityAdder(stockLevels, (sku) => catalog.findBySku(sku)?.item.partNo, warehouses);
  return typeof lots === "number" ? createOrderQuantityGenerator(seed) : () => {};
}
