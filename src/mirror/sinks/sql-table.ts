import { ConfigurationError } from "../../errors/index.js";
import type { ColumnType, Table } from "../tables.js";
import { EXTRA } from "./row-codec.js";

/** The type names of a database, by type of column. */
export type TypeNames = Readonly<Record<ColumnType | typeof EXTRA, string>>;

/** Follows the type of the key column. */
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
 * The columns that must be added to a table that an earlier version created. Columns that others have added stay as they
 * are.
 *
 * @param found The columns that the table has, with their types.
 * @throws ConfigurationError when the table does not belong to a mirror: its key or `extra` is missing, or a type differs.
 */
export function missingColumns(table: Table, types: TypeNames, found: ReadonlyMap<string, string>): string[] {
  const missing: string[] = [];
  for (const [name, type] of columnTypes(table, types)) {
    const foundType = found.get(name);
    if (foundType === undefined && name !== EXTRA && name !== table.key) missing.push(name);
    else if (foundType?.toLowerCase() !== type.toLowerCase()) {
      const flaw = foundType === undefined ? `has no column "${name}"` : `has "${name}" as ${foundType}, not ${type}`;
      throw new ConfigurationError(`mirror: the table "${table.name}" was not created by a mirror: it ${flaw}`);
    }
  }
  return missing;
}

/** A quoted identifier: SQL does not fold its letter case. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Keys that one query returns. */
export const KEY_BATCH_SIZE = 10_000;

/** Less than any key. */
const BEFORE_FIRST_KEY = Number.MIN_SAFE_INTEGER - 1;

/** All keys in ascending order. `keysAfter` returns the next batch after a key. */
export async function* keysInBatches(
  keysAfter: (last: number) => readonly number[] | Promise<readonly number[]>,
): AsyncGenerator<readonly number[]> {
  let last: number | undefined = BEFORE_FIRST_KEY;
  while (last !== undefined) {
    const keys: readonly number[] = await keysAfter(last);
    if (keys.length > 0) yield keys;
    last = keys.at(-1);
  }
}
