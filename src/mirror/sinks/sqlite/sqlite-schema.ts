import { quoteName } from "../../../storage/quote-name.js";
import type { SqliteDatabase } from "../../../storage/sqlite/driver.js";
import type { Table } from "../../tables.js";
import { tableMissingError } from "../sink-errors.js";
import {
  createIndexSql,
  indexesOf,
  STATUS_COLUMNS,
  STATUS_TABLE,
  STATUS_VIEW,
  STOCK_VIEW,
  selectStockSql,
} from "../sql-objects.js";
import { checkColumns, PRIMARY_KEY_SQL, type SqlTypeNames, tableDefinition } from "../sql-table.js";

/** `INTEGER PRIMARY KEY`, in exactly these words, is SQLite's own row number and needs no index. */
const SQLITE_COLUMN_TYPES: SqlTypeNames = {
  integer: "INTEGER",
  decimal: "REAL",
  text: "TEXT",
  boolean: "INTEGER",
  extra: "TEXT",
};

/** Tables with one row: the saved state, and the status for readers. */
const CREATE_STATE_SQL = `
CREATE TABLE IF NOT EXISTS stocklot_state (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS ${STATUS_TABLE} (id INTEGER PRIMARY KEY CHECK (id = 1), status TEXT NOT NULL)`;

export const createStateTable = (database: SqliteDatabase) => database.exec(CREATE_STATE_SQL);

/** Creates a table, or verifies the one that exists. */
export function ensureTable(database: SqliteDatabase, table: Table): void {
  const found = readExistingColumns(database, table);
  if (found.size > 0) {
    checkColumns(table, SQLITE_COLUMN_TYPES, found);
    return;
  }
  if (database.prepare("SELECT id FROM stocklot_state").all().length > 0) {
    throw tableMissingError(table.name);
  }
  database.exec(`CREATE TABLE ${quoteName(table.name)} (${tableDefinition(table, SQLITE_COLUMN_TYPES)})`);
}

/** Creates the indexes of a table. */
export function ensureIndexes(database: SqliteDatabase, table: Table): void {
  for (const index of indexesOf(table)) database.exec(createIndexSql(index, quoteName));
}

/** Creates the views. A view or table of the same name that others have created stays as it is. */
export function ensureViews(database: SqliteDatabase): void {
  database.exec(`CREATE VIEW IF NOT EXISTS ${STOCK_VIEW} AS ${selectStockSql(quoteName)}`);
  database.exec(`CREATE VIEW IF NOT EXISTS ${STATUS_VIEW} AS ${selectStatusSql()}`);
}

function selectStatusSql(): string {
  const asOf = "row.value ->> 'asOf'";
  const columns = Object.keys(STATUS_COLUMNS).map((name) => `row.value ->> '${name}' AS ${quoteName(name)}`);
  const lagMs = `CAST(ROUND((julianday('now') - julianday(${asOf})) * 86400000) AS INTEGER) AS "lagMs"`;
  columns.splice(Object.keys(STATUS_COLUMNS).indexOf("asOf") + 1, 0, lagMs);
  return `SELECT ${columns} FROM ${STATUS_TABLE}, json_each(${STATUS_TABLE}.status) AS row`;
}

function readExistingColumns(database: SqliteDatabase, table: Table): Map<string, string> {
  const rows = database.prepare("SELECT name, type, pk FROM pragma_table_info(?)").all(table.name);
  const hasKey = rows.filter(({ pk }) => pk !== 0).length === table.key.length;
  return new Map(
    rows.map(({ name, type, pk }) => [String(name), pk !== 0 && hasKey ? type + PRIMARY_KEY_SQL : String(type)]),
  );
}
