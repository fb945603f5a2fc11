import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
import { fieldOf } from "../../shared/unknown.js";
import type { Query, SqlDatabase } from "../database.js";
import { createStorageError } from "../storage-failure.js";
import { findSqliteDriver, type SqliteDatabase, type SqliteDriver, type SqliteStatement } from "./driver.js";

const DEFAULT_LOCK_WAIT_MS = 30_000;

/** How long SQLite itself waits for a lock, in ms. It blocks the event loop meanwhile. */
const BUSY_TIMEOUT_MS = 5;

/** The longest time between two attempts to get a lock, in ms. Random, so that two processes do not keep in step. */
const MAX_RETRY_DELAY_MS = 40;

export interface SqliteDatabaseOptions {
  /** The file; created if there is none. */
  path: string;
  /**
   * Whether nothing in the file is changed, not even its journal mode.
   * @default false
   */
  readOnly?: boolean;
  /**
   * Whether a commit waits until it is on the disk. Otherwise a power failure may undo the last ones, each as a whole.
   * @default true
   */
  durable?: boolean;
  /**
   * How long a lock of another process is waited for, in ms.
   * @default 30_000
   */
  lockWaitMs?: number;
  /** @default findSqliteDriver */
  loadDriver?: () => Promise<SqliteDriver>;
}

/**
 * Opens a database with a write-ahead log, so that others can read while this process writes. A commit waits until it is on
 * the disk, unless stated.
 *
 * @throws StorageError when the file cannot be opened, or is locked for too long.
 * @throws ConfigurationError when there is no driver.
 */
export async function openSqlite(options: SqliteDatabaseOptions): Promise<SqlDatabase> {
  const { path, readOnly = false, loadDriver = findSqliteDriver } = options;
  const driver = await loadDriver();
  const database = await whileBusy(options, () => openFile(driver, options));
  const statements = new Map<string, SqliteStatement>();
  const query: Query = async (sql, values = []) => {
    const statement = statements.get(sql) ?? database.prepare(sql.replaceAll("$", "?"));
    statements.set(sql, statement);
    return statement.all(...values);
  };
  const transact = async <T>(work: (query: Query) => Promise<T>, requestedAt: number): Promise<T> => {
    // The write lock comes first, so that nothing that was read can change before the commit.
    await whileBusy(options, () => database.exec(readOnly ? "BEGIN" : "BEGIN IMMEDIATE"), requestedAt);
    let isCommitting = false;
    try {
      const result = await work(query);
      isCommitting = true;
      database.exec("COMMIT");
      return result;
    } catch (error) {
      rollBackQuietly(database);
      // After an error of the disk, a commit may be found in the log later.
      throw storageErrorOf(error, path, { mayBeStored: isCommitting && resultCodeOf(error) === SQLITE_IOERR });
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
        if (!readOnly) database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
      } finally {
        database.close();
      }
    },
  };
}

function openFile(
  { DatabaseSync }: SqliteDriver,
  { path, readOnly = false, durable = true }: SqliteDatabaseOptions,
): SqliteDatabase {
  const database = new DatabaseSync(path, { readOnly });
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    if (readOnly) return database;
    const [row] = database.prepare("PRAGMA journal_mode = WAL").all();
    // Some file systems do not support a log. Then only FULL is safe.
    database.exec(`PRAGMA synchronous = ${durable || row?.journal_mode !== "wal" ? "FULL" : "NORMAL"}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function rollBackQuietly(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // SQLite has rolled back already, as it does when the disk is full.
  }
}

/** Retries while another process has the lock. SQLite's own waiting would block the event loop. */
async function whileBusy<T>(
  { path, lockWaitMs = DEFAULT_LOCK_WAIT_MS }: SqliteDatabaseOptions,
  action: () => T,
  requestedAt = monotonicNowMs(),
): Promise<T> {
  for (;;) {
    try {
      return action();
    } catch (error) {
      if (resultCodeOf(error) !== SQLITE_BUSY) throw storageErrorOf(error, path);
      if (monotonicNowMs() - requestedAt > lockWaitMs)
        throw storageErrorOf(error, path, { happened: `it was locked by another process for ${lockWaitMs / 1000} s` });
    }
    await sleep(Math.random() * MAX_RETRY_DELAY_MS);
  }
}

/** https://www.sqlite.org/rescode.html */
const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CANTOPEN = 14;

/** The primary result code of an error of the driver; `undefined` for any other error. Extended codes have it in their lowest byte. */
function resultCodeOf(error: unknown): number | undefined {
  const code = fieldOf(error, "errcode");
  return typeof code === "number" ? code & 0xff : undefined;
}

/** The `StorageError` for an error of the driver; any other error as it is. */
function storageErrorOf(
  error: unknown,
  path: string,
  more: { mayBeStored?: boolean; happened?: string } = {},
): unknown {
  const code = resultCodeOf(error);
  if (code === undefined) return error;
  const cause = code === SQLITE_CANTOPEN ? whyNotOpened(path, error) : error;
  return createStorageError({ storage: "sqlite", location: path, cause, ...more });
}

/** Why a file can be neither opened nor created: SQLite itself reports no reason. */
function whyNotOpened(path: string, error: unknown): unknown {
  try {
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
    return error;
  } catch (reason) {
    return reason;
  }
}
