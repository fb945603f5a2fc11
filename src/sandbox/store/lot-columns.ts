import type { Lot } from "../../schemas/lot.js";
import type { SortKey } from "./listing.js";

const NAMES = [
  "recNo",
  "partNo",
  "shortID",
  "description",
  "associate",
  "warehouse",
  "wID",
  "spot",
  "units",
  "received",
  "shipped",
  "serial",
  "serial2",
  "rFIDTag",
  "remark",
  "hold",
  "jobID",
  "jobName",
  "active",
] as const satisfies readonly (keyof Lot)[];

const BY_NAME: ReadonlyMap<string, keyof Lot> = new Map(NAMES.map((name) => [name, name]));

/** The columns that lots can be sorted by, under their lower-case name. */
export const lotColumns: ReadonlyMap<string, string> = new Map(NAMES.map((name) => [name.toLowerCase(), name]));

export function lotKey(lot: Lot, column: string): SortKey {
  const name = BY_NAME.get(column);
  return name && lot[name];
}
