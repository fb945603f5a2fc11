import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import type { StorageError, StorageProblem } from "../errors/index.js";
import { fieldOf } from "../errors/unknown-value.js";
import { createStorageError } from "./storage-failure.js";

const PROBLEM_BY_ERRNO_CODE: Readonly<Record<string, StorageProblem>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EROFS: "read-only",
  EACCES: "permission",
  EPERM: "permission",
  ENOENT: "missing",
  ENOTDIR: "missing",
};

/** True if a file or folder does not exist. */
export const isFileMissingError = (error: unknown) => fieldOf(error, "code") === "ENOENT";

/** The problem that a system error code stands for; `undefined` if the error is not a system error. */
export function problemOfFileError(error: unknown): StorageProblem | undefined {
  const code = fieldOf(error, "code");
  if (typeof code !== "string" || fieldOf(error, "syscall") === undefined) return undefined;
  return PROBLEM_BY_ERRNO_CODE[code] ?? "other";
}

/** Runs an action on files. A system error becomes a `StorageError`; any other error is thrown as it is. */
export async function withFileFailures<T>(storage: string, path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw fileStorageError(storage, path, error) ?? error;
  }
}

function fileStorageError(storage: string, path: string, error: unknown): StorageError | undefined {
  const problem = problemOfFileError(error);
  return problem && createStorageError({ storage, location: path, problem, cause: error });
}

/** Why a file can be neither opened nor created; SQLite itself reports no reason. */
export function whyNotOpened(path: string): { problem: StorageProblem; happened?: string; cause?: unknown } {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
      return { problem: "other", happened: "it is a directory, not a file" };
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
    return { problem: "other" };
  } catch (error) {
    return { problem: problemOfFileError(error) ?? "other", cause: error };
  }
}
