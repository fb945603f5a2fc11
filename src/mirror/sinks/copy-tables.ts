import { ConfigurationError } from "../../shared/errors/index.js";
import { quoteName } from "../../storage/tables.js";
import type { ChangesQuery, MirrorChange } from "../copy/history.js";
import { type ColumnType, keyOf, type MirrorKey, type MirrorResource, type Table, tableOf } from "../tables.js";
import { decodeExtraFields, EXTRA_COLUMN, encodeExtraFields, RowCodec } from "./row-codec.js";

// What a copy consists of, in either database. `nameOf` returns the name of a table or view in SQL.

/** The type names of a database, by type of column. */
export type SqlTypeNames = Readonly<Record<ColumnType | typeof EXTRA_COLUMN, string>>;

/** How the SQL of a database differs. */
export interface SqlDialect {
  /** The name of a table or view. */
  nameOf(name: string): string;
  /** A SKU without surrounding spaces, in lower case. Only letters of ASCII: SQLite knows no others. */
  skuOf(column: string): string;
  /** The parameter with this number; the first is 1. */
  parameter(number: number): string;
}

export type SqlValue = string | number;

/** A connection that reads rows. */
export interface SqlSource {
  dialect: SqlDialect;
  query(sql: string, values: SqlValue[]): Promise<Rows>;
}

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

/** The table of a resource in commands. `updates` sets the columns of a row that exists already. */
export function sqlPartsOf(table: Table, nameOf: (name: string) => string) {
  const codec = new RowCodec(table);
  const columns = codec.columns.map(quoteName);
  const key = table.key.map(quoteName);
  const updates = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  return { codec, name: nameOf(table.name), columns, key, updates };
}

/** Stands for the SKU as it is compared: without surrounding spaces and case. */
const SKU = "sku";

/**
 * Indexes for common queries, and for those of `openCopy`. The primary keys have their own. Many lots may have the same
 * warehouse, and many items the same category: these are read in the order of their keys.
 */
const INDEXED_COLUMNS: Readonly<Record<MirrorResource, readonly (readonly string[])[]>> = {
  items: [["shortID"], [SKU], ["category", "partNo"]],
  lots: [["partNo"], ["shortID"], [SKU], ["wID", "recNo"], ["wID", "spot"], ["spot"], ["serial"], ["rFIDTag"]],
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
  { nameOf, skuOf }: SqlDialect,
  isFound: (name: string) => boolean = () => false,
): string[] {
  const table = tableOf(resource).name;
  const expressionOf = (column: string) => (column === SKU ? skuOf(quoteName("shortID")) : quoteName(column));
  return INDEXED_COLUMNS[resource].flatMap((columns) => {
    const name = ["stocklot", table, ...columns].join("_");
    if (isFound(name)) return [];
    return `CREATE INDEX IF NOT EXISTS ${quoteName(name)} ON ${nameOf(table)} (${columns.map(expressionOf)})`;
  });
}

/** What the view `stock` selects: stock levels with SKU and description of their item. */
export function selectStockSql(nameOf: (name: string) => string): string {
  const [, ...quantities] = Object.keys(tableOf("stockLevels").columns);
  return `
SELECT levels."partNo", items."shortID", items."description", ${quantities.map((name) => `levels.${quoteName(name)}`)}
FROM ${nameOf("stock_levels")} AS levels LEFT JOIN ${nameOf("items")} AS items ON items."partNo" = levels."partNo"`;
}

/** Records that one query of a reader returns. */
export const READ_BATCH_SIZE = 1_000;

/** Keys that one query returns. */
export const KEY_BATCH_SIZE = 10_000;

/** Less than any key. */
const BEFORE_FIRST_KEY = Number.MIN_SAFE_INTEGER - 1;

export type Rows = readonly Readonly<Record<string, unknown>>[];

/** Rows of a table in ascending order of their keys. `rowsAfter` selects the next `size` that follow a key. */
export async function* rowsInBatches(
  { key }: Table,
  size: number,
  rowsAfter: (last: number[]) => Promise<Rows>,
): AsyncGenerator<Rows> {
  let last: number[] = key.map(() => BEFORE_FIRST_KEY);
  for (;;) {
    const rows = await rowsAfter(last);
    if (rows.length > 0) yield rows;
    const end = rows.at(size - 1);
    if (end === undefined) return;
    last = key.map((field) => Number(end[field]));
  }
}

