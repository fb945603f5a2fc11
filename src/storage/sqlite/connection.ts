import { monotonicNowMs } from "../../shared/time/clock.js";
import { sleep } from "../../shared/time/wait.js";
import { findSqliteDriver, type SqliteDatabase, type SqliteDriver } from "./driver.js";
import { isBusyError, sqliteStorageError } from "./failure.js";

export interface SqliteConnectionOptions {
  /** The database file; created if there is none. */
  path: string;
  /**
   * Whether a commit waits until it is on the disk (`FULL`), or a power failure may undo the last commits, each as a whole
   * (`NORMAL`). `read-only` changes nothing in the file, not even its journal mode.
   */
  synchronous: "FULL" | "NORMAL" | "read-only";
  /**
   * Ends the wait for a lock. Work that needs no wait is still done.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * How long a lock of another process is waited for, in ms.
   * @default 30_000
   */
  lockWaitMs?: number;
  /** @default findSqliteDriver */
  loadDriver?: () => Promise<SqliteDriver>;
}

const DEFAULT_LOCK_WAIT_MS = 30_000;

/** How long SQLite itself waits for a lock, in ms. It blocks the event loop meanwhile. */
const SQLITE_BUSY_TIMEOUT_MS = 5;

/** The longest time between two attempts to get a lock, in ms. Random, so that two processes do not keep in step. */
const MAX_RETRY_DELAY_MS = 40;

/** An open SQLite database. Waits for locks without blocking the event loop. Failures of the driver are `StorageError`s. */
export class SqliteConnection {
  readonly #database: SqliteDatabase;
  readonly #options: SqliteConnectionOptions;
  /** The end of the last transaction: those of one process run in the order in which they were requested. */
  #lastTransaction: Promise<unknown> = Promise.resolve();

  /**
   * Opens a database with a write-ahead log, so that others can read while this process writes.
   *
   * @throws StorageError when the file cannot be opened, or is locked for too long.
   * @throws ConfigurationError when there is no driver.
   */
  static async open(options: SqliteConnectionOptions): Promise<SqliteConnection> {
    const driver = await (options.loadDriver ?? findSqliteDriver)();
    const database = await retryWhileBusy(options, () => openSqliteDatabase(driver, options));
    return new SqliteConnection(database, options);
  }

  private constructor(database: SqliteDatabase, options: SqliteConnectionOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** Runs statements that write nothing, and that need not see the same version of the data. */
  read<T>(action: (database: SqliteDatabase) => T): Promise<T> {
    return retryWhileBusy(this.#options, () => action(this.#database));
  }

  /**
   * Runs an action in a transaction. The write lock comes first, so that nothing that was read can change before the commit.
   *
   * @param action Called again if the lock was lost before the commit.
   */
  transaction<T>(action: (database: SqliteDatabase) => T): Promise<T> {
    const requestedAt = monotonicNowMs();
    const run = () => retryWhileBusy(this.#options, () => this.#runTransaction(action), requestedAt);
    const result = this.#lastTransaction.then(run);
    this.#lastTransaction = result.catch(() => {});
    return result;
  }

  /** Moves the write-ahead log into the file, so that the file alone is the database, and closes it. Waits for transactions. */
  async close(): Promise<void> {
    await this.#lastTransaction;
    try {
      this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // The log stays, and with it all data. The next connection that opens the database reads it.
    } finally {
      this.#database.close();
    }
  }

  #runTransaction<T>(action: (database: SqliteDatabase) => T): T {
    const database = this.#database;
    database.exec("BEGIN IMMEDIATE");
    let isCommitting = false;
    try {
      const result = action(database);
      isCommitting = true;
      database.exec("COMMIT");
      return result;
    } catch (error) {
      rollBackQuietly(database);
      if (isBusyError(error)) throw error;
      throw sqliteStorageError(error, { path: this.#options.path, waitedMs: 0, isCommitting });
    }
  }
}

function openSqliteDatabase(
  { DatabaseSync }: SqliteDriver,
  { path, synchronous }: SqliteConnectionOptions,
): SqliteDatabase {
  const readOnly = synchronous === "read-only";
  const database = new DatabaseSync(path, { readOnly });
  try {
    database.exec(`PRAGMA busy_timeout = ${SQLITE_BUSY_TIMEOUT_MS}`);
    if (readOnly) return database;
    const [row] = database.prepare("PRAGMA journal_mode = WAL").all();
    // Some file systems do not support a log. Then only FULL is safe.
    database.exec(`PRAGMA synchronous = ${row?.journal_mode === "wal" ? synchronous : "FULL"}`);
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
async function retryWhileBusy<T>(
  { path, signal, lockWaitMs = DEFAULT_LOCK_WAIT_MS }: SqliteConnectionOptions,
  action: () => T,
  requestedAt = monotonicNowMs(),
): Promise<T> {
  for (;;) {
    try {
      return action();
    } catch (error) {
      if (!isBusyError(error) || monotonicNowMs() - requestedAt > lockWaitMs)
        throw sqliteStorageError(error, { path, waitedMs: lockWaitMs, isCommitting: false });
    }
    await sleep(Math.random() * MAX_RETRY_DELAY_MS, signal);
    signal?.throwIfAborted();
  }
}
