import { comparableSku } from "../../service/key.js";
import { groupBy } from "../../shared/group-by.js";
import { type CountedGroup, overlap } from "./counted.js";
import { isSameQuantity } from "./group.js";

export interface Sheets {
  /** The names of the sheets in messages. */
  names: readonly string[];
  /** Whether each sheet is a full count, so that all must agree. Otherwise each sheet counts a part. */
  isDouble: boolean;
  /** The sheet of a row, by the index of the row. */
  sheetOf: (index: number) => number;
}

/**
 * Compares the sheets of one count. Returns the groups that were counted, each once, and why some rows cannot be booked.
 * If each sheet is a part of the count, no group may be in two sheets: it would be
 * unclear whether the two quantities must be added. In a double count, every sheet must have every group, with the same
 * quantity.
 */
export function compareSheets(rows: readonly CountedGroup[], { names, isDouble }: Sheets) {
  const contradictions = new Map<CountedGroup, string>();
  if (names.length < 2) return { rows, contradictions };
  const kept: CountedGroup[] = [];
  const byItem = groupBy(rows, ({ itemID }) => comparableSku(itemID));
  for (const ofItem of byItem.values()) {
    for (const row of ofItem) {
      const others = ofItem.filter((other) => other.sheet !== row.sheet && overlap(other, row));
      const reason = isDouble ? disagreement(row, others, names) : repetition(row, others, names);
      if (reason !== undefined) contradictions.set(row, reason);
      // Sheets that agree count the group once.
      if (reason !== undefined || others.every(({ sheet }) => row.sheet < sheet)) kept.push(row);
    }
  }
  return { rows: kept, contradictions };
}

function repetition(row: CountedGroup, others: readonly CountedGroup[], names: readonly string[]): string | undefined {
  const [other] = others;
  if (!other) return undefined;
  return `the group was counted twice: ${row.counted} in ${names[row.sheet]}, ${other.counted} in ${names[other.sheet]}. Count it again, or add --double if each sheet is a full count`;
}

function disagreement(
  row: CountedGroup,
  others: readonly CountedGroup[],
  names: readonly string[],
): string | undefined {
  const isSameGroup = (other: CountedGroup) => other.spot === row.spot && other.serial === row.serial;
  for (const [sheet, name] of names.entries()) {
    if (sheet === row.sheet) continue;
    const other = others.find((one) => one.sheet === sheet);
    const counts = `${row.counted} in ${names[row.sheet]}`;
    if (!other) return `the counts do not agree: ${counts}, not counted in ${name}. Count it again`;
    if (!isSameGroup(other))
      return `the counts do not agree: ${counts}, other bins or serials in ${name}. Count it again`;
    if (!isSameQuantity(other.counted, row.counted))
      return `the counts do not agree: ${counts}, ${other.counted} in ${name}. Count it again`;
  }
  return undefined;
}
