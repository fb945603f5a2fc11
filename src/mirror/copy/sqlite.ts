import { existsSync } from "node:fs";
import * as z from "zod";
import { checkConfiguration } from "../../shared/schema.js";
import type { SqlDatabase, SqlQuery } from "../../storage/database.js";
import { SQLITE_DIALECT } from "../../storage/dialect.js";
import { openSqlite, sqlitePathSchema } from "../../storage/sqlite.js";
import type { SqliteDriver } from "../../storage/sqlite-driver.js";
import { type CopyDatabase, type CopyPlace, openCopyDatabase } from "./database.js";

/** Options of {@link sqliteSink}. */
export interface SqliteSinkOptions {
  /** Path of the database file; created if it does not exist. It may contain other tables. */
  path: string;
}

/**
 * A copy in an SQLite database, in a file. Decimals are `REAL`, booleans 0 and 1, datetimes strings as in the response. Other processes
 * can read while the mirror writes.
 *
 * The driver is `node:sqlite` if Node.js has it (22.13 and later), otherwise the package `@photostructure/sqlite`. Node.js 22
 * warns once that its driver is experimental. Writing blocks the event loop for a few milliseconds per page.
 *
 * A run rejects with a `StorageError` if SQLite fails, or if another process locks the database for 30 s.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export const sqliteSink = (options: SqliteSinkOptions): SqliteSink => new SqliteSink(options);

/** Created by {@link sqliteSink}. */
export class SqliteSink {
  readonly #path: string;
  readonly #loadDriver: (() => Promise<SqliteDriver>) | undefined;

  /** @internal */
  constructor(options: SqliteSinkOptions, loadDriver?: () => Promise<SqliteDriver>) {
    this.#path = checkConfiguration("sqliteSink", z.strictObject({ path: sqlitePathSchema() }), options).path;
    this.#loadDriver = loadDriver;
  }

  /** Opens the copy to write it. Creates a copy if there is none. @internal */
  async open(signal?: AbortSignal): Promise<CopyDatabase> {
    return openCopyDatabase(await this.#openFile(false, signal), "write", this.#findPlace, signal);
  }

  /** Opens the copy to read it; `undefined` if there is none. Nothing is created or changed. @internal */
  async openReader(): Promise<CopyDatabase | undefined> {
    if (!existsSync(this.#path)) return undefined;
    return openCopyDatabase(await this.#openFile(true), "read", this.#findPlace);
  }

  #openFile(readOnly: boolean, signal?: AbortSignal): Promise<SqlDatabase> {
    return openSqlite({ path: this.#path, readOnly, loadDriver: this.#loadDriver }, signal);
  }

  readonly #findPlace = async (query: SqlQuery): Promise<CopyPlace> => {
    const rows = await query("SELECT name FROM sqlite_schema");
    return { dialect: SQLITE_DIALECT, location: this.#path, found: new Set(rows.map(({ name }) => String(name))) };
  };
}
