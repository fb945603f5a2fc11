import { quoteName } from "../../storage/database.js";
import type { Dialect, SqlType } from "../../storage/dialect.js";
import { type MirrorResource, RESOURCES, type Table, tableOf } from "../tables.js";

/*
 * The tables, views and indexes of a copy, and the commands for them, in the SQL of either database. A table of a
 * resource has a column per documented field, spelled as on the wire. `mirror_status` has a row per list (status.ts),
 * `changes` has a row per recorded change (changes.ts), and `stocklot_mirror` has a single row about the copy as a
 * whole.
 */

/** The version of these tables. A copy of another version is refused. */
export const COPY_FORMAT = 3;

/** The column for fields that have no column of their own. */
export const EXTRA_COLUMN = "extra";

export type Columns = Readonly<Record<string, SqlType>>;

/** A command, and a query that checks its effect. */
export interface Commands {
  sql: string;
  /**
   * Returns a row if the command had no effect on some row: a trigger may prevent or undo the effect. It binds the same
   * values.
   */
  unapplied: string;
}

/** Commands, and the values that they bind for each row. */
export interface Statement extends Commands {
  rows: readonly (readonly (string | number | null)[])[];
  /** The names of the values of a row. With names, PostgreSQL takes all rows at once, as JSON. */
  columns?: readonly string[];
}

export const tableColumnsOf = ({ columns }: Table): Columns => ({ ...columns, [EXTRA_COLUMN]: "json" });

const namesOf = (names: readonly string[]) => names.map(quoteName).join(", ");

/** The columns of `mirror_status`. The last three are the mirror's own. */
export const STATUS_COLUMNS = {
  ...{ list: "text", wID: "integer" },
  ...{ asOf: "time", fullPassAt: "time", refused: "integer", unlisted: "integer", increments: "boolean" },
  ...{ changesFrom: "time", error: "text", failedSince: "time" },
  ...{ since: "time", passAt: "time", interrupted: "boolean" },
} as const satisfies Columns;

export const CHANGES_COLUMNS = {
  ...{ seq: "integer", at: "text", resource: "text", key: "text", type: "text" },
  ...{ before: "json", after: "json" },
} as const satisfies Columns;

/**
 * The columns of `stocklot_mirror`: `version` counts commits, `seq` is the number of the last change, and `expired` is
 * the number of the last change that was removed.
 */
export const COPY_COLUMNS = {
  ...{ format: "integer", version: "integer", service: "text", address: "text", client_id: "text" },
  ...{ history_days: "decimal", seq: "integer", expired: "integer" },
} as const satisfies Columns;

export const RELATIONS = [
  ...["stocklot_mirror", "mirror_status", "changes", "stock"],
  ...["items", "lots", "stock_levels", "warehouse_stock_levels"],
];

export function createCopySql({ nameOf, types }: Dialect): string[] {
  const create = (name: string, columns: Columns, constraint = "") => {
    const defined = Object.entries(columns).map(([column, type]) => `${quoteName(column)} ${types[type]}`);
    return `CREATE TABLE ${nameOf(name)} (${defined.join(", ")}${constraint})`;
  };
  const tables = RESOURCES.map(tableOf);
  const [, ...quantities] = Object.keys(tableOf("stockLevels").columns);
  return [
    ...tables.map((table) => create(table.name, tableColumnsOf(table), `, PRIMARY KEY (${namesOf(table.key)})`)),
    create("stocklot_mirror", COPY_COLUMNS),
    create("mirror_status", STATUS_COLUMNS),
    create("changes", CHANGES_COLUMNS, ", PRIMARY KEY (seq)"),
    `CREATE INDEX stocklot_changes_key ON ${nameOf("changes")} ("key", "resource", "seq")`,
    `INSERT INTO ${nameOf("stocklot_mirror")} (format, version, seq, expired) VALUES (${COPY_FORMAT}, 0, 0, 0)`,
    `CREATE VIEW ${nameOf("stock")} AS
SELECT levels."partNo", items."shortID", items."description", ${quantities.map((name) => `levels.${quoteName(name)}`)}
FROM ${nameOf("stock_levels")} AS levels LEFT JOIN ${nameOf("items")} AS items ON items."partNo" = levels."partNo"`,
  ];
}

/** Stands for the SKU as it is compared: without surrounding spaces and case. */
const SKU = "sku";

/**
 * Indexes for common queries, and for the queries of `openCopy`. The primary keys have indexes of their own. Many lots
 * may have the same warehouse, and many items the same category, so these two indexes contain the key: records are read
 * in the order of their keys.
 */
const INDEXED_COLUMNS: Readonly<Record<MirrorResource, readonly (readonly string[])[]>> = {
  items: [["shortID"], [SKU], ["category", "partNo"]],
  lots: [["partNo"], ["shortID"], [SKU], ["wID", "recNo"], ["wID", "spot"], ["spot"], ["serial"], ["rFIDTag"]],
  stockLevels: [],
  warehouseStockLevels: [["partNo"]],
};

export function indexesOf(resource: MirrorResource, { nameOf, skuOf }: Dialect): { name: string; sql: string }[] {
  const table = tableOf(resource).name;
  const expressionOf = (column: string) => (column === SKU ? skuOf(quoteName("shortID")) : quoteName(column));
  return INDEXED_COLUMNS[resource].map((columns) => {
    const name = ["stocklot", table, ...columns].join("_");
    const sql = `CREATE INDEX IF NOT EXISTS ${quoteName(name)} ON ${nameOf(table)} (${columns.map(expressionOf)})`;
    return { name, sql };
  });
}

