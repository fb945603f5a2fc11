import { ConfigurationError, StorageError } from "../../shared/errors/index.js";
import { afterMs, race } from "../../shared/time/wait.js";
import { fieldOf, messageOf } from "../../shared/unknown.js";
import { createStorageError, type StorageProblem } from "../storage-failure.js";
import type { PostgresQuery, PostgresQueryable } from "./driver.js";

interface PostgresSessionSettings {
  /** Named in errors. */
  address: string;
  /** How long a command may take, in ms. */
  timeoutMs: number;
}

/** How much longer than the server this side waits for the end of a command, in ms: the server's reason is the better one. */
const REPLY_TIMEOUT_MARGIN_MS = 5_000;

/** Sends commands on one connection. Failures are `StorageError`s. */
export class PostgresSession implements PostgresQueryable {
  readonly #queryable: PostgresQueryable;
  readonly #settings: PostgresSessionSettings;
  /** True if the connection failed, so that it cannot be used any more. */
  isLost = false;

  constructor(queryable: PostgresQueryable, settings: PostgresSessionSettings) {
    this.#queryable = queryable;
    this.#settings = settings;
  }

  query(query: PostgresQuery): Promise<{ rows: unknown[] }> {
    return this.send(query, { mayBeStored: false });
  }

  /** Sends a command. `mayBeStored`: it commits what it changes. */
  async send(query: PostgresQuery, { mayBeStored }: { mayBeStored: boolean }): Promise<{ rows: unknown[] }> {
    const { address, timeoutMs } = this.#settings;
    try {
      return await rejectAfter(this.#queryable.query(query), timeoutMs + REPLY_TIMEOUT_MARGIN_MS);
    } catch (error) {
      this.isLost ||= !isRefusedByPostgres(error) || isReadOnlyServer(error);
      throw postgresStorageError(error, address, mayBeStored);
    }
  }
}

/** The result of a promise; rejects after a time. */
export const rejectAfter = <T>(promise: Promise<T>, limitMs: number): Promise<T> =>
  race(
    promise,
    afterMs(limitMs, () => new NoReplyError(limitMs)),
  );

/** The server did not respond to a command in time. */
class NoReplyError extends Error {
  constructor(limitMs: number) {
    super(`no reply within ${limitMs / 1000} s`);
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

/** A mirror or outbox needs more rights when its tables are created. */
const GRANT_ADVICE =
  "Grant USAGE on the schema, and SELECT, INSERT, UPDATE and DELETE on all its tables. " +
  "Who creates the tables also needs CREATE on the schema.";

/** Whether the server has rejected a command, and the connection still works. */
function isRefusedByPostgres(error: unknown): boolean {
  const state = sqlStateOf(error);
  // 40003 is "statement completion unknown"; class XX are internal errors.
  return state !== undefined && state !== "40003" && !/^(?:08|57P|XX)/.test(state);
}

/** Whether the server does not accept writes any more: after a failover, another one does. */
function isReadOnlyServer(error: unknown): boolean {
  const code = fieldOf(error, "code");
  return code === "25006" || (code === "0A000" && /recovery|read-only/.test(messageOf(error)));
}

/**
 * Whether a transaction was refused by a server that ends, or accepts no writes, before anything can have been stored. A
 * new connection may lead to another server.
 */
export const isServerGone = (error: unknown): boolean =>
  StorageError.is(error) &&
  !error.mayBeStored &&
  (isReadOnlyServer(error.cause) || ["57P01", "57P02"].includes(String(fieldOf(error.cause, "code"))));

/** Whether the server has rolled a transaction back that can succeed if it is tried again: a deadlock, or a conflict of versions. */
export const isRolledBackForOthers = (error: unknown): boolean =>
  StorageError.is(error) && ["40P01", "40001"].includes(String(fieldOf(error.cause, "code")));

/**
 * What the caller receives for an error of the driver: a `StorageError`; options that are wrong are a `ConfigurationError`.
 *
 * @param mayBeStored Whether the change may be stored unless the server has refused the command.
 */
export function postgresStorageError(error: unknown, location: string, mayBeStored: boolean): unknown {
  if (fieldOf(error, "code") === "ERR_INVALID_URL")
    return new ConfigurationError(`PostgreSQL: connectionString must be a URL: postgres://user@host:5432/database`);
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
  if (isReadOnlyServer(error)) return "read-only";
  return (
    PROBLEM_BY_SQL_STATE[state] ??
    PROBLEM_BY_SQL_STATE[state.slice(0, 3)] ??
    PROBLEM_BY_SQL_STATE[state.slice(0, 2)] ??
    "other"
  );
}
