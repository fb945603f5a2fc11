import { StorageError } from "../shared/errors/index.js";
import { fieldOf, messageOf } from "../shared/unknown.js";

interface StorageFailure {
  location: string;
  mayBeStored: boolean;
  /** The error of the driver. */
  cause: unknown;
  advice: string;
}

/** A `StorageError` whose message states what happened, whether the change was stored, and what to do. */
export function createStorageError(
  storage: "sqlite" | "postgres",
  { location, mayBeStored, cause, advice }: StorageFailure,
): StorageError {
  // The message of several failed addresses is empty.
  const happened = messageOf(cause).replace(/\.$/, "") || String(fieldOf(cause, "code"));
  const effect = mayBeStored ? "The change may or may not have been stored." : "The change was not stored.";
  return new StorageError(`${storage} ${location}: ${happened}. ${effect} ${advice}`, { location, mayBeStored, cause });
}
