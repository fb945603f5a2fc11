import { existsSync } from "node:fs";
import * as z from "zod";
import { checkConfiguration } from "../../schemas/check.js";
import { SqliteConnection } from "../../storage/sqlite/connection.js";
import { findSqliteDriver, type SqliteDriver } from "../../storage/sqlite/driver.js";
import type { ChangesQuery, MirrorChange } from "../copy/history.js";
import type { MirrorBatch, MirrorReader, MirrorSink, SinkOpenOptions } from "../sink.js";
import { fieldsOfKey, type MirrorKey, type MirrorRecord, type MirrorResource, tableOf } from "../tables.js";
import { changesInBatches } from "./changes-table.js";
import { createIndexesSql, keysInBatches, otherMirrorError, type SqlSource, throwSinkNotOpen } from "./copy-tables.js";
import { encodeExtraFields } from "./row-codec.js";
import { SqlReader } from "./sql-reader.js";
import { LOAD_STATE_SQL, prepareCopy, SQLITE_DIALECT, stateOf, writeChanges } from "./sqlite-copy.js";

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
    const reader = await this.openReader();
    try {
      return await reader?.readState();
    } finally {
      await reader?.close();
    }
  }

  async openReader(): Promise<MirrorReader | undefined> {
    if (!existsSync(this.#path)) return undefined;
    const source = { path: this.#path, loadDriver: this.#loadDriver, synchronous: "read-only" } as const;
    const connection = await SqliteConnection.open(source);
    const { dialect, query } = sourceOn(connection);
    const readState = async () => {
      const found = await query("SELECT name FROM sqlite_schema WHERE name = 'stocklot_state'", []);
      return found.length > 0 ? stateOf(await query(LOAD_STATE_SQL, [])) : undefined;
    };
    return new SqlReader({ dialect, query, readState, close: () => connection.close() });
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
    const source = { path: this.#path, loadDriver: this.#loadDriver, synchronous: "NORMAL", signal } as const;
    const connection = await SqliteConnection.open(source);
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