/** All keys of a table in ascending order. `keysAfter` selects the key columns of the rows that follow a key. */
export async function* keysInBatches(
  table: Table,
  keysAfter: (last: number[]) => Promise<Rows>,
): AsyncGenerator<readonly MirrorKey[]> {
  for await (const rows of rowsInBatches(table, KEY_BATCH_SIZE, keysAfter)) {
    yield rows.map((row) => keyOf(table, row));
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

// The table of the history of a copy, see copy/history.ts. It is created when the history is switched on. A table of this
// name that others have created stays as it is, and recording fails.

export const CHANGES_TABLE = "changes";

/** Named as the fields of `MirrorChange`. */
export const CHANGES_COLUMNS = ["seq", "at", "resource", "key", "type", "before", "after"] as const;

/** The commands that create the table, with an index for the changes of one record. */
export const createChangesSql = ({ integer, text, extra }: SqlTypeNames, { nameOf }: SqlDialect): string => `
CREATE TABLE ${nameOf(CHANGES_TABLE)} ("seq" ${integer} PRIMARY KEY, "at" ${text} NOT NULL,
  "resource" ${text} NOT NULL, "key" ${text} NOT NULL, "type" ${text} NOT NULL, "before" ${extra}, "after" ${extra});
CREATE INDEX "stocklot_changes_key" ON ${nameOf(CHANGES_TABLE)} ("key", "resource")`;

/** Removes the rows up to the first that is not older than a time: those that stay are consecutive, whatever clocks did. */
export function expireChangesSql({ nameOf }: SqlDialect, time: string): string {
  const changes = nameOf(CHANGES_TABLE);
  const first = `SELECT "seq" FROM ${changes} WHERE "at" >= ${time} ORDER BY "seq" LIMIT 1`;
  return `DELETE FROM ${changes} WHERE "seq" < coalesce((${first}), ${Number.MAX_SAFE_INTEGER})`;
}

/** The values of `CHANGES_COLUMNS`. */
export const rowOfChange = ({ seq, at, resource, key, type, before, after }: MirrorChange) =>
  [
    seq,
    at,
    resource,
    String(key),
    type,
    before && encodeExtraFields(before),
    after && encodeExtraFields(after),
  ] as const;

/** The rows that a query asks for, in ascending order. */
export async function* changesInBatches(
  { after, resource, key }: ChangesQuery,
  { query, dialect: { nameOf, parameter } }: SqlSource,
): AsyncGenerator<readonly MirrorChange[]> {
  const where = { ...(resource && { resource }), ...(key !== undefined && { key: String(key) }) };
  const conditions = [
    `"seq" > ${parameter(1)}`,
    ...Object.keys(where).map((name, index) => `"${name}" = ${parameter(index + 2)}`),
  ];
  const sql = `
SELECT ${CHANGES_COLUMNS.map(quoteName)} FROM ${nameOf(CHANGES_TABLE)} WHERE ${conditions.join(" AND ")}
ORDER BY "seq" LIMIT ${READ_BATCH_SIZE}`;
  for (let last: number | undefined = after; last !== undefined; ) {
    const values: SqlValue[] = [last, ...Object.values(where)];
    const changes: MirrorChange[] = (await query(sql, values)).map(changeOfRow);
    if (changes.length > 0) yield changes;
    last = changes.at(READ_BATCH_SIZE - 1)?.seq;
  }
}

function changeOfRow({ seq, at, resource, key, type, before, after }: Readonly<Record<string, unknown>>): MirrorChange {
  const fieldsOf = (json: unknown) => (typeof json === "string" ? decodeExtraFields(json) : null);
  return {
    seq: Number(seq),
    at: String(at),
    resource: resource as MirrorResource,
    key: String(key).includes("/") ? String(key) : Number(key),
    type: type as MirrorChange["type"],
    before: fieldsOf(before),
    after: fieldsOf(after),
  };
}
