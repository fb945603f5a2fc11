import type { SqliteDatabase } from "./driver.js";

/** SQLite's code for: another connection holds the lock. Extended codes have it in their lowest byte. */
const BUSY = 5;

const RETRY_EVERY_MS = 25;

/** All of it, or nothing. The write lock is taken first, so that what is read cannot change before the end. */
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
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
    throw error;
  }
}

/** Tries again while another process writes, for so long. SQLite's own waiting would hold up the whole process. */
export async function whenFree<T>(waitMs: number, act: () => T): Promise<T> {
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
