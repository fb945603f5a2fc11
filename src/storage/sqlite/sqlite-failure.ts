import type { StorageProblem } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import { whyNotOpened } from "../file-failure.js";
import { storageFailure } from "../storage-failure.js";

/** Primary result codes, https://www.sqlite.org/rescode.html. Extended codes have them in their lowest byte. */
const PROBLEMS: Readonly<Record<number, StorageProblem>> = {
  3: "permission", // SQLITE_PERM
  5: "locked", // SQLITE_BUSY
  8: "read-only", // SQLITE_READONLY
  11: "damaged", // SQLITE_CORRUPT
  13: "full", // SQLITE_FULL
  26: "damaged", // SQLITE_NOTADB
};

const BUSY = 5;
const IOERR = 10;
const CANTOPEN = 14;

/** The primary result code of an error of the driver; `undefined` for any other error. */
function resultCode(error: unknown): number | undefined {
  const code = fieldOf(error, "errcode");
  return typeof code === "number" ? code & 0xff : undefined;
}

/** Whether another connection has the lock. */
export const isBusy = (error: unknown): boolean => resultCode(error) === BUSY;

/**
 * The `StorageError` for an error of the driver; any other error is returned as it is.
 *
 * @param waitedMs How long a lock was waited for, in ms.
 * @param isCommitting Whether it is the commit that failed. After an error of the disk, it may be found in the log later.
 */
export function sqliteFailure(
  error: unknown,
  { path, waitedMs, isCommitting = false }: { path: string; waitedMs: number; isCommitting?: boolean },
): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  const mayBeStored = isCommitting && code === IOERR;
  const failure = { storage: "sqlite", location: path, mayBeStored, cause: error };
  if (code === CANTOPEN) return storageFailure({ ...failure, ...whyNotOpened(path) });
  const problem = PROBLEMS[code] ?? "other";
  const happened = problem === "locked" ? `it was locked by another process for ${waitedMs / 1000} s` : undefined;
  return storageFailure({ ...failure, problem, happened });
}
