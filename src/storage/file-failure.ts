import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import type { StorageProblem } from "../errors/index.js";
import { fieldOf } from "../errors/unknown-value.js";

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
function problemOfFileError(error: unknown): StorageProblem | undefined {
  const code = fieldOf(error, "code");
  if (typeof code !== "string" || fieldOf(error, "syscall") === undefined) return undefined;
  return PROBLEM_BY_ERRNO_CODE[code] ?? "other";
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
