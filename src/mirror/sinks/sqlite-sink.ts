import { existsSync } from "node:fs";
import * as z from "zod";
import { checkConfiguration } from "../../shared/check.js";
import { SqliteConnection } from "../../storage/sqlite/connection.js";
import { findSqliteDriver, type SqliteDatabase, type SqliteDriver } from "../../storage/sqlite/driver.js";
import { quoteName } from "../../storage/tables.js";
import type { ChangesQuery, MirrorChange } from "../copy/history.js";
import type { MirrorBatch, MirrorReader, MirrorSink, SinkOpenOptions } from "../sink.js";
import {
  fieldsOfKey,
  type MirrorKey,
  type MirrorRecord,
  type MirrorResource,
  mapResources,
  RESOURCES,
  type Table,
  tableOf,
} from "../tables.js";
import {
  CHANGES_COLUMNS,
  CHANGES_TABLE,
  changesInBatches,
  checkColumns,
  createChangesSql,
  createIndexesSql,
  createTableSql,
  expireChangesSql,
  KEY_BATCH_SIZE,
  keysInBatches,
  otherMirrorError,
  PRIMARY_KEY_SQL,
  type Rows,
  rowOfChange,
  type SqlDialect,
  type SqlSource,
  type SqlTypeNames,
  selectStockSql,
  sqlPartsOf,
  tableMissingError,
  throwSinkNotOpen,
} from "./copy-tables.js";
import { encodeExtraFields } from "./row-codec.js";
import { createSqlReader, readStateAndClose } from "./sql-reader.js";

/** Options of {@link sqliteSink}. */
export interface SqliteSinkOptions {
  /** Path of the database file; created if it does not exist. It may contain other tables. */
  path: string;
}

/**
 * A copy in an SQLite database: the tables `items`, `lots` and `stock_levels` with a column for each documented field,
 * spelled as on the wire. Decimals are `REAL`, booleans 0 and 1, datetimes strings as in the response. The column `extra` is
 * JSON of the fields that the service adds. Other processes can read while the mirror writes.
 *
 * The driver is `node:sqlite` if Node.js has it (22.13 and later), otherwise the package `@photostructure/sqlite`. Node.js 22
 * warns once that its own is experimental. Writing blocks the event loop for a few milliseconds per page.
 *
 * `open()` rejects with a `ConfigurationError` if there is no driver, or if a table of one of these names was not
 * created by a mirror. Every method rejects with a `StorageError` if SQLite fails, or if another process locks the
 * database for 30 s.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export function sqliteSink(options: SqliteSinkOptions): MirrorSink {
  return new SqliteSink(options);
}

/** Created by {@link sqliteSink}. */
export class SqliteSink implements MirrorSink {
  readonly #path: string;
  readonly #loadDriver: () => Promise<SqliteDriver>;
  #opened: SqliteCopy | undefined;

  /** @param loadDriver Tests choose the driver. */
  constructor(options: SqliteSinkOptions, loadDriver = findSqliteDriver) {
    checkConfiguration("sqliteSink", z.strictObject({ path: z.string().min(1) }), options);
    this.#path = options.path;
    this.#loadDriver = loadDriver;
  }

  async open({ signal }: SinkOpenOptions = {}): Promise<string | undefined> {
    this.#opened ??= await this.#open(signal);
    const { connection, loadState } = this.#opened;
    return await connection.read(() => stateOf(loadState.all()));
  }

  keys(resource: MirrorResource): AsyncIterable<readonly MirrorKey[]> {
    const { connection, tables } = this.#copy;
    const { keysAfter } = tables[resource];
    return keysInBatches(tableOf(resource), (last) => connection.read(() => keysAfter.all(...last)));
  }

