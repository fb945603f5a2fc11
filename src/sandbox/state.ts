import type * as z from "zod";
import { type Item, itemSchema } from "../service/item.js";
import { type Lot, lotSchema } from "../service/lot.js";
import { FIRST_PART_NO, generateAliases, generateItems } from "./data/generated-items.js";
import { generateLots, generateOrderQuantities } from "./data/generated-lots.js";
import type { SandboxItem, SandboxLot, SandboxStockLevel, SandboxWarehouse } from "./options/options.js";
import { assertUniqueField, type SandboxSettings, sandboxOptionError, withoutUndefined } from "./options/settings.js";
import { ItemCatalog } from "./store/item-catalog.js";
import { FIRST_REC_NO, LotStore, type SetOrderQuantities, type StoredLot, toStoredLot } from "./store/stock.js";
import { formatIsoTime } from "./values.js";

export interface SandboxState {
  readonly catalog: ItemCatalog;
  readonly lots: LotStore;
  /** Names of the warehouses by ID. */
  readonly warehouses: ReadonlyMap<number, string>;
}

/** The data that a sandbox starts with, and returns to when it is reset. */
export function createSandboxState(settings: SandboxSettings, now: number): SandboxState {
  const { items, lots, seed, warehouses, stockLevels } = settings;
  const isGenerated = typeof items === "number";
  const known = isGenerated ? generateItems(seed, items) : items;
  const named = typeof lots === "number" ? [] : collectItemsNamedByLots(lots, known);
  const all = completeUserItems([...known, ...named], now);
  const aliases = settings.aliases ? checkUserAliases(settings.aliases, all) : generateAliases(isGenerated ? all : []);
  const catalog = new ItemCatalog(all, aliases, FIRST_PART_NO);
  const generatedQuantities = typeof lots === "number" ? generateOrderQuantities(seed) : undefined;
  const quantities = stockLevels ? checkUserOrderQuantities(stockLevels, catalog, warehouses) : generatedQuantities;
  return {
    catalog,
    lots: new LotStore(
      typeof lots === "number" ? generateLots(seed, lots, all, warehouses) : completeUserLots(lots, all, settings, now),
      quantities,
    ),
    warehouses: new Map(warehouses.map(({ wID, name }) => [wID, name])),
  };
}

/** The default of every field of an item, in the document's order. */
export const DEFAULT_ITEM_FIELDS: Item = itemSchema().parse({
  ...blankFieldsOf(itemSchema().shape),
  uOM: "EA",
  units: 1,
});

/** The default of every field of a lot, in the document's order. */
export const DEFAULT_LOT_FIELDS: Lot = lotSchema().parse({
  ...blankFieldsOf(lotSchema().shape),
  units: 1,
  active: true,
});

function blankFieldsOf(shape: Readonly<Record<string, z.ZodType>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(shape).map(([name, { type }]) => [name, blankValueOf(type)]));
}

function blankValueOf(type: z.ZodType["type"]): unknown {
  if (type === "nullable") return null;
  if (type === "number") return 0;
  return type === "boolean" ? false : "";
}

/** The caller's items, completed with defaults. Throws a `ConfigurationError` when two share a SKU or part number. */
function completeUserItems(given: readonly SandboxItem[], now: number): Item[] {
  const partNos = new Set(given.map(({ partNo }) => partNo));
  let next = FIRST_PART_NO;
  const items = given.map((item): Item => {
    while (item.partNo === undefined && partNos.has(next)) next += 1;
    const created = item.created ?? formatIsoTime(now);
    return {
      ...DEFAULT_ITEM_FIELDS,
      ...withoutUndefined(item),
      partNo: item.partNo ?? next++,
      created,
      modified: item.modified ?? created,
    };
  });
  assertUniqueField("items", "shortID", items);
  assertUniqueField("items", "partNo", items);
  return items;
}

function collectItemsNamedByLots(lots: readonly SandboxLot[], known: readonly SandboxItem[]): SandboxItem[] {
  const skus = new Set(known.map(({ shortID }) => shortID));
  const named: SandboxItem[] = [];
  for (const { shortID, partNo, description } of lots) {
    if (shortID === undefined || skus.has(shortID)) continue;
    skus.add(shortID);
    named.push({ shortID, ...(partNo !== undefined && { partNo }), ...(description !== undefined && { description }) });
  }
  return named;
}

/**
 * The caller's lots, completed with defaults. Throws a `ConfigurationError` for an unknown item or warehouse, and for a duplicate
 * record number.
 */
