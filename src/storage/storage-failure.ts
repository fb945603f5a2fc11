import { StorageError } from "../shared/errors/index.js";
import { fieldOf, messageOf } from "../shared/unknown.js";

interface StorageFailure {
  storage: "sqlite" | "postgres";
  location: string;
  mayBeStored?: boolean;
  /** The error of the driver. */
  cause: unknown;
  /** What happened; the driver's message by default. */
  happened?: string | undefined;
  /** What to do if no rule applies. */
  advice?: string;
}

/** What to do, by the code and the message of a driver or of the system; the first match applies. */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/locked|^55P03 /, "Find the process or session that holds the lock, then try again."],
  [/ is full|^(53100|ENOSPC|EDQUOT) /, "Free space, then try again."],
  [
    /^42501 /,
    "Grant USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on all its tables. Who creates the tables also needs CREATE on the schema.",
  ],
  [/read-?only|recovery|^(28\w{3}|EACCES|EPERM|EROFS) /, "Check the rights, and user name and password of a server."],
  [/^(3D000|ENOENT|ENOTDIR) /, "Create the directory or the database, or correct its name."],
  [
    /not a database|malformed|^XX00[12] /,
    "It is not a database, or its content is damaged. If its address is right, restore it from a backup.",
  ],
];

/** A `StorageError` whose message states what happened, whether the change was stored, and what to do. */
export function createStorageError(failure: StorageFailure): StorageError {
  const { storage, location, mayBeStored = false, cause, advice: usual = "See the cause." } = failure;
  const code = String(fieldOf(cause, "code") ?? "");
  // The message of several failed addresses is empty.
  const happened = failure.happened ?? (messageOf(cause).replace(/\.$/, "") || code);
  const effect = mayBeStored ? "The change may or may not have been stored." : "The change was not stored.";
  const [, advice = usual] = ADVICE.find(([pattern]) => pattern.test(`${code} ${happened}`)) ?? [];
  return new StorageError(`${storage} ${location}: ${happened}. ${effect} ${advice}`, { location, mayBeStored, cause });
}
