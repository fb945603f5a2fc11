import * as z from "zod";
import { checkConfiguration } from "../../check-options.js";
import type { MirrorBatch, MirrorSink } from "../../sink.js";
import type { MirrorKey, MirrorRecord, MirrorResource } from "../../tables.js";
import { throwNotOpen } from "../sink-errors.js";
import { nodeDriver, packageDriver, type SqliteDriver } from "./driver.js";
import { retryWhileBusy, SqliteConnection } from "./sqlite-connection.js";

/** Options of {@link sqliteSink}. */
export interface SqliteSinkOptions {
  /** The database file; created if there is none. It may contain other tables. */
  path: string;
}

/** How long a commit waits for another process that writes, in ms. */
const LOCK_WAIT_MS = 30_000;

/**
 * A copy in an SQLite database: the tables `items`, `lots` and `stock_levels` with a column for each documented field,
 * spelled as on the wire. Decimals are `REAL`, booleans 0 and 1, datetimes strings as in the response. The column `extra` is
 * JSON of the fields that the service adds. Other processes can read while the mirror writes.
 *
 * The driver is `node:sqlite` if Node.js has it (22.13 and later), otherwise the package `@photostructure/sqlite`. Node.js 22
 * warns once that its own is experimental. Writing blocks the event loop for a few milliseconds per page.
 *
 * `open()` rejects with a `ConfigurationError` if there is no driver, or if a table of one of these names was not created by
 * a mirror.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export function sqliteSink(options: SqliteSinkOptions): MirrorSink {
  return sqliteSinkWith(options, async () => nodeDriver() ?? (await packageDriver()));
}

export function sqliteSinkWith(options: SqliteSinkOptions, loadDriver: () => Promise<SqliteDriver>): MirrorSink {
  checkConfiguration("sqliteSink", z.strictObject({ path: z.string().min(1) }), options);
  return new SqliteSink(options.path, loadDriver);
}

class SqliteSink implements MirrorSink {
  #copy: SqliteConnection | undefined;

  constructor(
    readonly path: string,
    readonly loadDriver: () => Promise<SqliteDriver>,
  ) {}

  async open(): Promise<string | undefined> {
    const driver = await this.loadDriver();
    this.#copy ??= await retryWhileBusy(LOCK_WAIT_MS, () => new SqliteConnection(driver, this.path));
    return this.#copy.state;
  }

  keys(resource: MirrorResource): AsyncIterable<readonly MirrorKey[]> {
    return this.#opened.tables[resource].keys();
  }

  async read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    return this.#opened.tables[resource].read(keys);
  }

  async commit(batch: MirrorBatch): Promise<void> {
    await retryWhileBusy(LOCK_WAIT_MS, () => this.#opened.commit(batch));
  }

  async close(): Promise<void> {
    this.#copy?.close();
    this.#copy = undefined;
  }

  get #opened(): SqliteConnection {
    return this.#copy ?? throwNotOpen("sqliteSink");
  }
}
