import { ConfigurationError, StorageError, type StorageProblem } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import { wording } from "../../errors/wording.js";
import { createStorageError } from "../storage-failure.js";

/** The server did not respond to a command in time. Thrown inside the package. */
export class NoReplyError extends Error {
  constructor(limitMs: number) {
    super(`no reply within ${limitMs / 1000} s`);
  }
}

/** A wait was ended by the caller's signal. Thrown inside the package. */
export class SessionAbortedError extends Error {
  constructor(readonly reason: unknown) {
    super("aborted");
  }
}

/** SQLSTATE codes and their classes, https://www.postgresql.org/docs/current/errcodes-appendix.html. */
const PROBLEM_BY_SQL_STATE: Readonly<Record<string, StorageProblem>> = {
  "08": "unreachable", // connection exceptions
  "28": "permission", // invalid authorization
  53100: "full",
  53300: "unreachable", // too many connections
  "57P": "unreachable", // the server shuts down or starts
  "3D000": "missing", // no such database
  25006: "read-only",
  42501: "permission",
  "55P03": "locked",
  57014: "timeout",
  XX001: "damaged",
  XX002: "damaged",
};

/** The SQLSTATE of an error that the server reported; `undefined` if the connection itself failed. */
function sqlStateOf(error: unknown): string | undefined {
  const code = fieldOf(error, "code");
  return typeof code === "string" && /^[\dA-Z]{5}$/.test(code) && fieldOf(error, "severity") !== undefined
    ? code
    : undefined;
}

const INSUFFICIENT_PRIVILEGE = "42501";

/** A mirror or outbox needs more rights when its tables are created, or changed by an update of the package. */
const GRANT_ADVICE =
  "Grant USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on all its tables. " +
  "Tables and views are created and changed by their owner, who also needs CREATE on the schema: run this once as that user.";

/** Whether the server has rejected a command, and the connection still works. */
export function isRefusedByPostgres(error: unknown): boolean {
  const state = sqlStateOf(error);
  // 40003 is "statement completion unknown"; class XX are internal errors.
  return state !== undefined && state !== "40003" && !/^(?:08|57P|XX)/.test(state);
}

/** Whether the server has rolled a transaction back that can succeed if it is tried again: a deadlock, or a conflict of versions. */
export const isRolledBackForOthers = (error: unknown): boolean =>
  StorageError.is(error) && ["40P01", "40001"].includes(String(fieldOf(error.cause, "code")));

/**
 * What the caller receives for an error of the driver: a `StorageError`, or the reason of its signal.
 *
 * @param mayBeStored Whether the change may be stored unless the server has refused the command.
 */
export function postgresStorageError(error: unknown, location: string, mayBeStored: boolean): unknown {
  if (error instanceof SessionAbortedError) return error.reason;
  if (fieldOf(error, "code") === "ERR_INVALID_URL")
    return new ConfigurationError(
      `PostgreSQL: ${wording().connectionString} must be a URL: postgres://user@host:5432/database`,
    );
  const problem = problemOfPostgresError(error);
  return createStorageError({
    storage: "postgres",
    location,
    problem,
    mayBeStored: mayBeStored && !isRefusedByPostgres(error),
    cause: error,
    ...(sqlStateOf(error) === INSUFFICIENT_PRIVILEGE && { advice: GRANT_ADVICE }),
  });
}

function problemOfPostgresError(error: unknown): StorageProblem {
  if (error instanceof NoReplyError) return "timeout";
  const state = sqlStateOf(error);
  if (state === undefined) return "unreachable";
  return (
    PROBLEM_BY_SQL_STATE[state] ??
    PROBLEM_BY_SQL_STATE[state.slice(0, 3)] ??
    PROBLEM_BY_SQL_STATE[state.slice(0, 2)] ??
    "other"
  );
}
