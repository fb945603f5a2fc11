import { StorageError } from "../shared/errors/index.js";
import { fieldOf, messageOf } from "../shared/unknown.js";
import { createStorageError } from "./storage-failure.js";

/** Whether the server has rejected a command, and the connection still works. */
export function isRejected(error: unknown): boolean {
  const state = fieldOf(error, "severity") === undefined ? "" : String(fieldOf(error, "code"));
  // `40003` is "statement completion unknown"; class XX are internal errors.
  return /^[\dA-Z]{5}$/.test(state) && !/^(?:40003|08|57P|XX)/.test(state);
}

/** Whether the server is read-only. After a failover, another server accepts the writes. */
export function isReadOnlyServer(error: unknown): boolean {
  const code = fieldOf(error, "code");
  return code === "25006" || (code === "0A000" && /recovery|read-only/.test(messageOf(error)));
}

/** Codes of a connection that the server, or something in between, has ended. */
const ENDED: readonly string[] = ["57P01", "57P02", "ECONNRESET", "EPIPE"];

const isEnded = (error: unknown): boolean =>
  ENDED.includes(String(fieldOf(error, "code"))) || /^Connection terminated/.test(messageOf(error));

/** Codes for an address or a socket file on which no server listens. */
const NO_SERVER_CODES: readonly string[] = ["ECONNREFUSED", "ENOENT"];

/** Returns why there is no connection, if a later attempt may succeed: the server is starting, or it is absent. */
export function absenceOf(error: unknown): "starting" | "absent" | undefined {
  const code = String(fieldOf(error, "code"));
  if (code === "57P03") return "starting";
  return NO_SERVER_CODES.includes(code) || isEnded(error) ? "absent" : undefined;
}

/** Codes of a deadlock and of a serialization failure. */
const CONFLICTS: readonly string[] = ["40P01", "40001"];

/** Whether a transaction has changed nothing, and may succeed if it is tried again, perhaps on another server. */
export const isUndone = (error: unknown): boolean =>
  StorageError.is(error) &&
  !error.mayBeStored &&
  (isReadOnlyServer(error.cause) || isEnded(error.cause) || CONFLICTS.includes(String(fieldOf(error.cause, "code"))));

const POSTGRES_ADVICE =
  "Check that the database can be reached, that the user has the rights, and that nobody keeps the tables locked. Then try again.";

interface Attempted {
  sql: string;
  /** Whether its transaction only reads. */
  reads: boolean;
  /** Whether the command commits changes. */
  mayBeStored: boolean;
}

/** Returns the error of a command. A command that the server has rejected is never `mayBeStored`. */
export function postgresErrorOf(
  cause: unknown,
  location: string,
  { sql, reads, mayBeStored }: Attempted,
): StorageError {
  const init = { location, mayBeStored: mayBeStored && !isRejected(cause), cause };
  return createStorageError("postgres", init, { reads, text: rightsAdvice(cause, sql) ?? POSTGRES_ADVICE });
}

/** SQLSTATE "insufficient_privilege": no grant, or row-level security. */
const NO_RIGHT = "42501";

/** The rights that each command needs. `ON CONFLICT`, `RETURNING` and the condition of an update read the table. */
const RIGHTS: Readonly<Record<string, string>> = {
  SELECT: "SELECT",
  INSERT: "INSERT and SELECT",
  UPDATE: "UPDATE and SELECT",
  DELETE: "DELETE and SELECT",
};

/** Classes of SQLSTATE with which a trigger, a constraint or a view rejects a command. */
const REJECTIONS = /^(?:P0|09|22|23|27|38|39|44)/;

/** Returns advice if the user lacks a right on the tables, or if a trigger or a constraint rejects the command. */
function rightsAdvice(cause: unknown, sql: string): string | undefined {
  const [, verb = ""] = /^\s*(\w+)/.exec(sql) ?? [];
  const rights = RIGHTS[verb];
  const state = String(fieldOf(cause, "code"));
  if (rights === undefined || !isRejected(cause) || (state !== NO_RIGHT && !REJECTIONS.test(state))) return undefined;
  const tables = [...new Set(sql.match(/"(?:[^"]|"")+"\.(?:"(?:[^"]|"")+"|\w+)/g))];
  const where = tables.length > 0 ? ` on ${tables.join(" and ")}` : "";
  if (state !== NO_RIGHT) return `A trigger or a constraint rejects ${verb}${where}. Change it, then try again.`;
  return `The user needs ${rights}${where}, USAGE on the schema, and no policy of row-level security that applies to it (BYPASSRLS).`;
}
