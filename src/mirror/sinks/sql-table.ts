import { ConfigurationError } from "../../errors/index.js";
import type { ColumnType, Table } from "../tables.js";
import { EXTRA } from "./row-codec.js";

/** The types that a database gives to columns. */
export type TypeNames = Readonly<Record<ColumnType | typeof EXTRA, string>>;

/** What follows the type of the column by which records are told apart. */
export const PRIMARY_KEY = " PRIMARY KEY";

/** The columns that a table should have, by name, with their types. */
export function columnTypes(table: Table, types: TypeNames): Map<string, string> {
  const columns = new Map([[EXTRA, types.extra]]);
  for (const [name, type] of Object.entries(table.columns)) {
    columns.set(name, name === table.key ? types[type] + PRIMARY_KEY : types[type]);
  }
  return columns;
}

/**
 * The columns that are to be added to a table: those that it lacks because an earlier version made it. Columns that
 * somebody else added stay as they are.
 *
 * @param found The columns that the table has, with their types.
 * @throws ConfigurationError when the table is not the mirror's: its key or `extra` is missing, or a type is another.
 */
export function missingColumns(table: Table, types: TypeNames, found: ReadonlyMap<string, string>): string[] {
  const missing: string[] = [];
  for (const [name, type] of columnTypes(table, types)) {
    const foundType = found.get(name);
    if (foundType === undefined && name !== EXTRA && name !== table.key) missing.push(name);
    else if (foundType?.toLowerCase() !== type.toLowerCase()) {
      const flaw = foundType === undefined ? `has no column "${name}"` : `has "${name}" as ${foundType}, not ${type}`;
      throw new ConfigurationError(`mirror: the table "${table.name}" was not made for a mirror: it ${flaw}`);
    }
  }
  return missing;
}

/** A name as SQL spells it where letter case counts. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** How many keys are read at once. */
export const KEY_BATCH_SIZE = 10_000;

/** Less than any key. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER - 1;

/** All keys, read in ascending order: those that follow the last one of the batch before. */
export async function* keysInBatches(
  keysAfter: (last: number) => readonly number[] | Promise<readonly number[]>,
): AsyncGenerator<readonly number[]> {
  let last: number | undefined = BEFORE_ALL;
  while (last !== undefined) {
    const keys: readonly number[] = await keysAfter(last);
    if (keys.length > 0) yield keys;
    last = keys.at(-1);
  }
}
