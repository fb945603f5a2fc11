import * as z from "zod";
import { checkConfiguration } from "../../../core/request/check-options.js";
import { findSqliteDriver, type SqliteDriver } from "../../../storage/sqlite/driver.js";
import type { MirrorBatch, MirrorSink, SinkOpenOptions } from "../../sink.js";
import type { MirrorKey, MirrorRecord, MirrorResource } from "../../tables.js";
import { throwSinkNotOpen } from "../sink-errors.js";
import { SqliteCopy } from "./sqlite-copy.js";

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
  #copy: SqliteCopy | undefined;

  /** @param loadDriver Tests choose the driver. */
  constructor(options: SqliteSinkOptions, loadDriver = findSqliteDriver) {
    checkConfiguration("sqliteSink", z.strictObject({ path: z.string().min(1) }), options);
    this.#path = options.path;
    this.#loadDriver = loadDriver;
  }

  async open({ signal }: SinkOpenOptions = {}): Promise<string | undefined> {
    this.#copy ??= await SqliteCopy.open({ path: this.#path, loadDriver: this.#loadDriver, signal });
    return await this.#copy.state();
  }

  keys(resource: MirrorResource): AsyncIterable<readonly MirrorKey[]> {
    return this.#opened.keys(resource);
  }

  async read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    return await this.#opened.read(resource, keys);
  }

  async commit(batch: MirrorBatch): Promise<void> {
    await this.#opened.commit(batch);
  }

  readState(): Promise<string | undefined> {
    return SqliteCopy.readState({ path: this.#path, loadDriver: this.#loadDriver });
  }

  async close(): Promise<void> {
    const copy = this.#copy;
    this.#copy = undefined;
    await copy?.close();
  }

  get #opened(): SqliteCopy {
    return this.#copy ?? throwSinkNotOpen("sqliteSink");
  }
}
