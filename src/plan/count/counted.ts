import * as z from "zod";
import { comparableSku, describeSkuSpaces, skuSchema } from "../../service/key.js";
import type { Issue } from "../../shared/errors/index.js";
import { lazy, readInput, string, withCheck } from "../../shared/schema.js";
import { readRows } from "../rows.js";
import { checkOf } from "./check.js";
import { type BookLot, type CountGroup, describeGroup, isInGroup } from "./group.js";
import { MistakableGroups } from "./mistakable.js";

/** A line of a count. A field that is `null` or `undefined` is missing. */
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
  /**
   * The letters that the sheet of `stocklot count snapshot` shows for item, bin and serial. If they do not fit the row,
   * a spreadsheet has rewritten the row, and it is wrong. They are required if a spreadsheet may have turned another
   * group of the snapshot into this group, such as item `007` into `7`, and no row of the same sheet counts that group.
   * @default not checked
   */
  check?: string | null | undefined;
}

/** A checked row. */
export interface CountedGroup extends CountGroup {
  counted: number;
  /** The index of its sheet, from 0. */
  sheet: number;
}

const rowSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    itemID: withCheck(skuSchema(), describeSkuSpaces),
    spot: string().exactOptional(),
    serial: string().exactOptional(),
    counted: z.number().min(0),
    check: string().exactOptional(),
  }),
);

/** The facts about the sheets and the snapshot with which rows are checked. */
interface CountedSource {
  signal: AbortSignal | null | undefined;
  /** The lots of the snapshot. */
  known: readonly BookLot[];
  /** The sheet of a row, by the index of the row. */
  sheetOf: (index: number) => number;
}

/** Reads and checks all rows. Throws one `InputValidationError` that lists every wrong row. */
export async function readCountedRows(
  counted: Iterable<unknown> | AsyncIterable<unknown>,
  { signal, known, sheetOf }: CountedSource,
) {
  const rows: CountedGroup[] = [];
  /** Rows of groups that the snapshot does not have, each with a group of the snapshot that the row may have been. */
  const mistakable = new Map<CountedGroup, CountGroup>();
  const unchecked: { row: CountedGroup; index: number }[] = [];
  const byItem = new Map<string, { row: CountedGroup; index: number }[]>();
  const printed = known.map(({ shortID, spot, serial }) => ({ itemID: shortID, spot, serial }));
  const groupOfCheck = new Map(printed.map((group) => [checkOf(group), group]));
  const read = (given: unknown, index: number, issues: Issue[]) => {
    const { check = "", ...group } = readInput("planCount", rowSchema, given, [index]);
    const row = { ...group, sheet: sheetOf(index) };
    const rewritten = describeRewritten(row, check, index, groupOfCheck);
    const sku = comparableSku(row.itemID);
    const earlier = byItem.get(sku) ?? [];
    const other = earlier.find((one) => one.row.sheet === row.sheet && overlap(one.row, row));
    byItem.set(sku, earlier);
    earlier.push({ row, index });
    if (check.trim() === "") unchecked.push({ row, index });
    if (rewritten) issues.push(rewritten);
    else if (other) issues.push({ path: [index], message: `counts the same stock as row ${other.index}` });
    else rows.push(row);
  };
  const finish = (issues: Issue[]) => {
    if (unchecked.length === 0) return;
    const groups = new MistakableGroups(known);
    for (const { row, index } of unchecked) {
      const isCounted = (lot: BookLot) =>
        byItem.get(comparableSku(lot.shortID))?.some((one) => one.row.sheet === row.sheet && isInGroup(one.row, lot));
      const other = groups.originalOf(row, isCounted);
      if (!other) continue;
      if (!groups.has(row)) mistakable.set(row, other);
      else issues.push({ path: [index, "check"], message: describeMissingCheck(other) });
    }
  };
  await readRows({ method: "planCount", option: "counted", signal }, counted, read, finish);
  return { rows, mistakable };
}

const describeMissingCheck = (other: CountGroup) =>
  `is missing, and a spreadsheet may have changed the row: the row may have been ${describeGroup(other)}, which is not counted. Write the letters of the printed sheet, or also count that group in the same sheet`;

const FIELDS = ["itemID", "spot", "serial"] as const;

/** Describes a row whose letters do not fit, and the printed row; `undefined` if they fit, or if there are none. */
function describeRewritten(
  row: CountGroup,
  check: string,
  index: number,
  groupOfCheck: ReadonlyMap<string, Required<CountGroup>>,
): Issue | undefined {
  const letters = check.trim().toLowerCase();
  if (letters === "" || letters === checkOf(row)) return undefined;
  const printed = groupOfCheck.get(letters);
  if (!printed) {
    const message = `"${check}" are not the letters of ${describeGroup(row)}. Write the row as it is in the printed sheet`;
    return { path: [index, "check"], message };
  }
  const changed = FIELDS.filter((field) => (row[field] ?? "") !== printed[field]);
  const was = changed.map((field) => `${field} was ${JSON.stringify(printed[field])}`).join(", ");
  const is = changed.map((field) => JSON.stringify(row[field] ?? "")).join(", ");
  const message = `is ${is}, but in the printed sheet ${was}: a spreadsheet has changed the row. Write the row as it was printed`;
  return { path: [index, changed[0] ?? "check"], message };
}

/** Whether two rows may count the same stock of an item. A row without a bin or a serial counts all bins or serials. */
export const overlap = (one: CountGroup, other: CountGroup): boolean =>
  overlapIn(one.spot, other.spot) && overlapIn(one.serial, other.serial);

const overlapIn = (one: string | undefined, other: string | undefined) =>
  one === undefined || other === undefined || one === other;
