import type { SqliteDatabase } from "../../storage/sqlite/driver.js";
import { quoteName } from "../../storage/tables.js";
import type { MirrorBatch } from "../sink.js";
import { type MirrorResource, mapResources, RESOURCES, type Table, tableOf } from "../tables.js";
import { CHANGES_COLUMNS, CHANGES_TABLE, createChangesSql, expireChangesSql, rowOfChange } from "./changes-table.js";
import {
  checkColumns,
  createTableSql,
  KEY_BATCH_SIZE,
  PRIMARY_KEY_SQL,
  type Rows,
  type SqlDialect,
  type SqlTypeNames,
  selectStockSql,
  tableMissingError,
} from "./copy-tables.js";
import { RowCodec } from "./row-codec.js";

// The tables, views and statements of a copy in an SQLite database.

const SQLITE_COLUMN_TYPES: SqlTypeNames = {
  integer: "INTEGER",
  decimal: "REAL",
  text: "TEXT",
  boolean: "INTEGER",
  extra: "TEXT",
};

export const SQLITE_DIALECT: SqlDialect = {
  nameOf: quoteName,
  skuOf: (column) => `lower(trim(${column}))`,
  parameter: () => "?",
};

/** Tables with one row: the saved state, and the status for readers. */
const CREATE_STATE_SQL = `
CREATE TABLE IF NOT EXISTS stocklot_state (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS stocklot_status (id INTEGER PRIMARY KEY CHECK (id = 1), status TEXT NOT NULL)`;

/** A view or table of the same name that others have created stays as it is. */
const createViewsSql = () => `
CREATE VIEW IF NOT EXISTS stock AS ${selectStockSql(quoteName)};
CREATE VIEW IF NOT EXISTS mirror_status AS
SELECT
  row.value ->> 'resource' AS "resource",
  row.value ->> 'mirrored' AS "mirrored",
  row.value ->> 'complete' AS "complete",
  row.value ->> 'records' AS "records",
  row.value ->> 'asOf' AS "asOf",
  CAST(ROUND((julianday('now') - julianday(row.value ->> 'asOf')) * 86400000) AS INTEGER) AS "lagMs",
  row.value ->> 'awaitsFullPass' AS "awaitsFullPass",
  row.value ->> 'missing' AS "missing",
  row.value ->> 'lastRunStartedAt' AS "lastRunStartedAt",
  row.value ->> 'lastRunEndedAt' AS "lastRunEndedAt",
  row.value ->> 'lastRunKind' AS "lastRunKind",
  row.value ->> 'lastRunError' AS "lastRunError"
FROM stocklot_status, json_each(stocklot_status.status) AS row`;

export const LOAD_STATE_SQL = "SELECT state FROM stocklot_state";

export const stateOf = ([row]: Rows) => row && String(row.state);

/** Creates the tables and views that are missing, verifies the others, and prepares the statements of a copy. */
export function prepareCopy(database: SqliteDatabase) {
  database.exec(CREATE_STATE_SQL);
  const loadState = database.prepare(LOAD_STATE_SQL);
  const isNew = stateOf(loadState.all()) === undefined;
  for (const table of RESOURCES.map(tableOf)) {
    const found = existingColumns(database, table);
    if (found.size > 0) checkColumns(table, SQLITE_COLUMN_TYPES, found);
    else if (isNew) database.exec(createTableSql(table, SQLITE_COLUMN_TYPES, quoteName));
    else throw tableMissingError(table);
  }
  database.exec(createViewsSql());
  return {
    /** Resources whose tables have their indexes. */
    indexed: new Set<MirrorResource>(),
    tables: mapResources((resource) => tableStatements(database, tableOf(resource))),
    loadState,
    saveState: database.prepare(
      "INSERT INTO stocklot_state VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
    ),
    saveStatus: database.prepare(
      "INSERT INTO stocklot_status VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET status = excluded.status",
    ),
  };
}

/** The columns of a table with their types; none if there is no table. */
function existingColumns(database: SqliteDatabase, { name, key }: Table): Map<string, string> {
  const rows = database.prepare("SELECT name, type, pk FROM pragma_table_info(?)").all(name);
  const hasKey = rows.filter(({ pk }) => pk !== 0).length === key.length;
  return new Map(rows.map(({ name, type, pk }) => [String(name), type + (pk !== 0 && hasKey ? PRIMARY_KEY_SQL : "")]));
}

function tableStatements(database: SqliteDatabase, table: Table) {
  const codec = new RowCodec(table);
  const name = quoteName(table.name);
  const columns = codec.columns.map(quoteName);
  const values = columns.map(() => "?");
  const key = table.key.map(quoteName);
  const updates = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  const keyValues = key.map(() => "?");
  // A plain number is read faster than the first member of an array.
  const jsonValues = key.length === 1 ? "value" : key.map((_, index) => `value ->> ${index}`);
  return {
    codec,
    // Not REPLACE: it would clear columns that others have added.
    upsert: database.prepare(
      `INSERT INTO ${name} (${columns}) VALUES (${values}) ON CONFLICT (${key}) DO UPDATE SET ${updates}`,
    ),
    remove: database.prepare(`DELETE FROM ${name} WHERE (${key}) = (${keyValues})`),
    read: database.prepare(`SELECT ${columns} FROM ${name} WHERE (${key}) IN (SELECT ${jsonValues} FROM json_each(?))`),
    keysAfter: database.prepare(
      `SELECT ${key} FROM ${name} WHERE (${key}) > (${keyValues}) ORDER BY ${key} LIMIT ${KEY_BATCH_SIZE}`,
    ),
  };
}

/** Adds rows to the table of the history, and removes the oldest. It is created at the first use. */
export function writeChanges(database: SqliteDatabase, { changes = [], expireChanges }: MirrorBatch): void {
  if (changes.length === 0 && expireChanges === undefined) return;
  const found = database.prepare("SELECT name FROM sqlite_schema WHERE name = ?").all(CHANGES_TABLE);
  if (found.length === 0) database.exec(createChangesSql(SQLITE_COLUMN_TYPES, SQLITE_DIALECT));
  if (expireChanges !== undefined) database.prepare(expireChangesSql(SQLITE_DIALECT, "?")).run(expireChanges);
  const insert = database.prepare(`INSERT INTO ${CHANGES_TABLE} VALUES (${CHANGES_COLUMNS.map(() => "?")})`);
  for (const change of changes) insert.run(...rowOfChange(change));
}
