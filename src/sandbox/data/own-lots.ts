import type { Item } from "../../schemas/item.js";
import type { Lot } from "../../schemas/lot.js";
import { isoTime } from "../clock.js";
import type { SandboxLot, SandboxWarehouse } from "../options.js";
import { NO_LOTS } from "./lot-source.js";

/** The caller's lots with every missing field filled in. Throws a `TypeError` for an unknown item or warehouse. */
export function completeLots(
  given: readonly SandboxLot[],
  items: readonly Item[],
  warehouses: readonly [SandboxWarehouse, ...SandboxWarehouse[]],
  now: number,
): Lot[] {
  const bySku = new Map(items.map((item) => [item.shortID, item]));
  const byPartNo = new Map(items.map((item) => [item.partNo, item]));
  const recNos = new Set(given.map(({ recNo }) => recNo));
  let next = NO_LOTS.firstRecNo;

  return given.map((lot, index) => {
    const item = lot.shortID === undefined ? byPartNo.get(lot.partNo ?? 0) : bySku.get(lot.shortID);
    if (!item) throw new TypeError(`Sandbox option "lots": no item fits lot ${index}.`);
    const warehouse = warehouseOf(lot, warehouses);
    if (!warehouse) throw new TypeError(`Sandbox option "lots": no warehouse fits lot ${index}.`);
    while (lot.recNo === undefined && recNos.has(next)) next += 1;
    return {
      ...EMPTY_LOT,
      description: item.description,
      warehouse: warehouse.name,
      received: isoTime(now),
      ...lot,
      recNo: lot.recNo ?? next++,
      partNo: item.partNo,
      shortID: item.shortID,
      wID: warehouse.wID,
    };
  });
}

/** By ID, or by name, or else the first one. */
function warehouseOf({ wID, warehouse }: SandboxLot, known: readonly [SandboxWarehouse, ...SandboxWarehouse[]]) {
  if (wID !== undefined) return known.find((each) => each.wID === wID);
  return warehouse === undefined ? known[0] : known.find(({ name }) => name === warehouse);
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
