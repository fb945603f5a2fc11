import { StorageError } from "../shared/errors/index.js";
import { fieldOf, messageOf } from "../shared/unknown.js";

/** A `StorageError` whose message states what happened, whether the change was stored, and what to do. */
export function createStorageError(
  storage: "sqlite" | "postgres",
  init: { location: string; mayBeStored: boolean; cause: unknown },
  advice: string,
): StorageError {
  const { location, mayBeStored, cause } = init;
  // The message of several failed addresses is empty.
  const happened = messageOf(cause).replace(/\.$/, "") || String(fieldOf(cause, "code"));
  const effect = mayBeStored ? "The change may or may not have been stored." : "The change was not stored.";
  return new StorageError(`${storage} ${location}: ${happened}. ${effect} ${advice}`, init);
}
