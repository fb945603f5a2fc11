import { encodeJson } from "../../client/for-add-ons.js";
import type { ItemChanges } from "../../service/item-input.js";
import { comparableSku, describeSkuSpaces } from "../../service/key.js";
import { WRITES } from "../../service/operations.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { checkInput } from "../../shared/schema.js";
import { fieldOf, isObject } from "../../shared/unknown.js";
import { readRows } from "../rows.js";

type WithNull<Fields> = { [Name in keyof Fields]: Fields[Name] | null };

/** How an item should be. Fields that are left out, `null` or `undefined` stay as they are. */
export interface DesiredItem extends WithNull<ItemChanges> {
  /** SKU of the item. */
  shortID: string;
  /**
   * Part number of the item, as in an export. It is not written. A row with the part number of another item is wrong: a
   * spreadsheet has changed the SKU.
   * @default not checked
   */
  partNo?: number | string | null;
}

export interface DesiredRow {
  shortID: string;
  /** The index of the row in the source, from 0. */
  index: number;
  fields: Record<string, unknown>;
  /** The part number of the row as it is written; `undefined` if there is none. */
  partNo: unknown;
}

export interface DesiredItems {
  /** By comparable SKU. */
  rows: Map<string, DesiredRow>;
  /** The fields that occur in any row. */
  fields: Set<string>;
}

/** Fields that the service sets, whatever is sent. */
const SET_BY_SERVICE = new Set(["partNo", "created", "createdBy", "modified"]);

/** Reads and checks all rows. Throws one `InputValidationError` that lists every wrong row. */
export async function readDesiredItems(
  desired: Iterable<unknown> | AsyncIterable<unknown>,
  signal: AbortSignal | null | undefined,
): Promise<DesiredItems> {
  const rows = new Map<string, DesiredRow>();
  const fields = new Set<string>();
  /** The row of each SKU, wrong rows included. */
  const indexes = new Map<string, number>();
  await readRows({ method: "planItems", option: "desired", signal }, desired, (given, index, issues) => {
    const sku = fieldOf(given, "shortID");
    const key = typeof sku === "string" ? comparableSku(sku) : "";
    const same = indexes.get(key);
    if (same !== undefined) {
      issues.push({ path: [index, "shortID"], message: `"${sku}" is the same item as in row ${same}` });
    }
    if (key !== "") indexes.set(key, index);
    const row = checkRow(given, index);
    rows.set(key, row);
    for (const name of Object.keys(row.fields)) fields.add(name);
  });
  return { rows, fields };
}

/** Returns a checked copy of a row, as it would be sent. Throws an `InputValidationError` if the row is wrong. */
function checkRow(given: unknown, index: number): DesiredRow {
  const present = isObject(given)
    ? Object.fromEntries(Object.entries(given).filter(([name]) => !SET_BY_SERVICE.has(name)))
    : given;
  const checked = checkInput("planItems", WRITES.create.input, present, [index]);
  const { shortID, ...fields }: DesiredItem = JSON.parse(encodeJson("planItems", checked, [index]));
  const message = describeSkuSpaces(shortID);
  const partNo = fieldOf(given, "partNo") ?? "";
  if (message === undefined)
    return { shortID, index, fields: { ...fields }, partNo: partNo === "" ? undefined : partNo };
  throw new InputValidationError("planItems", [{ path: [index, "shortID"], message }]);
}
