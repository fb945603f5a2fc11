import type { SqliteDatabase } from "./driver.js";

/** How long SQLite itself waits for a lock, in ms: long enough for a short one, such as a checkpoint's. */
const BUSY_TIMEOUT_MS = 50;

/**
 * With a write-ahead log, others can read while the mirror writes, and a commit does not wait for the disk. A power failure
 * may undo the last commits, each as a whole, together with the state that it saved.
 */
export function configure(database: SqliteDatabase): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  const [row] = database.prepare("PRAGMA journal_mode = WAL").all();
  // Some file systems do not support it. Then each commit waits for the disk, which is the default.
  if (row?.journal_mode === "wal") database.exec("PRAGMA synchronous = NORMAL");
}

/** SQLITE_BUSY: another connection has the lock. Extended codes have it in their lowest byte. */
const BUSY = 5;

const RETRY_EVERY_MS = 25;

/** Runs `act` in one transaction. The write lock comes first, so that nothing that was read can change before the commit. */
export function inTransaction<T>(database: SqliteDatabase, act: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = act();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      database.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back already, as it does when the disk is full.
    }
    throw error;
  }
}

/** Retries while another process writes, for up to `waitMs`. SQLite's own waiting would block the event loop. */
export async function retryWhileBusy<T>(waitMs: number, act: () => T): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_EVERY_MS));
  }
}

const isBusy = (error: unknown) =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number" && (error.errcode & 0xff) === BUSY;
