import * as z from "zod";
import { comparableSku, describeSkuSpaces, skuSchema } from "../../service/key.js";
import { readInput } from "../../shared/check.js";
import { lazy, string, withCheck } from "../../shared/field.js";
import { readRows } from "../rows.js";
import type { CountGroup } from "./group.js";

/** What people counted. `null` and `undefined` are a missing field. */
export interface CountedRow {
  /** SKU of the item. */
  itemID: string;
  /**
   * Bin; an empty string is the bin without a name.
   * @default all bins of the warehouse together
   */
  spot?: string | null | undefined;
  /**
   * Serial number; an empty string means lots without one.
   * @default all serials together
   */
  serial?: string | null | undefined;
  /** Quantity, at least 0, in the item's unit of measure. */
  counted: number;
}

/** A row, checked. */
export interface CountedGroup extends CountGroup {
  counted: number;
}

const rowSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    itemID: withCheck(skuSchema(), describeSkuSpaces),
    spot: string().exactOptional(),
    serial: string().exactOptional(),
    counted: z.number().min(0),
  }),
);

/** Reads and checks all rows. Throws one `InputValidationError` that lists every wrong one. */
export async function readCountedRows(
  counted: Iterable<unknown> | AsyncIterable<unknown>,
  signal: AbortSignal | null | undefined,
): Promise<CountedGroup[]> {
  const groups: CountedGroup[] = [];
  const byItem = new Map<string, { row: CountedGroup; index: number }[]>();
  await readRows({ method: "planCount", option: "counted", signal }, counted, (given, index, issues) => {
    const row = readInput("planCount", rowSchema, given, [index]);
    const sku = comparableSku(row.itemID);
    const earlier = byItem.get(sku) ?? [];
    const other = earlier.find((one) => overlap(one.row.spot, row.spot) && overlap(one.row.serial, row.serial));
    byItem.set(sku, earlier);
    earlier.push({ row, index });
    if (other) issues.push({ path: [index], message: `counts the same stock as row ${other.index}` });
    else groups.push(row);
  });
  return groups;
}

/** Whether two rows may count the same: a row without a bin or a serial counts all of them. */
const overlap = (one: string | undefined, other: string | undefined) =>
  one === undefined || other === undefined || one === other;
