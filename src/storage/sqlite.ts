import * as z from "zod";
import { withCheck } from "../shared/schema.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { giveTurn } from "../shared/time/turn.js";
import { sleep } from "../shared/time/wait.js";
import { fieldOf } from "../shared/unknown.js";
import type { SqlDatabase, SqlQuery, TransactionOptions } from "./database.js";
import { findSqliteDriver, type SqliteDriver, type SqliteFile, type SqliteStatement } from "./sqlite-driver.js";
import { createStorageError } from "./storage-failure.js";

/** The path of a file. A database in memory would be lost without an error. */
export const sqlitePathSchema = () =>
  withCheck(z.string().min(1), (path) =>
    path === ":memory:" || /^file:/i.test(path)
      ? 'must be the path of a file; ":memory:" and addresses that begin with "file:" are not accepted'
      : undefined,
  );

/** How long SQLite itself waits for a lock, in ms. This wait blocks the event loop. */
const BUSY_TIMEOUT_MS = 5;

/** The longest delay between two attempts to get a lock, in ms. Random delays keep processes from waiting in step. */
const MAX_RETRY_DELAY_MS = 40;

export interface SqliteOptions {
  /** The file; created if there is none. */
  path: string;
  /** Whether nothing in the file is changed, not even its journal mode. */
  readOnly?: boolean;
  /**
   * Time limit of the wait for another process's lock, in ms.
   * @default 30_000
   */
  lockWaitMs?: number;
  /** @default findSqliteDriver */
  loadDriver?: (() => Promise<SqliteDriver>) | undefined;
}

/**
 * Opens a database with a write-ahead log, so that others can read while this process writes. A commit waits until it
 * is on the disk. SQLite works synchronously: between two commands the event loop gets its turn.
 *
 * @throws StorageError if the file cannot be opened, or is locked for too long.
 * @throws ConfigurationError if there is no driver.
 */
