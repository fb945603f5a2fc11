import type { Item } from "../../schemas/item.js";
import type { Lot } from "../../schemas/lot.js";
import type { SandboxItem, SandboxLot, SandboxWarehouse } from "../options/options.js";
import { NO_GENERATED_LOTS } from "../store/lot-store.js";
import { isoTime } from "../time.js";
import { assertUnique } from "../validation.js";
import { withoutUndefined } from "../without-undefined.js";
import { EMPTY_ITEM, EMPTY_LOT } from "./empty-records.js";
import { FIRST_PART_NO } from "./generated-items.js";

/** The caller's items, completed with defaults. Throws a `TypeError` when two share a SKU or part number. */
export function userItems(given: readonly SandboxItem[], now: number): Item[] {
  const partNos = new Set(given.map(({ partNo }) => partNo));
  let next = FIRST_PART_NO;
  const items = given.map((item): Item => {
    while (item.partNo === undefined && partNos.has(next)) next += 1;
    const created = item.created ?? isoTime(now);
    return {
      ...EMPTY_ITEM,
      ...withoutUndefined(item),
      partNo: item.partNo ?? next++,
      created,
      modified: item.modified ?? created,
    };
  });
  assertUnique("items", "shortID", items);
  assertUnique("items", "partNo", items);
  return items;
}

/** Items that only the caller's lots name. */
export function itemsOfLots(lots: readonly SandboxLot[], known: readonly SandboxItem[]): SandboxItem[] {
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
 * The caller's lots, completed with defaults. Throws a `TypeError` for an unknown item or warehouse, and for a duplicate
 * record number.
 */
export function userLots(
  given: readonly SandboxLot[],
  items: readonly Item[],
  warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
  now: number,
): Lot[] {
  assertUnique("lots", "recNo", given);
  const itemOf = itemFinder(items);
  const warehouseOf = warehouseFinder(warehouses);
  const recNos = new Set(given.map(({ recNo }) => recNo));
  let next = NO_GENERATED_LOTS.firstRecNo;

  return given.map((lot, index) => {
    const item = itemOf(lot, index);
    const warehouse = warehouseOf(lot, index);
    while (lot.recNo === undefined && recNos.has(next)) next += 1;
    return {
      ...EMPTY_LOT,
      description: item.description,
      received: isoTime(now),
      ...withoutUndefined(lot),
      recNo: lot.recNo ?? next++,
      partNo: item.partNo,
      shortID: item.shortID,
      warehouse: warehouse.name,
      wID: warehouse.wID,
    };
  });
}

/** By SKU, or else by part number. If both are given, they must match. */
function itemFinder(items: readonly Item[]) {
  const bySku = new Map(items.map((item) => [item.shortID, item]));
  const byPartNo = new Map(items.map((item) => [item.partNo, item]));
  return ({ shortID, partNo }: SandboxLot, index: number): Item => {
    const item = shortID === undefined ? byPartNo.get(partNo ?? 0) : bySku.get(shortID);
    if (item && (partNo ?? item.partNo) === item.partNo) return item;
    if (item) throw lotError(index, "partNo", `must be ${item.partNo}, the part number of ${item.shortID}`);
    if (partNo === undefined) throw lotError(index, "shortID", "is missing");
    throw lotError(index, "partNo", `must be that of an item, not ${partNo}`);
  };
}

/** By ID, or else by name, or else the first one. If both are given, they must match. */
function warehouseFinder(known: readonly [SandboxWarehouse, ...SandboxWarehouse[]]) {
  const byId = new Map(known.map((warehouse) => [warehouse.wID, warehouse]));
  return ({ wID, warehouse: name }: SandboxLot, index: number): SandboxWarehouse => {
    if (wID === undefined && name === undefined) return known[0];
    const found = wID === undefined ? known.find((each) => each.name === name) : byId.get(wID);
    if (!found && wID !== undefined) throw lotError(index, "wID", `must be that of a warehouse, not ${wID}`);
    if (found && (name ?? found.name) === found.name) return found;
    throw lotError(
      index,
      "warehouse",
      `must be ${found ? `"${found.name}"` : "the name of a warehouse"}, not "${name}"`,
    );
  };
}

function lotError(index: number, field: string, text: string): TypeError {
  return new TypeError(`Sandbox option "lots[${index}].${field}" ${text}.`);
}

/** The caller's alternate part numbers. Throws a `TypeError` for one that points to an unknown item. */
export function userAliases(given: Readonly<Record<string, string>>, items: readonly Item[]): Map<string, string> {
  const skus = new Set(items.map(({ shortID }) => shortID));
  const aliases = new Map(Object.entries(given));
  for (const [alias, shortID] of aliases) {
    if (!skus.has(shortID))
      throw new TypeError(`Sandbox option "aliases": "${alias}" points to no item, "${shortID}".`);
  }
  return aliases;
}
