import type { Item } from "../../schemas/item.js";
import type { Lot } from "../../schemas/lot.js";
import { assertUnique } from "../checks/demand-unique.js";
import { isoTime } from "../clock.js";
import { withoutUndefined } from "../defined.js";
import type { SandboxLot, SandboxWarehouse } from "../options.js";
import { NO_GENERATED_LOTS } from "./lot-source.js";

/**
 * The caller's lots with every missing field filled in. Throws a `TypeError` for an item or a warehouse that does not
 * exist, and for a record number that two lots have.
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

/** By SKU, or else by part number; where both are given they have to agree. */
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

/** By ID, or else by name, or else the first one; where both are given they have to agree. */
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

/** What a lot is when nothing was said about it, with the fields in the document's order. */
export const EMPTY_LOT: Lot = {
  recNo: 0,
  partNo: 0,
  shortID: "",
  description: "",
  associate: "",
  warehouse: "",
  wID: 0,
  spot: "",
  units: 1,
  received: "",
  shipped: null,
  serial: "",
  serial2: null,
  rFIDTag: null,
  remark: "",
  hold: false,
  jobID: 0,
  jobName: null,
  active: true,
};
