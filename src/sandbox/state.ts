import type { Item } from "../service/item.js";
import { FIRST_PART_NO, generateAliases, generateItems } from "./data/generated-items.js";
import { generateLots, generateOrderQuantities } from "./data/generated-lots.js";
import {
  checkUserAliases,
  checkUserOrderQuantities,
  collectItemsNamedByLots,
  completeUserItems,
  completeUserLots,
} from "./data/user-data.js";
import type { SandboxSettings } from "./options/settings.js";
import { ItemCatalog } from "./store/item-catalog.js";
import { LotStore, type SetOrderQuantities, StockTotals, type StoredLot } from "./store/stock.js";

/** Items, lots and stock. */
export interface SandboxState {
  readonly catalog: ItemCatalog;
  readonly lots: LotStore;
  readonly stock: StockTotals;
  /** Names of the warehouses by ID. */
  readonly warehouses: ReadonlyMap<number, string>;
}

/** The data that a sandbox starts with, and returns to when it is reset. */
export function createSandboxState(settings: SandboxSettings, now: number): SandboxState {
  const items = createInitialItems(settings, now);
  const catalog = new ItemCatalog(items, createInitialAliases(settings, items), FIRST_PART_NO);
  const lots = new LotStore(createInitialLots(settings, items, now));
  const setOrderQuantities = createOrderQuantities(settings, catalog);
  let stock: StockTotals | undefined;
  return {
    catalog,
    lots,
    // Adding up 100 000 lots takes as long as all the rest, and many programs never read stock levels.
    get stock() {
      stock ??= new StockTotals(lots, setOrderQuantities);
      return stock;
    },
    warehouses: new Map(settings.warehouses.map(({ wID, name }) => [wID, name])),
  };
}

function createInitialItems({ items, lots, seed }: SandboxSettings, now: number): Item[] {
  const known = typeof items === "number" ? generateItems(seed, items) : items;
  const named = typeof lots === "number" ? [] : collectItemsNamedByLots(lots, known);
  return completeUserItems([...known, ...named], now);
}

function createInitialAliases({ items, aliases }: SandboxSettings, known: readonly Item[]): Map<string, string> {
  if (aliases) return checkUserAliases(aliases, known);
  return typeof items === "number" ? generateAliases(known) : new Map();
}

function createInitialLots(
  { lots, seed, warehouses }: SandboxSettings,
  items: readonly Item[],
  now: number,
): StoredLot[] {
  if (typeof lots !== "number") return completeUserLots(lots, items, warehouses, now);
  const [first, ...others] = items;
  return first ? generateLots(seed, lots, [first, ...others], warehouses) : [];
}

function createOrderQuantities(
  { stockLevels, lots, seed, warehouses }: SandboxSettings,
  catalog: ItemCatalog,
): SetOrderQuantities | undefined {
  if (stockLevels) return checkUserOrderQuantities(stockLevels, catalog, warehouses);
  return typeof lots === "number" ? generateOrderQuantities(seed) : undefined;
}
