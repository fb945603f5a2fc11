import { ConfigurationError, StorageError } from "../../shared/errors/index.js";
import { afterMs, race } from "../../shared/time/wait.js";
import { fieldOf, isObject, messageOf } from "../../shared/unknown.js";
import type { Query, SqlDatabase, SqlRow, SqlValue } from "../database.js";
import { createStorageError } from "../storage-failure.js";
import {
  createPostgresPool,
  isPostgresPool,
  type OwnPostgresPool,
  type PooledPostgresClient,
  type PostgresPool,
  type PostgresQueryable,
  type PostgresSource,
  postgresAddressOf,
  textQuery,
} from "./driver.js";

/** How often a transaction is tried that the server rolls back because of other ones, as after a deadlock. */
const MAX_ATTEMPTS = 5;
/** How much longer than the server this side waits for the end of a command, in ms: the server's reason is the better one. */
const REPLY_TIMEOUT_MARGIN_MS = 5_000;

export interface PostgresOptions extends PostgresSource {
  /**
   * Connections of the own pool.
   * @default 1
   */
  maxConnections?: number;
  /**
   * Whether commands must not write. They also work on a standby server then.
   * @default false
   */
  readOnly?: boolean;
  /**
   * Time limit of the wait for a connection and for a lock, in ms.
   * @default 30_000
   */
  waitMs?: number;
  /**
   * Time limit of one command, in ms.
   * @default 60_000
   */
  commandTimeoutMs?: number;
}

/**
 * A PostgreSQL database. Every wait has a limit: for a connection, for a lock, for a slow command, for a network that does
 * not respond. Failures are `StorageError`s. Limits are set in each transaction, not in the session, so that a pooler such as
 * pgbouncer can be used; a commit is on the disk of the server when it resolves, whatever `synchronous_commit` the database
 * has.
 */
