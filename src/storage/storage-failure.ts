import { StorageError } from "../shared/errors/index.js";
import { fieldOf, messageOf } from "../shared/unknown.js";

/** What happened, and what to do, for the message. */
const PROBLEM_TEXTS = {
  full: ["no space is left", "Free space, then try again."],
  "read-only": ["it is read-only", "Make the file and its directory, or the database, writable."],
  permission: ["access was denied", "Check permissions and credentials."],
  missing: ["the directory or the database does not exist", "Create it, or correct its name."],
  locked: ["it was locked for too long", "Find the process or session that holds the lock, then try again."],
  timeout: ["it did not respond in time", "Check its load and the network, then try again."],
  unreachable: ["there is no connection", "Check that the database runs and can be reached, then try again."],
  damaged: [
    "it is not a database, or its content is damaged",
    "Check the path. If it is right, restore the file from a backup.",
  ],
  other: ["the operation failed", "See the cause."],
} as const satisfies Readonly<Record<string, readonly [happened: string, todo: string]>>;

export type StorageProblem = keyof typeof PROBLEM_TEXTS;

interface StorageFailure {
  storage: "sqlite" | "postgres";
  location: string;
  /** @default "other" */
  problem?: StorageProblem;
  mayBeStored?: boolean;
  /** The error of the driver. */
  cause?: unknown;
  /** Replaces the default wording of the problem. */
  happened?: string | undefined;
  /** Replaces the default advice. */
  advice?: string | undefined;
}

/** A `StorageError` whose message states what happened, whether the change was stored, and what to do. */
export function createStorageError(failure: StorageFailure): StorageError {
  const { storage, location, problem = "other", mayBeStored = false, happened, advice, cause } = failure;
  const [usual, todo] = PROBLEM_TEXTS[problem];
  const reason = describeReason(cause);
  const what = `${happened ?? usual}${reason === "" ? "" : ` (${reason})`}`;
  const effect = mayBeStored ? "The change may or may not have been stored." : "The change was not stored.";
  return new StorageError(`${storage} ${location}: ${what}. ${effect} ${advice ?? todo}`, {
    location,
    mayBeStored,
    cause,
  });
}

/** The message of a driver's error. That of several failed addresses is empty, but it has a code. */
function describeReason(cause: unknown): string {
  if (cause === undefined) return "";
  const message = messageOf(cause) || String(fieldOf(cause, "code") ?? "");
  return message.replace(/\.$/, "");
}

/** True if a file or folder does not exist. */
export const isFileMissingError = (error: unknown) => fieldOf(error, "code") === "ENOENT";