/**
 * Returns SQL for the table `bound`, which contains the rows to bind. In SQLite it is one row of placeholders; in
 * PostgreSQL it is all rows of a JSON parameter.
 */
function boundRows({ kind, types }: Dialect, columns: Columns): string {
  const entries = Object.entries(columns);
  if (kind === "sqlite")
    return `(SELECT ${entries.map(([name], index) => `$${index + 1} AS ${quoteName(name)}`).join(", ")}) AS bound`;
  const typed = entries.map(([name, type]) => `${quoteName(name)} ${types[type === "json" ? "text" : type]}`);
  return `json_to_recordset($1::json) AS bound(${typed.join(", ")})`;
}

/** Inserts rows without a check for existing rows. `key`: the columns of an index, which are never NULL. */
export function insertSql(dialect: Dialect, table: string, columns: Columns, key: readonly string[] = []): Commands {
  const isJson = (name: string) => dialect.kind === "postgres" && columns[name] === "json";
  const names = Object.keys(columns);
  const bound = boundRows(dialect, columns);
  const values = names.map((name) => quoteName(name) + (isJson(name) ? "::json" : ""));
  // PostgreSQL cannot compare JSON.
  const isStored = names.map((name) => {
    const operator = key.includes(name) ? "=" : "IS NOT DISTINCT FROM";
    return `stored.${quoteName(name)}${isJson(name) ? "::text" : ""} ${operator} bound.${quoteName(name)}`;
  });
  return {
    // Without WHERE, SQLite would take the ON of ON CONFLICT for the ON of a join.
    sql: `INSERT INTO ${dialect.nameOf(table)} (${namesOf(names)}) SELECT ${values.join(", ")} FROM ${bound} WHERE true`,
    unapplied: `SELECT 1 AS one FROM ${bound}
WHERE NOT EXISTS (SELECT 1 FROM ${dialect.nameOf(table)} AS stored WHERE ${isStored.join(" AND ")}) LIMIT 1`,
  };
}

/**
 * Inserts rows, or updates rows with the same key. REPLACE would clear columns that somebody has added to the table.
 */
export function upsertSql(dialect: Dialect, table: Table): Commands {
  const columns = tableColumnsOf(table);
  const { sql, unapplied } = insertSql(dialect, table.name, columns, table.key);
  const updates = Object.keys(columns)
    .filter((name) => !table.key.includes(name))
    .map((name) => `${quoteName(name)} = excluded.${quoteName(name)}`);
  return { sql: `${sql}\nON CONFLICT (${namesOf(table.key)}) DO UPDATE SET ${updates.join(", ")}`, unapplied };
}

/**
 * Deletes the rows whose `number` is bound. `condition`: a further condition such as `AND "wID" = 3`, or an empty
 * string.
 */
export function deleteSql(dialect: Dialect, table: Table, condition: string): Commands {
  const numbers = `SELECT "number" FROM ${boundRows(dialect, { number: "integer" })}`;
  return deleting(dialect.nameOf(table.name), `${quoteName(table.key.at(-1) ?? "")} IN (${numbers})${condition}`);
}

const deleting = (table: string, condition: string): Commands => ({
  sql: `DELETE FROM ${table} WHERE ${condition}`,
  unapplied: `SELECT 1 AS one FROM ${table} WHERE ${condition} LIMIT 1`,
});

export const deleteAll = (table: string, condition: string, values: Statement["rows"][number]): Statement => ({
  ...deleting(table, condition),
  rows: [values],
});

/**
 * Returns the query for records with these values, in ascending order of their keys.
 *
 * @param where A `shortID` is compared without regard to surrounding spaces and case. In a table without `shortID`, a
 * record belongs to the item with its `partNo`.
 * @param last The key of the last record that was read before; an empty array at first.
 */
export function findSql(
  { nameOf, skuOf }: Dialect,
  table: Table,
  where: Readonly<Record<string, string | number>>,
  last: readonly number[],
  limit: number,
): { sql: string; values: (string | number)[] } {
  const values: (string | number)[] = [];
  const bind = (value: string | number) => `$${values.push(value)}`;
  const hasSku = (sku: string) => `${skuOf(quoteName("shortID"))} IN (${comparableSkus(sku).map(bind).join(", ")})`;
  const conditions = Object.entries(where).map(([field, value]) => {
    if (field !== "shortID") return `${quoteName(field)} = ${bind(value)}`;
    if (Object.hasOwn(table.columns, field)) return hasSku(String(value));
    return `"partNo" IN (SELECT "partNo" FROM ${nameOf("items")} WHERE ${hasSku(String(value))})`;
  });
  if (last.length > 0) conditions.push(`(${namesOf(table.key)}) > (${last.map(bind).join(", ")})`);
  const condition = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const columns = namesOf(Object.keys(tableColumnsOf(table)));
  const sql = `SELECT ${columns} FROM ${nameOf(table.name)} ${condition} ORDER BY ${namesOf(table.key)} LIMIT ${limit}`;
  return { sql, values };
}

/**
 * Returns the values of `skuOf` that stored spellings of a SKU may have: the client compares SKUs without regard to
 * surrounding spaces and case. The databases compare letters outside of ASCII as they are. Such letters are found in
 * the given case, all in lower case, and all in upper case.
 */
function comparableSkus(sku: string): string[] {
  const trimmed = sku.trim();
  const spellings = [sku, trimmed, trimmed.toLowerCase(), trimmed.toUpperCase()];
  const same = spellings.filter((spelling) => spelling.trim().toLowerCase() === trimmed.toLowerCase());
  return [...new Set(same.map((spelling) => lowerAscii(spelling.replace(/^ +| +$/g, ""))))];
}

const lowerAscii = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