export class PostgresDatabase implements SqlDatabase {
  readonly kind = "postgres";
  readonly #options: PostgresOptions;
  readonly #waitMs: number;
  readonly #commandTimeoutMs: number;
  readonly #address: string;
  #ownPool: Promise<OwnPostgresPool> | undefined;
  /** One per database: another one on the same pool keeps its own. */
  readonly #ignorePoolError = () => {};
  #listensToPool = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.#waitMs = options.waitMs ?? 30_000;
    this.#commandTimeoutMs = options.commandTimeoutMs ?? 60_000;
    this.#address = postgresAddressOf(options);
  }

  async transaction<T>(work: (query: Query) => Promise<T>, timeoutMs = this.#commandTimeoutMs): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#transactOnce(work, timeoutMs);
      } catch (error) {
        const isRetried = isRolledBackForOthers(error) || (isServerGone(error) && attempt === 1);
        if (!isRetried || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** Runs commands in a transaction that the caller has begun on a connection of its own. */
  joined(client: PostgresQueryable): Query {
    return new Connection(client, this.#address, this.#commandTimeoutMs).query;
  }

  /** Closes the own pool. The next command opens another. */
  async close(): Promise<void> {
    const pool = this.#ownPool;
    this.#ownPool = undefined;
    if (isPostgresPool(this.#options.pool)) this.#options.pool.removeListener?.("error", this.#ignorePoolError);
    this.#listensToPool = false;
    // Without the package there is no pool to close.
    await pool?.then((opened) => opened.end(), ignoreError);
  }

  async #transactOnce<T>(work: (query: Query) => Promise<T>, timeoutMs: number): Promise<T> {
    const { client, connection } = await this.#begin(timeoutMs);
    try {
      const result = await work(connection.query);
      await connection.send("COMMIT", undefined, { mayBeStored: true });
      return result;
    } catch (error) {
      if (!connection.isLost) await connection.send("ROLLBACK").catch(ignoreError);
      throw error;
    } finally {
      releaseClient(client, connection);
    }
  }

  /** An idle connection may have been lost unnoticed. Nothing was done on it, so another one is tried. */
  async #begin(timeoutMs: number): Promise<{ client: PooledPostgresClient; connection: Connection }> {
    for (let attempt = 1; ; attempt += 1) {
      const client = await this.#connect();
      const connection = new Connection(client, this.#address, timeoutMs);
      try {
        await connection.send(this.#beginCommand(timeoutMs));
        return { client, connection };
      } catch (error) {
        releaseClient(client, connection);
        if (attempt === 2 || !connection.isLost) throw error;
      }
    }
  }

  #beginCommand(timeoutMs: number): string {
    return [
      `BEGIN ISOLATION LEVEL READ COMMITTED READ ${this.#options.readOnly ? "ONLY" : "WRITE"}`,
      `SET LOCAL statement_timeout = ${timeoutMs}`,
      `SET LOCAL lock_timeout = ${this.#waitMs}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${this.#waitMs}`,
      "SET LOCAL synchronous_commit = on",
    ].join("; ");
  }

  async #connect(): Promise<PooledPostgresClient> {
    const pool = await this.#pool();
    const connecting = new Promise<PooledPostgresClient>((resolve, reject) =>
      pool.connect((error, client) => {
        // Now, not when the promise is handled: the connection may end in the same moment, which is an event.
        client?.on("error", ignoreError);
        if (client) resolve(client);
        else reject(error);
      }),
    );
    try {
      return await rejectAfter(connecting, this.#waitMs);
    } catch (error) {
      // The connection may still be established later.
      connecting
        .then((client) => {
          client.removeListener("error", ignoreError);
          client.release();
        })
        .catch(ignoreError);
      throw storageErrorOf(error, this.#address, false);
    }
  }

  async #pool(): Promise<PostgresPool> {
    const { pool, connectionString = "", maxConnections = 1 } = this.#options;
    if (isPostgresPool(pool)) {
      // An idle connection that is lost is an event of the pool; without a listener it would end the process.
      if (!this.#listensToPool) pool.on?.("error", this.#ignorePoolError);
      this.#listensToPool = true;
      return pool;
    }
    this.#ownPool ??= createPostgresPool(connectionString, maxConnections, this.#waitMs);
    return await this.#ownPool;
  }
}

/** Sends commands on one connection. */
class Connection {
  readonly #queryable: PostgresQueryable;
  readonly #address: string;
  readonly #timeoutMs: number;
  /** True if it has failed, so that it cannot be used any more. */
  isLost = false;

  constructor(queryable: PostgresQueryable, address: string, timeoutMs: number) {
    this.#queryable = queryable;
    this.#address = address;
    this.#timeoutMs = timeoutMs;
  }

  readonly query: Query = (sql, values = []) => this.send(sql, values);

  /** Sends a command. `mayBeStored`: it commits what it changes. */
  async send(sql: string, values?: readonly SqlValue[], { mayBeStored = false } = {}): Promise<SqlRow[]> {
    try {
      const reply = this.#queryable.query(textQuery(sql, values));
      // The reply to several commands is a list.
      const rows = fieldOf(await rejectAfter(reply, this.#timeoutMs + REPLY_TIMEOUT_MARGIN_MS), "rows");
      return Array.isArray(rows) ? rows.filter(isRow) : [];
    } catch (error) {
      this.isLost ||= !isRefused(error) || isReadOnlyServer(error);
      throw storageErrorOf(error, this.#address, mayBeStored);
    }
  }
}

const isRow = (row: unknown): row is SqlRow => isObject(row);

/** The loss of a connection is an event as well as the failure of a command; without a listener it would end the process. */
const ignoreError = () => {};

function releaseClient(client: PooledPostgresClient, connection: Connection): void {
  client.removeListener("error", ignoreError);
  client.release(connection.isLost);
}

/** The result of a promise; rejects after a time. */
const rejectAfter = <T>(promise: Promise<T>, limitMs: number): Promise<T> =>
  race(
    promise,
    afterMs(limitMs, () => new Error(`no reply within ${limitMs / 1000} s`)),
  );

/** The SQLSTATE of an error that the server reported; `undefined` if the connection itself failed. */
function sqlStateOf(error: unknown): string | undefined {
  const code = fieldOf(error, "code");
  return typeof code === "string" && /^[\dA-Z]{5}$/.test(code) && fieldOf(error, "severity") !== undefined
    ? code
    : undefined;
}

/** Whether the server has rejected a command, and the connection still works. */
function isRefused(error: unknown): boolean {
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
const isServerGone = (error: unknown): boolean =>
  StorageError.is(error) &&
  !error.mayBeStored &&
  (isReadOnlyServer(error.cause) || ["57P01", "57P02"].includes(String(fieldOf(error.cause, "code"))));

/** Whether the server has rolled a transaction back that can succeed if it is tried again: a deadlock, or a conflict of versions. */
const isRolledBackForOthers = (error: unknown): boolean =>
  StorageError.is(error) && ["40P01", "40001"].includes(String(fieldOf(error.cause, "code")));

/** `mayBeStored`: unless the server has refused the command. */
function storageErrorOf(error: unknown, location: string, mayBeStored: boolean): Error {
  if (fieldOf(error, "code") === "ERR_INVALID_URL")
    return new ConfigurationError(`PostgreSQL: connectionString must be a URL: postgres://user@host:5432/database`);
  return createStorageError({
    storage: "postgres",
    location,
    mayBeStored: mayBeStored && !isRefused(error),
    cause: error,
    ...(!isRefused(error) && { advice: "Check that the database runs and can be reached, then try again." }),
  });
}
