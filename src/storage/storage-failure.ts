import { StorageError } from "../shared/errors/index.js";
import { fieldOf, messageOf } from "../shared/unknown.js";

/** Returns a `StorageError` whose message says what happened, whether the change was stored, and what to do. */
export function createStorageError(
  storage: "sqlite" | "postgres",
  init: { location: string; mayBeStored: boolean; cause: unknown },
  advice: { reads: boolean; text: string },
): StorageError {
  const { location, mayBeStored, cause } = init;
  // The driver's message is empty if several addresses have failed.
  const happened = messageOf(cause).replace(/\.$/, "") || String(fieldOf(cause, "code"));
  const effect = mayBeStored ? " The change may or may not have been stored." : " The change was not stored.";
  const message = `${storage} ${location}: ${happened}.${advice.reads ? "" : effect} ${advice.text}`;
  const error = new StorageError(message, init);
  const kind = rejectionIn(cause);
  if (kind) rejections.set(error, kind);
  return error;
}

/** How a database rejects a command: `lasting` (most likely again), or `passing` (for example, the disk is full). */
export type Rejection = "lasting" | "passing";

/** The kind of rejection of each error. The error itself does not keep the details of its cause. */
const rejections = new WeakMap<object, Rejection>();

/** The database has accepted a command without doing what the command says. */
class IneffectiveCommand extends Error {}

/**
 * Returns the error for a command that was accepted but stored, changed or removed fewer rows than it must. No other
 * process has changed the rows meanwhile, so a trigger or a rule has prevented it.
 */
export function ineffectiveCommand(
  { kind, location }: { kind: "sqlite" | "postgres"; location: string },
  right: string,
  table: string,
): StorageError {
  const happened = `${right} had no effect on rows of the table ${table}, without an error`;
  const text = `A trigger or a rule of that table prevents it. Remove it, or use a database user who may ${right}.`;
  return createStorageError(
    kind,
    { location, mayBeStored: false, cause: new IneffectiveCommand(happened) },
    { reads: false, text },
  );
}

/** Conditions that may end: locks, conflicts, resources, a server that starts, ends or is not the primary server. */
const PASSING_STATES = /^(?:08|25006|40|53|55|57|58|XX)/;
/**
 * Passing failures in which the server works but rejects this command. After an internal error (XX), the command may be
 * repeated, but its effect is not known: for `mayBeStored`, `isRejected` counts it as no rejection.
 */
const WORKING_STATES = /^(?:40|53|55|57014|58|XX)/;

/** Lasting results of SQLite: wrong command (1), no right (3, 8, 23), damaged (11, 26), constraint or trigger (19). */
const LASTING_RESULTS: readonly number[] = [1, 3, 8, 11, 19, 23, 26];
/** Results of SQLite that may end by themselves: a disk error (10), and a full disk (13). */
const PASSING_RESULTS: readonly number[] = [10, 13];

/** Returns how a working database rejects the command; `undefined` if the database cannot be reached, or is locked. */
export const rejectionOf = (error: unknown): Rejection | undefined =>
  StorageError.is(error) ? rejections.get(error) : undefined;

function rejectionIn(cause: unknown): Rejection | undefined {
  if (cause instanceof IneffectiveCommand) return "lasting";
  const result = fieldOf(cause, "errcode");
  if (typeof result === "number") {
    if (LASTING_RESULTS.includes(result & 0xff)) return "lasting";
    return PASSING_RESULTS.includes(result & 0xff) ? "passing" : undefined;
  }
  const state = fieldOf(cause, "severity") === undefined ? "" : String(fieldOf(cause, "code"));
  // 0A000 is "feature not supported". It lasts, unless the reason is a server in recovery.
  if (state === "0A000" && /recovery|read-only/.test(messageOf(cause))) return undefined;
  if (!/^[\dA-Z]{5}$/.test(state)) return undefined;
  if (!PASSING_STATES.test(state)) return "lasting";
  return WORKING_STATES.test(state) ? "passing" : undefined;
}