  async read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    const { connection, tables } = this.#copy;
    const { codec, read } = tables[resource];
    const hasNumbers = tableOf(resource).key.length === 1;
    const rows = await connection.read(() => read.all(JSON.stringify(hasNumbers ? keys : keys.map(fieldsOfKey))));
    return rows.map((row) => codec.decode(row));
  }

  async commit(batch: MirrorBatch): Promise<void> {
    const { resource, upsert, remove, previousState, state, status } = batch;
    const { connection, tables, loadState, saveState, saveStatus, indexed } = this.#copy;
    const table = tables[resource];
    const isComplete = status?.some((row) => row.resource === resource && row.complete) ?? false;
    await connection.transaction((database) => {
      if (stateOf(loadState.all()) !== previousState) throw otherMirrorError(this.#path);
      for (const record of upsert) table.upsert.run(...table.codec.encode(record));
      for (const key of remove) table.remove.run(...fieldsOfKey(key));
      writeChanges(database, batch);
      saveState.run(state);
      if (status) saveStatus.run(encodeExtraFields(status));
      if (isComplete && !indexed.has(resource)) {
        for (const sql of createIndexesSql(resource, SQLITE_DIALECT)) database.exec(sql);
      }
    });
    if (isComplete) indexed.add(resource);
  }

  async readState(): Promise<string | undefined> {
    return await readStateAndClose(await this.openReader());
  }

  async openReader(): Promise<MirrorReader | undefined> {
    if (!existsSync(this.#path)) return undefined;
    const file = { path: this.#path, loadDriver: this.#loadDriver };
    const connection = await SqliteConnection.open({ ...file, synchronous: "read-only" });
    const source = sourceOn(connection);
    const readState = async () => {
      const found = await source.query("SELECT name FROM sqlite_schema WHERE name = 'stocklot_state'", []);
      return found.length > 0 ? stateOf(await source.query(LOAD_STATE_SQL, [])) : undefined;
    };
    return createSqlReader(source, { readState, close: () => connection.close() });
  }

  changes(query: ChangesQuery): AsyncIterable<readonly MirrorChange[]> {
    return changesInBatches(query, sourceOn(this.#copy.connection));
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.connection.close();
  }

  async #open(signal: AbortSignal | undefined): Promise<SqliteCopy> {
    // A power failure may undo the last commits, each as a whole, together with the state that it saved.
    const file = { path: this.#path, loadDriver: this.#loadDriver };
    const connection = await SqliteConnection.open({ ...file, synchronous: "NORMAL", signal });
    try {
      return { connection, ...(await connection.transaction(prepareCopy)) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  get #copy(): SqliteCopy {
    return this.#opened ?? throwSinkNotOpen("sqliteSink");
  }
}

type SqliteCopy = { readonly connection: SqliteConnection } & ReturnType<typeof prepareCopy>;

const sourceOn = (connection: SqliteConnection): SqlSource => ({
  dialect: SQLITE_DIALECT,
  query: async (sql, values) => {
    // SQLite is read synchronously: a long iteration must not stop the rest of the process.
    await new Promise(setImmediate);
    return await connection.read((database) => database.prepare(sql).all(...values));
  },
});

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

const LOAD_STATE_SQL = "SELECT state FROM stocklot_state";

export const stateOf = ([row]: Rows) => row && String(row.state);

/** Creates the tables and views that are missing, verifies the others, and prepares the statements of a copy. */
function prepareCopy(database: SqliteDatabase) {
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
  const { codec, name, columns, key, updates } = sqlPartsOf(table, quoteName);
  const values = columns.map(() => "?");
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
function writeChanges(database: SqliteDatabase, { changes = [], expireChanges }: MirrorBatch): void {
  if (changes.length === 0 && expireChanges === undefined) return;
  const found = database.prepare("SELECT name FROM sqlite_schema WHERE name = ?").all(CHANGES_TABLE);
  if (found.length === 0) database.exec(createChangesSql(SQLITE_COLUMN_TYPES, SQLITE_DIALECT));
  if (expireChanges !== undefined) database.prepare(expireChangesSql(SQLITE_DIALECT, "?")).run(expireChanges);
  const insert = database.prepare(`INSERT INTO ${CHANGES_TABLE} VALUES (${CHANGES_COLUMNS.map(() => "?")})`);
  for (const change of changes) insert.run(...rowOfChange(change));
}
