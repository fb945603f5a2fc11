import { ConfigurationError } from "../../errors/index.js";
import { quoteName } from "../../storage/quote-name.js";
import { type ColumnType, keyOfFields, type MirrorKey, type Table } from "../tables.js";
import { EXTRA_COLUMN } from "./row-codec.js";

/** The type names of a database, by type of column. */
export type SqlTypeNames = Readonly<Record<ColumnType | typeof EXTRA_COLUMN, string>>;

/** Follows the type of a key column. */
export const PRIMARY_KEY_SQL = " PRIMARY KEY";

/** The columns that a table should have, by name, with their types. `extra` is the last. */
export function columnTypes(table: Table, types: SqlTypeNames): Map<string, string> {
  const columns = new Map<string, string>();
  for (const [name, type] of Object.entries(table.columns)) {
    columns.set(name, table.key.includes(name) ? types[type] + PRIMARY_KEY_SQL : types[type]);
  }
  return columns.set(EXTRA_COLUMN, types.extra);
}

/** The definition of a column, without its name. */
export const columnDefinition = (type: string, name: string) =>
  name === EXTRA_COLUMN ? `${type} NOT NULL DEFAULT '{}'` : type;

/** What stands between the brackets of `CREATE TABLE`. */
export function tableDefinition(table: Table, types: SqlTypeNames): string[] {
  const columns = [...columnTypes(table, types)];
  const definitionOf = ([name, type]: [string, string]) => `${quoteName(name)} ${columnDefinition(type, name)}`;
  if (table.key.length === 1) return columns.map(definitionOf);
  const key = table.key.map(quoteName);
  return [
    ...columns.map(([name, type]) => definitionOf([name, type.replace(PRIMARY_KEY_SQL, "")])),
    `PRIMARY KEY (${key.join(", ")})`,
  ];
}

/**
 * Verifies that a table that exists was created by a mirror. Columns that others have added stay as they are.
 *
 * @param found The columns that the table has, with their types.
 * @throws ConfigurationError when a column is missing, or has another type.
 */
export function checkColumns(table: Table, types: SqlTypeNames, found: ReadonlyMap<string, string>): void {
  for (const [name, type] of [[EXTRA_COLUMN, types.extra] as const, ...columnTypes(table, types)]) {
    const foundType = found.get(name);
    if (foundType?.toLowerCase() === type.toLowerCase()) continue;
    const flaw = foundType === undefined ? `has no column "${name}"` : `has "${name}" as ${foundType}, not ${type}`;
    throw new ConfigurationError(`mirror: the table "${table.name}" was not created by a mirror: it ${flaw}`);
  }
}

/** Keys that one query returns. */
export const KEY_BATCH_SIZE = 10_000;

/** Less than any key. */
const BEFORE_FIRST_KEY = Number.MIN_SAFE_INTEGER - 1;

/** All keys of a table in ascending order. `keysAfter` returns the fields of the keys that follow a key. */
export async function* keysInBatches(
  { key }: Table,
  keysAfter: (last: readonly number[]) => readonly number[][] | Promise<readonly number[][]>,
): AsyncGenerator<readonly MirrorKey[]> {
  let last: readonly number[] | undefined = key.map(() => BEFORE_FIRST_KEY);
  while (last !== undefined) {
    const keys: readonly number[][] = await keysAfter(last);
    if (keys.length > 0) yield keys.map(keyOfFields);
    last = keys.at(-1);
  }
}
