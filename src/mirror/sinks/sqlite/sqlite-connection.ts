import type { MirrorBatch } from "../../sink.js";
import { type MirrorResource, mapResources, tableOf } from "../../tables.js";
import { otherMirrorError } from "../sink-errors.js";
import type { SqliteDatabase, SqliteDriver, SqliteStatement } from "./driver.js";
import { SqliteTable } from "./sqlite-table.js";

/** A table with one row: the saved state. */
const CREATE_STATE =
  "CREATE TABLE IF NOT EXISTS stocklot_state (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL)";

/** How long SQLite itself waits for a lock, in ms: long enough for a short one, such as a checkpoint's. */
const BUSY_TIMEOUT_MS = 50;

/** An open database with a copy. */
export class SqliteConnection {
  readonly tables: Readonly<Record<MirrorResource, SqliteTable>>;
  readonly #path: string;
  readonly #database: SqliteDatabase;
  readonly #getState: SqliteStatement;
  readonly #setState: SqliteStatement;

  constructor({ DatabaseSync }: SqliteDriver, path: string) {
    this.#path = path;
    const database = new DatabaseSync(path);
    this.#database = database;
    try {
      configure(database);
      this.tables = inTransaction(database, () => {
        database.exec(CREATE_STATE);
        return mapResources((resource) => new SqliteTable(database, tableOf(resource)));
      });
      this.#getState = database.prepare("SELECT state FROM stocklot_state");
      this.#setState = database.prepare(
        "INSERT INTO stocklot_state VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
      );
    } catch (error) {
      database.close();
      throw error;
    }
  }

  get state(): string | undefined {
    const [row] = this.#getState.all();
    return row && String(row.state);
  }

  commit({ resource, upsert, remove, previousState, state }: MirrorBatch): void {
    const table = this.tables[resource];
    inTransaction(this.#database, () => {
      if (this.state !== previousState) throw otherMirrorError(this.#path);
      for (const record of upsert) table.upsert(record);
      for (const key of remove) table.delete(key);
      this.#setState.run(state);
    });
  }

  close(): void {
    this.#database.close();
  }
}

/**
 * With a write-ahead log, others can read while the mirror writes, and a commit does not wait for the disk. A power failure
 * may undo the last commits, each as a whole, together with the state that it saved.
 */
function configure(database: SqliteDatabase): void {
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
