import { ConfigurationError } from "../shared/errors/index.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { sleep } from "../shared/time/wait.js";
import { fieldOf } from "../shared/unknown.js";
import type { Query, SqlDatabase, SqlRow, SqlValue } from "./database.js";
import { createStorageError } from "./storage-failure.js";

/** The part of a driver that is used: `node:sqlite`, or `@photostructure/sqlite`, which has the same interface. */
export interface SqliteDriver {
  DatabaseSync: new (path: string, options?: { readOnly?: boolean }) => SqliteFile;
}

interface SqliteFile {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

interface SqliteStatement {
  all(...values: SqlValue[]): SqlRow[];
}

/** How long SQLite itself waits for a lock, in ms. It blocks the event loop meanwhile. */
const BUSY_TIMEOUT_MS = 5;

/** The longest time between two attempts to get a lock, in ms. Random, so that two processes do not keep in step. */
const MAX_RETRY_DELAY_MS = 40;

export interface SqliteOptions {
  /** The file; created if there is none. */
  path: string;
  /** Whether nothing in the file is changed, not even its journal mode. */
  readOnly?: boolean;
  /**
   * How long a lock of another process is waited for, in ms.
   * @default 30_000
   */
  lockWaitMs?: number;
  /** @default findSqliteDriver */
  loadDriver?: (() => Promise<SqliteDriver>) | undefined;
}

/**
 * Opens a database with a write-ahead log, so that others can read while this process writes. A commit waits until it is on
 * the disk.
 *
 * @throws StorageError when the file cannot be opened, or is locked for too long.
 * @throws ConfigurationError when there is no driver.
 */
export async function openSqlite(options: SqliteOptions): Promise<SqlDatabase> {
  const { readOnly = false, loadDriver = findSqliteDriver } = options;
  const driver = await loadDriver();
  const file = await whileBusy(options, () => openFile(driver, options));
  const statements = new Map<string, SqliteStatement>();
  const query: Query = async (sql, values = []) => {
    const statement = statements.get(sql) ?? file.prepare(sql.replaceAll("$", "?"));
    statements.set(sql, statement);
    return statement.all(...values);
  };
  const transact = async <T>(work: (query: Query) => Promise<T>, requestedAt: number): Promise<T> => {
    // The write lock comes first, so that nothing that was read can change before the commit.
    await whileBusy(options, () => file.exec(readOnly ? "BEGIN" : "BEGIN IMMEDIATE"), requestedAt);
    let isCommitting = false;
    try {
      const result = await work(query);
      isCommitting = true;
      file.exec("COMMIT");
      return result;
    } catch (error) {
      try {
        file.exec("ROLLBACK");
      } catch {
        // SQLite has rolled back already, as it does when the disk is full.
      }
      // After an error of the disk, a commit may be found in the log later.
      throw storageErrorOf(error, options, isCommitting && resultCodeOf(error) === SQLITE_IOERR);
    }
  };
  /** The driver has one connection, so that transactions of this process wait for each other. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    kind: "sqlite",
    transaction(work) {
      const requestedAt = monotonicNowMs();
      const result = last.then(() => transact(work, requestedAt));
      last = result.catch(() => {});
      return result;
    },
    async close() {
      await last;
      try {
        // The file alone is the database then. Otherwise the log stays, and with it all data.
        if (!readOnly) file.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
      } finally {
        file.close();
      }
    },
  };
}

function openFile({ DatabaseSync }: SqliteDriver, { path, readOnly = false }: SqliteOptions): SqliteFile {
  const file = new DatabaseSync(path, { readOnly });
  try {
    file.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    if (!readOnly) file.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Retries while another process has the lock. SQLite's own waiting would block the event loop. */
async function whileBusy<T>(options: SqliteOptions, action: () => T, requestedAt = monotonicNowMs()): Promise<T> {
  const { lockWaitMs = 30_000 } = options;
  for (;;) {
    try {
      return action();
    } catch (error) {
      const isOver = monotonicNowMs() - requestedAt > lockWaitMs;
      if (isOver || resultCodeOf(error) !== SQLITE_BUSY) throw storageErrorOf(error, options);
    }
    await sleep(Math.random() * MAX_RETRY_DELAY_MS);
  }
}

/** https://www.sqlite.org/rescode.html */
const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;

/** The primary result code of an error of the driver; `undefined` for any other error. Extended codes have it in their lowest byte. */
function resultCodeOf(error: unknown): number | undefined {
  const code = fieldOf(error, "errcode");
  return typeof code === "number" ? code & 0xff : undefined;
}

const ADVICE =
  "Check that the path is right, that the file may be written, that the disk has space, and that no other process keeps it locked.";

/** The `StorageError` for an error of the driver; any other error as it is. */
function storageErrorOf(error: unknown, { path }: SqliteOptions, mayBeStored = false): unknown {
  if (resultCodeOf(error) === undefined) return error;
  return createStorageError("sqlite", { location: path, mayBeStored, cause: error }, ADVICE);
}

/** What to do if there is no driver. The package works on Node.js 20.19, though its `engines` do not say so. */
const INSTALL_DRIVER_ADVICE =
  "Use Node.js 22.13 or later, or run npm install @photostructure/sqlite@2 (on Node.js 20 with --engine-strict=false).";

/**
 * The driver of Node.js, or else that of the package.
 *
 * @throws ConfigurationError when there is none.
 */
export const findSqliteDriver = async (): Promise<SqliteDriver> => loadNodeDriver() ?? (await loadPackageDriver());

/** The driver of Node.js; `undefined` if this version has none, or only behind a flag. */
export function loadNodeDriver(): SqliteDriver | undefined {
  // Bundlers do not know this module, and an import fails on a Node.js without it.
  const module: unknown = process.getBuiltinModule?.("node:sqlite");
  return isSqliteDriver(module) ? module : undefined;
}

/**
 * The driver of the package that users install if Node.js has none.
 *
 * @throws ConfigurationError when it is not installed, or version 1 is: that does not close its files.
 */
export async function loadPackageDriver(): Promise<SqliteDriver> {
  const module: unknown = await import("@photostructure/sqlite").catch((cause: unknown) => {
    const { node } = process.versions;
    throw new ConfigurationError(`SQLite: Node.js ${node} has no node:sqlite. ${INSTALL_DRIVER_ADVICE}`, { cause });
  });
  // Since version 2.0.0 there is `serialize()`. The package exports no version of its own.
  if (isSqliteDriver(module) && "serialize" in module.DatabaseSync.prototype) return module;
  throw new ConfigurationError(`SQLite: @photostructure/sqlite 1 does not close its files. ${INSTALL_DRIVER_ADVICE}`);
}

const isSqliteDriver = (module: unknown): module is SqliteDriver =>
  typeof fieldOf(module, "DatabaseSync") === "function";
