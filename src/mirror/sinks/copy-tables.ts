import { ConfigurationError } from "../../errors/index.js";
import { quoteName } from "../../storage/tables.js";
import { type ColumnType, keyOfFields, type MirrorKey, type MirrorResource, type Table, tableOf } from "../tables.js";
import { EXTRA_COLUMN } from "./row-codec.js";

// What a copy consists of, in either database. `nameOf` returns the name of a table or view in SQL.

/** The type names of a database, by type of column. */
export type SqlTypeNames = Readonly<Record<ColumnType | typeof EXTRA_COLUMN, string>>;

/** Follows the type of a key column. */
export const PRIMARY_KEY_SQL = " PRIMARY KEY";

/** The columns that a table should have, by name, with their types. `extra` is the last. */
export function columnTypes({ key, columns }: Table, types: SqlTypeNames): Map<string, string> {
  const fields = Object.entries(columns).map(([name, type]): [string, string] => [
    name,
    key.includes(name) ? types[type] + PRIMARY_KEY_SQL : types[type],
  ]);
  return new Map([...fields, [EXTRA_COLUMN, types.extra]]);
}

/** The command that creates the table of a resource. */
export function createTableSql(table: Table, types: SqlTypeNames, nameOf: (name: string) => string): string {
  const fields = Object.entries(table.columns).map(([name, type]) => `${quoteName(name)} ${types[type]}`);
  return `CREATE TABLE IF NOT EXISTS ${nameOf(table.name)} (
    ${fields},
    ${EXTRA_COLUMN} ${types.extra} NOT NULL DEFAULT '{}',
    PRIMARY KEY (${table.key.map(quoteName)}))`;
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

/** Indexes for common queries. The primary keys have their own. */
const INDEXED_COLUMNS: Readonly<Record<MirrorResource, readonly (readonly string[])[]>> = {
  items: [["shortID"]],
  lots: [["partNo"], ["shortID"], ["wID", "spot"], ["serial"]],
  stockLevels: [],
  warehouseStockLevels: [["partNo"]],
};

/**
 * The commands that create the indexes of a resource. They are run when its first full pass has ended: with indexes, a new
 * row takes three times as long.
 *
 * @param isFound Whether an index of this name exists already.
 */
export function createIndexesSql(
  resource: MirrorResource,
  nameOf: (name: string) => string,
  isFound: (name: string) => boolean = () => false,
): string[] {
  const table = tableOf(resource).name;
  return INDEXED_COLUMNS[resource].flatMap((columns) => {
    const name = ["stocklot", table, ...columns].join("_");
    if (isFound(name)) return [];
    return `CREATE INDEX IF NOT EXISTS ${quoteName(name)} ON ${nameOf(table)} (${columns.map(quoteName)})`;
  });
}

/** What the view `stock` selects: stock levels with SKU and description of their item. */
export function selectStockSql(nameOf: (name: string) => string): string {
  const [, ...quantities] = Object.keys(tableOf("stockLevels").columns);
  return `
SELECT levels."partNo", items."shortID", items."description", ${quantities.map((name) => `levels.${quoteName(name)}`)}
FROM ${nameOf("stock_levels")} AS levels LEFT JOIN ${nameOf("items")} AS items ON items."partNo" = levels."partNo"`;
}

/** Keys that one query returns. */
export const KEY_BATCH_SIZE = 10_000;

/** Less than any key. */
const BEFORE_FIRST_KEY = Number.MIN_SAFE_INTEGER - 1;

type Rows = readonly Readonly<Record<string, unknown>>[];

/** All keys of a table in ascending order. `keysAfter` selects the key columns of the rows that follow a key. */
export async function* keysInBatches(
  { key }: Table,
  keysAfter: (last: number[]) => Promise<Rows>,
): AsyncGenerator<readonly MirrorKey[]> {
  let last: number[] | undefined = key.map(() => BEFORE_FIRST_KEY);
  while (last !== undefined) {
    const rows: Rows = await keysAfter(last);
    const keys: number[][] = rows.map((row) => key.map((field) => Number(row[field])));
    if (keys.length > 0) yield keys.map(keyOfFields);
    last = keys.at(-1);
  }
}

/** Thrown when a sink is used before `open()` or after `close()`. */
export function throwSinkNotOpen(sink: string): never {
  throw new ConfigurationError(`${sink}: the sink is not open. Call open() first.`);
}

/** Thrown when the saved state is not the one that this mirror saved last. */
export const otherMirrorError = (place: string) =>
  new ConfigurationError(
    `mirror: another mirror writes to the copy in ${place}. Nothing was written. Only one mirror may write to a copy.`,
  );

/** Thrown when there is a saved state, but not the table that it describes. */
export const tableMissingError = ({ name }: Table) =>
  new ConfigurationError(
    `mirror: the table "${name}" is missing. Drop "stocklot_state" too; the mirror then starts a new copy.`,
  );
