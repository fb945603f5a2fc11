import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { fieldOf } from "../../shared/unknown.js";
import { createStorageError, type StorageProblem } from "../storage-failure.js";

/** Primary result codes, https://www.sqlite.org/rescode.html. Extended codes have them in their lowest byte. */
const PROBLEM_BY_RESULT_CODE: Readonly<Record<number, StorageProblem>> = {
  3: "permission", // SQLITE_PERM
  5: "locked", // SQLITE_BUSY
  8: "read-only", // SQLITE_READONLY
  11: "damaged", // SQLITE_CORRUPT
  13: "full", // SQLITE_FULL
  26: "damaged", // SQLITE_NOTADB
};

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CANTOPEN = 14;

/** The primary result code of an error of the driver; `undefined` for any other error. */
function primaryResultCodeOf(error: unknown): number | undefined {
  const code = fieldOf(error, "errcode");
  return typeof code === "number" ? code & 0xff : undefined;
}

/** Whether another connection has the lock. */
export const isBusyError = (error: unknown): boolean => primaryResultCodeOf(error) === SQLITE_BUSY;

/**
 * The `StorageError` for an error of the driver; any other error is returned as it is.
 *
 * @param waitedMs How long a lock was waited for, in ms.
 * @param isCommitting Whether it is the commit that failed. After an error of the disk, it may be found in the log later.
 */
export function sqliteStorageError(
  error: unknown,
  { path, waitedMs, isCommitting }: { path: string; waitedMs: number; isCommitting: boolean },
): unknown {
  const code = primaryResultCodeOf(error);
  if (code === undefined) return error;
  const mayBeStored = isCommitting && code === SQLITE_IOERR;
  const failure = { storage: "sqlite" as const, location: path, mayBeStored, cause: error };
  if (code === SQLITE_CANTOPEN) return createStorageError({ ...failure, ...whyNotOpened(path) });
  const problem = PROBLEM_BY_RESULT_CODE[code] ?? "other";
  const happened = problem === "locked" ? `it was locked by another process for ${waitedMs / 1000} s` : undefined;
  return createStorageError({ ...failure, problem, happened });
}

const PROBLEM_BY_ERRNO_CODE: Readonly<Record<string, StorageProblem>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EROFS: "read-only",
  EACCES: "permission",
  EPERM: "permission",
  ENOENT: "missing",
  ENOTDIR: "missing",
};

/** The problem that a system error code stands for; `undefined` if the error is not a system error. */
function problemOfFileError(error: unknown): StorageProblem | undefined {
  const code = fieldOf(error, "code");
  if (typeof code !== "string" || fieldOf(error, "syscall") === undefined) return undefined;
  return PROBLEM_BY_ERRNO_CODE[code] ?? "other";
}

/** Why a file can be neither opened nor created; SQLite itself reports no reason. */
function whyNotOpened(path: string): { problem: StorageProblem; happened?: string; cause?: unknown } {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
      return { problem: "other", happened: "it is a directory, not a file" };
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
    return { problem: "other" };
  } catch (error) {
    return { problem: problemOfFileError(error) ?? "other", cause: error };
  }
}
