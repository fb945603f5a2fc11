import { quoteName } from "../../../storage/quote-name.js";
import type { SqliteDatabase } from "../../../storage/sqlite/driver.js";
import type { Table } from "../../tables.js";
import { EXTRA_COLUMN } from "../row-codec.js";
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
import {
  columnDefinition,
  columnTypes,
  isExtraLast,
  isTableRequired,
  missingColumns,
  PRIMARY_KEY_SQL,
  type SqlTypeNames,
  tableDefinition,
} from "../sql-table.js";

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

/** Creates a table, or upgrades one that an earlier version created. True if columns were added to it. */
export function ensureTable(database: SqliteDatabase, table: Table): boolean {
  const name = quoteName(table.name);
  const found = readExistingColumns(database, table);
  if (found.size === 0) {
    if (isTableRequired(table) && database.prepare("SELECT id FROM stocklot_state").all().length > 0) {
      throw tableMissingError(table.name);
    }
    database.exec(`CREATE TABLE ${name} (${tableDefinition(table, SQLITE_COLUMN_TYPES)})`);
    return false;
  }
  const types = columnTypes(table, SQLITE_COLUMN_TYPES);
  const missing = missingColumns(table, SQLITE_COLUMN_TYPES, found);
  for (const column of missing) {
    database.exec(`ALTER TABLE ${name} ADD COLUMN ${quoteName(column)} ${types.get(column)}`);
  }
  if (missing.length > 0 || !isExtraLast(table, found)) moveExtraLast(database, name);
  return missing.length > 0;
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

/** In earlier versions, `extra` was the first column. It stays where it is if something that others have created depends on it. */
function moveExtraLast(database: SqliteDatabase, name: string): void {
  database.exec("SAVEPOINT move_extra");
  try {
    database.exec(`
ALTER TABLE ${name} RENAME COLUMN ${EXTRA_COLUMN} TO stocklot_extra;
ALTER TABLE ${name} ADD COLUMN ${EXTRA_COLUMN} ${columnDefinition(SQLITE_COLUMN_TYPES.extra, EXTRA_COLUMN)};
UPDATE ${name} SET ${EXTRA_COLUMN} = stocklot_extra WHERE stocklot_extra <> '{}';
ALTER TABLE ${name} DROP COLUMN stocklot_extra`);
  } catch {
    database.exec("ROLLBACK TO move_extra");
  }
  database.exec("RELEASE move_extra");
}

function readExistingColumns(database: SqliteDatabase, table: Table): Map<string, string> {
  const rows = database.prepare("SELECT name, type, pk FROM pragma_table_info(?)").all(table.name);
  const hasKey = rows.filter(({ pk }) => pk !== 0).length === table.key.length;
  return new Map(
    rows.map(({ name, type, pk }) => [String(name), pk !== 0 && hasKey ? type + PRIMARY_KEY_SQL : String(type)]),
  );
}
