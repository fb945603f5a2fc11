import { monotonicNowMs } from "../../time/clock.js";
import { sleep } from "../../time/wait.js";
import { findSqliteDriver, type SqliteDatabase, type SqliteDriver } from "./driver.js";
import { isBusyError, sqliteStorageError } from "./sqlite-failure.js";

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
  /** @default LOCK_WAIT_MS */
  lockWaitMs?: number;
  /** @default findDriver */
  loadDriver?: () => Promise<SqliteDriver>;
}

/** How long a lock of another process is waited for, in ms. */
const DEFAULT_LOCK_WAIT_MS = 30_000;

/** How long SQLite itself waits for a lock, in ms. It blocks the event loop meanwhile. */
const SQLITE_BUSY_TIMEOUT_MS = 5;

/** The longest time between two attempts to get a lock, in ms. Random, so that two processes do not keep in step. */
const MAX_RETRY_DELAY_MS = 40;

/** An open SQLite database. Waits for locks without blocking the event loop. Failures of the driver are `StorageError`s. */
export class SqliteConnection {
  readonly #database: SqliteDatabase;
  readonly #path: string;
  readonly #signal: AbortSignal | undefined;
  readonly #lockWaitMs: number;
  /** Settles when the last transaction has ended: those of one process run in the order in which they were requested. */
  #lastTransaction: Promise<unknown> = Promise.resolve();

  /**
   * Opens a database with a write-ahead log, so that others can read while this process writes.
   *
   * @throws StorageError when the file cannot be opened, or is locked for too long.
   * @throws ConfigurationError when there is no driver.
   */
  static async open(options: SqliteConnectionOptions): Promise<SqliteConnection> {
    const { path, synchronous, signal, lockWaitMs = DEFAULT_LOCK_WAIT_MS, loadDriver = findSqliteDriver } = options;
    const driver = await loadDriver();
    const waiting = { path, signal, waitMs: lockWaitMs, deadline: monotonicNowMs() + lockWaitMs };
    const database = await retryWhileBusy(waiting, () => openSqliteDatabase(driver, path, synchronous));
    return new SqliteConnection(database, { path, signal, lockWaitMs });
  }

  private constructor(
    database: SqliteDatabase,
    { path, signal, lockWaitMs }: { path: string; signal: AbortSignal | undefined; lockWaitMs: number },
  ) {
    this.#database = database;
    this.#path = path;
    this.#signal = signal;
    this.#lockWaitMs = lockWaitMs;
  }

  /** Runs statements that write nothing, and that need not see the same version of the data. */
  read<T>(action: (database: SqliteDatabase) => T): Promise<T> {
    return retryWhileBusy(this.#waiting(), () => action(this.#database));
  }

  /**
   * Runs an action in a transaction. The write lock comes first, so that nothing that was read can change before the commit.
   *
   * @param action Called again if the lock was lost before the commit.
   */
  transaction<T>(action: (database: SqliteDatabase) => T): Promise<T> {
    const waiting = this.#waiting();
    const run = () => retryWhileBusy(waiting, () => this.#runTransaction(action));
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

  #waiting(): LockWait {
    const waitMs = this.#lockWaitMs;
    return { path: this.#path, signal: this.#signal, waitMs, deadline: monotonicNowMs() + waitMs };
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
      throw sqliteStorageError(error, { path: this.#path, waitedMs: 0, isCommitting });
    }
  }
}

function openSqliteDatabase(
  { DatabaseSync }: SqliteDriver,
  path: string,
  synchronous: SqliteConnectionOptions["synchronous"],
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

interface LockWait {
  path: string;
  signal: AbortSignal | undefined;
  waitMs: number;
  /** When the wait ends, by the monotonic clock. */
  deadline: number;
}

/** Retries while another process has the lock. SQLite's own waiting would block the event loop. */
async function retryWhileBusy<T>({ path, signal, waitMs, deadline }: LockWait, action: () => T): Promise<T> {
  for (;;) {
    try {
      return action();
    } catch (error) {
      if (!isBusyError(error) || monotonicNowMs() > deadline)
        throw sqliteStorageError(error, { path, waitedMs: waitMs });
    }
    await sleep(Math.random() * MAX_RETRY_DELAY_MS, signal);
    signal?.throwIfAborted();
  }
}