export async function openSqlite(options: SqliteOptions, signal?: AbortSignal): Promise<SqlDatabase> {
  const { path, readOnly = false, loadDriver = findSqliteDriver } = options;
  // Loaded at first use: some runtimes that load this module do not have them.
  const [driver, fs, { pathToFileURL }] = await Promise.all([loadDriver(), import("node:fs"), import("node:url")]);
  const source: Source = {
    driver,
    address: `${pathToFileURL(path).href}?immutable=1`,
    stamp() {
      if (fs.existsSync(`${path}-wal`)) return undefined;
      const stat = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
      return stat && `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
    },
  };
  let opened: OpenedFile | undefined = await whileBusy(options, { reads: readOnly, signal }, () =>
    openFile(source, options),
  );

  const transact = async <T>(
    work: (query: SqlQuery) => Promise<T>,
    { reads = readOnly, signal: end }: TransactionOptions,
    requestedAt: number,
  ): Promise<T> => {
    await giveTurn();
    const waiting = { reads, signal: end };
    opened ??= await whileBusy(options, waiting, () => openFile(source, options), requestedAt);
    const { file, query, isUnchanged } = opened;
    // The write lock comes first, so that nothing that was read can change before the commit.
    await whileBusy(options, waiting, () => file.exec(reads ? "BEGIN" : "BEGIN IMMEDIATE"), requestedAt);
    let isCommitting = false;
    try {
      const result = await work(query);
      isCommitting = true;
      file.exec("COMMIT");
      if (isUnchanged()) return result;
    } catch (error) {
      try {
        file.exec("ROLLBACK");
      } catch {
        // SQLite has rolled back by itself already, for example because the disk is full.
      }
      // After a disk error during COMMIT, SQLite may still find the commit in its log later.
      if (isUnchanged())
        throw sqliteErrorOf(error, options, reads, isCommitting && !reads && resultCodeOf(error) === SQLITE_IOERR);
    }
    // Another process has written to the file, so rows may be torn. The next transaction opens the file again.
    opened = undefined;
    file.close();
    const cause = new Error("the file was written while it was read");
    const init = { location: path, mayBeStored: false, cause };
    throw createStorageError("sqlite", init, { reads: true, text: "Read it again." });
  };
  /** The end of the last transaction. The driver has one connection, so transactions of this process run one by one. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    kind: "sqlite",
    location: path,
    transaction(work, transactionOptions = {}) {
      const requestedAt = monotonicNowMs();
      const result = last.then(() => transact(work, transactionOptions, requestedAt));
      last = result.catch(() => {});
      return result;
    },
    async close() {
      await last;
      const file = opened?.file;
      try {
        // Moves the log into the file. If this fails, the log stays, with all its data.
        if (!readOnly) file?.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
      } finally {
        file?.close();
      }
    },
  };
}

interface OpenedFile {
  file: SqliteFile;
  query: SqlQuery;
  /** Whether nobody has written to the file since it was opened. Always true if SQLite itself notices writes. */
  isUnchanged(): boolean;
}

interface Source {
  driver: SqliteDriver;
  /** The address with which SQLite reads only the file itself. It is safe only while nobody writes to the file. */
  address: string;
  /** Returns a value that differs after every write to the file; `undefined` without a file, or if it has a log. */
  stamp(): string | undefined;
}

function openFile({ driver, address, stamp }: Source, options: SqliteOptions): OpenedFile {
  const { path, readOnly = false } = options;
  const before = readOnly ? stamp() : undefined;
  try {
    return openedFile(openWith(driver, path, options), () => true);
  } catch (error) {
    // Without the right to write into the folder, SQLite cannot create the files that readers and writers share. If
    // there is no log, nobody writes, and the file alone is the database.
    const isDenied = [SQLITE_CANTOPEN, SQLITE_READONLY].includes(resultCodeOf(error) ?? 0);
    if (!isDenied || before === undefined || stamp() !== before) throw error;
    const file = openWith(driver, address, options);
    return openedFile(file, () => stamp() === before);
  }
}

function openWith({ DatabaseSync }: SqliteDriver, path: string, { readOnly = false }: SqliteOptions): SqliteFile {
  const file = new DatabaseSync(path, { readOnly });
  try {
    file.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    if (readOnly) file.prepare("SELECT count(*) FROM sqlite_schema").all();
    else file.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

function openedFile(file: SqliteFile, isUnchanged: () => boolean): OpenedFile {
  const statements = new Map<string, SqliteStatement>();
  return {
    file,
    isUnchanged,
    async query(sql, values = []) {
      await giveTurn();
      const statement = statements.get(sql) ?? file.prepare(sql.replaceAll("$", "?"));
      statements.set(sql, statement);
      return statement.all(...values);
    },
  };
}

/** Retries while another process has the lock. SQLite's own waiting would block the event loop. */
async function whileBusy<T>(
  options: SqliteOptions,
  { reads = false, signal }: TransactionOptions,
  action: () => T,
  requestedAt = monotonicNowMs(),
): Promise<T> {
  const { lockWaitMs = 30_000 } = options;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return action();
    } catch (error) {
      const isOver = monotonicNowMs() - requestedAt > lockWaitMs;
      if (isOver || resultCodeOf(error) !== SQLITE_BUSY) throw sqliteErrorOf(error, options, reads);
    }
    await sleep(Math.random() * MAX_RETRY_DELAY_MS, signal);
  }
}

/** https://www.sqlite.org/rescode.html */
const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CANTOPEN = 14;

/** Returns the primary result code of a driver's error: the lowest byte of an extended code. Otherwise `undefined`. */
function resultCodeOf(error: unknown): number | undefined {
  const code = fieldOf(error, "errcode");
  return typeof code === "number" ? code & 0xff : undefined;
}

const SQLITE_ADVICE =
  "Check that the path is right, that the file may be written, that the disk has space, and that no other process keeps it locked.";
const READING_ADVICE =
  "Check that the path is right, that the file and, if there are any, those that end in -wal and -shm may be read, and that no other process keeps it locked.";

/** Returns the `StorageError` for an error of the driver, and any other error unchanged. */
function sqliteErrorOf(error: unknown, { path }: SqliteOptions, reads: boolean, mayBeStored = false): unknown {
  if (resultCodeOf(error) === undefined) return error;
  const advice = { reads, text: reads ? READING_ADVICE : SQLITE_ADVICE };
  return createStorageError("sqlite", { location: path, mayBeStored, cause: error }, advice);
}