function completeUserLots(
  given: readonly SandboxLot[],
  items: readonly Item[],
  { warehouses }: SandboxSettings,
  now: number,
): StoredLot[] {
  assertUniqueField("lots", "recNo", given);
  const itemOf = createItemFinder(items);
  const warehouseOf = createWarehouseFinder(warehouses);
  const recNos = new Set(given.map(({ recNo }) => recNo));
  let next = FIRST_REC_NO;

  return given.map((lot, index) => {
    const item = itemOf(lot, index);
    const warehouse = warehouseOf(lot, index);
    while (lot.recNo === undefined && recNos.has(next)) next += 1;
    return toStoredLot({
      ...DEFAULT_LOT_FIELDS,
      description: item.description,
      received: formatIsoTime(now),
      ...withoutUndefined(lot),
      recNo: lot.recNo ?? next++,
      partNo: item.partNo,
      shortID: item.shortID,
      warehouse: warehouse.name,
      wID: warehouse.wID,
    });
  });
}

/** Finds an item by its SKU, or else by its part number. If both are given, they must match. */
function createItemFinder(items: readonly Item[]) {
  const bySku = new Map(items.map((item) => [item.shortID, item]));
  const byPartNo = new Map(items.map((item) => [item.partNo, item]));
  return ({ shortID, partNo }: SandboxLot, index: number): Item => {
    const item = shortID === undefined ? byPartNo.get(partNo ?? 0) : bySku.get(shortID);
    if (item && (partNo ?? item.partNo) === item.partNo) return item;
    if (item) throw lotOptionError(index, "partNo", `must be ${item.partNo}, the part number of ${item.shortID}`);
    if (partNo === undefined) throw lotOptionError(index, "shortID", "is required");
    throw lotOptionError(index, "partNo", `must be that of an item, not ${partNo}`);
  };
}

/** Finds a warehouse by its ID, or else by its name, or else the first warehouse. If both are given, they must match. */
function createWarehouseFinder(known: readonly [SandboxWarehouse, ...SandboxWarehouse[]]) {
  const byId = new Map(known.map((warehouse) => [warehouse.wID, warehouse]));
  return ({ wID, warehouse: name }: SandboxLot, index: number): SandboxWarehouse => {
    if (wID === undefined && name === undefined) return known[0];
    const found = wID === undefined ? known.find((each) => each.name === name) : byId.get(wID);
    if (!found && wID !== undefined) throw lotOptionError(index, "wID", `must be that of a warehouse, not ${wID}`);
    if (found && (name ?? found.name) === found.name) return found;
    throw lotOptionError(
      index,
      "warehouse",
      `must be ${found ? `"${found.name}"` : "the name of a warehouse"}, not "${name}"`,
    );
  };
}

const lotOptionError = (index: number, field: string, message: string) =>
  sandboxOptionError(["lots", index, field], message);

/** The caller's alternate part numbers. Throws a `ConfigurationError` for one that points to an unknown item. */
function checkUserAliases(given: Readonly<Record<string, string>>, items: readonly Item[]): Map<string, string> {
  const skus = new Set(items.map(({ shortID }) => shortID));
  const aliases = new Map(Object.entries(given));
  for (const [alias, shortID] of aliases) {
    if (!skus.has(shortID))
      throw sandboxOptionError(["aliases"], `"${alias}" points to ${shortID}, which is not an item`);
  }
  return aliases;
}

/** The caller's quantities. Throws a `ConfigurationError` for an unknown SKU or warehouse. */
function checkUserOrderQuantities(
  given: readonly SandboxStockLevel[],
  catalog: ItemCatalog,
  warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
): SetOrderQuantities {
  const known = given.map(({ shortID, wid = warehouses[0].wID, ...quantities }) => {
    const partNo = catalog.findBySku(shortID)?.item.partNo;
    if (partNo === undefined) throw sandboxOptionError(["stockLevels"], `there is no item ${shortID}`);
    if (!warehouses.some(({ wID }) => wID === wid))
      throw sandboxOptionError(["stockLevels"], `there is no warehouse ${wid}`);
    return { partNo, wid, ...quantities };
  });
  return (totals) => {
    for (const { partNo, wid, onOrder = 0, committed = 0, packed = 0, aSN = 0 } of known) {
      Object.assign(totals.quantities(partNo, wid), { onOrder, committed, packed, aSN });
    }
  };
}
