import type { Pool, PoolClient } from "pg";
import * as z from "zod";
import { ConfigurationError, StorageError } from "../shared/errors/index.js";
import { lazy, withCheck } from "../shared/field.js";
import { valueThat } from "../shared/option.js";
import { afterMs, race } from "../shared/time/wait.js";
import { fieldOf, isObject, messageOf } from "../shared/unknown.js";
import { type Query, quoteName, type SqlDatabase, type SqlRow, type SqlValue } from "./database.js";
import { createStorageError } from "./storage-failure.js";

/** A query as `pg` takes it. */
export interface PostgresQuery {
  /** The command, with `$1`, `$2` … for values. */
  text: string;
  /** The values, in order. */
  values?: unknown[];
  /** Values are read as strings, so that type parsers of the program have no effect here. */
  types: {
    /** Returns the parser of a column: here one whose result is the string that the server writes for the value. */
    getTypeParser(type: number, format?: "text" | "binary"): (value: never) => string;
  };
}

/** The part of the caller's `Pool` or `Client` of `pg` that is used. It is never closed. */
export interface PostgresQueryable {
  /** Runs a query. */
  query(query: PostgresQuery): Promise<{
    /** One object per row, by column name. */
    rows: unknown[];
  }>;
}

/** The caller's pool may ask for binary values, which no query can prevent. */
const BINARY_READERS: Readonly<Record<number, (value: Buffer) => string>> = {
  16: (value) => (value[0] === 1 ? "t" : "f"),
  20: (value) => String(value.readBigInt64BE()),
  21: (value) => String(value.readInt16BE()),
  23: (value) => String(value.readInt32BE()),
  701: (value) => String(value.readDoubleBE()),
};

const TEXT_TYPES: PostgresQuery["types"] = {
  getTypeParser: (type, format) => (format === "binary" && BINARY_READERS[type]) || String,
};

/** True for a `Pool` or a `Client` of `pg`. */
export const isQueryable = (value: unknown): value is PostgresQueryable =>
  typeof fieldOf(value, "query") === "function";

/** True for a `Pool` of `pg`. A `Client` has a `connect()` too, which returns nothing, but no size. */
export const isPostgresPool = (value: unknown): value is Pool =>
  isQueryable(value) && "connect" in value && "totalCount" in value;

/**
 * Whether a password can stand only where it is removed from what is shown. The driver accepts any string, and names parts of it
 * in its errors.
 */
function isAddress(text: string): boolean {
  if (/^\/[^/]/.test(text)) return !text.includes("@");
  // Without a host, for a socket.
  const address = text.replace("@/", "@localhost/");
  if (!URL.canParse(address)) return false;
  const { protocol, pathname, search } = new URL(address);
  const path = protocol === "socket:" ? /^\/[^@;=]*$/ : /^(\/[^/@:;=]*)?$/;
  return /^(postgres(ql)?|socket):$/.test(protocol) && path.test(pathname) && !/[@;]/.test(search);
}

/** Where the tables are, as a caller states it. */
export const postgresPlaceSchema = /* @__PURE__ */ lazy(() =>
  z
    .strictObject({
      pool: valueThat<PostgresQueryable>(isPostgresPool, "must be a Pool of pg"),
      connectionString: withCheck(z.string(), (text) =>
        isAddress(text)
          ? undefined
          : "must be an address such as postgres://user@host:5432/database, with special characters percent-encoded",
      ),
      schema: z.string().min(1),
    })
    .partial()
    .refine(({ pool, connectionString }) => (pool === undefined) !== (connectionString === undefined), {
      error: "exactly one of pool and connectionString is required",
    }),
);

/** How often a transaction is tried of which nothing was stored, for a reason that lies in others or in the connection. */
const MAX_ATTEMPTS = 3;
const MAX_CONNECTIONS = 4;
/** How often an idle TCP connection is probed, so that firewalls do not forget it, in ms. */
const TCP_KEEP_ALIVE_MS = 10_000;
/** Time limit of one command, in ms. */
const COMMAND_TIMEOUT_MS = 60_000;
/** How much longer than the server this side waits for the end of a command, in ms: the server's reason is the better one. */
const REPLY_TIMEOUT_MARGIN_MS = 5_000;

export interface PostgresOptions {
  /** Address of the database, for a pool of its own. */
  connectionString?: string | undefined;
  /** The caller's pool: one of both is given. */
  pool?: PostgresQueryable | undefined;
  /** Whether commands must not write. They also work on a standby server then. */
  readOnly?: boolean;
  /**
   * Time limit of the wait for a connection and for a lock, in ms.
   * @default 30_000
   */
  waitMs?: number;
}

/**
 * A PostgreSQL database. Every wait has a limit: for a connection, for a lock, for a slow command, for a network that does
 * not respond. Failures are `StorageError`s. Limits are set in each transaction, not in the session, so that a pooler such as
 * pgbouncer can be used; a commit is on the disk of the server when it resolves, whatever `synchronous_commit` the database
 * has.
 */
export class PostgresDatabase implements SqlDatabase {
  readonly kind = "postgres";
  readonly #options: PostgresOptions & { waitMs: number };
  readonly #address: string;
  #ownPool: Promise<Pool> | undefined;
  /** One per database: another one on the same pool keeps its own. */
  readonly #ignorePoolError = () => {};

  constructor(options: PostgresOptions) {
    this.#options = { waitMs: 30_000, ...options };
    this.#address = addressOf(options);
  }

  async transaction<T>(work: (query: Query) => Promise<T>, timeoutMs = COMMAND_TIMEOUT_MS): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const client = await this.#connect();
      const connection = new Connection(client, this.#address, timeoutMs);
      let hasBegun = false;
      try {
        await connection.send(this.#beginCommand(timeoutMs));
        hasBegun = true;
        const result = await work(connection.query);
        await connection.send("COMMIT", undefined, { mayBeStored: true });
        return result;
      } catch (error) {
        if (!connection.isLost) await connection.send("ROLLBACK").catch(ignoreError);
        // An idle connection may have been lost unnoticed.
        const isRetried = isUndone(error) || (connection.isLost && !hasBegun);
        if (!isRetried || attempt === MAX_ATTEMPTS) throw error;
      } finally {
        client.removeListener("error", ignoreError);
        client.release(connection.isLost);
      }
    }
  }

  /** Runs commands in a transaction that the caller has begun on a connection of its own. */
  joined(client: PostgresQueryable): Query {
    return new Connection(client, this.#address, COMMAND_TIMEOUT_MS).query;
  }

  /** Closes the own pool. The next command opens another. */
  async close(): Promise<void> {
    const pool = this.#ownPool;
    this.#ownPool = undefined;
    if (isPostgresPool(this.#options.pool)) this.#options.pool.removeListener("error", this.#ignorePoolError);
    // Without the package there is no pool to close.
    await pool?.then((opened) => opened.end(), ignoreError);
  }

  #beginCommand(timeoutMs: number): string {
    const { readOnly, waitMs } = this.#options;
    return [
      `BEGIN ISOLATION LEVEL READ COMMITTED READ ${readOnly ? "ONLY" : "WRITE"}`,
      `SET LOCAL statement_timeout = ${timeoutMs}`,
      `SET LOCAL lock_timeout = ${waitMs}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${waitMs}`,
      "SET LOCAL synchronous_commit = on",
    ].join("; ");
  }

  async #connect(): Promise<PoolClient> {
    const pool = await this.#pool();
    const connecting = new Promise<PoolClient>((resolve, reject) =>
      pool.connect((error, client) => {
        // Now, not when the promise is handled: the connection may end in the same moment, which is an event.
        client?.on("error", ignoreError);
        if (client) resolve(client);
        else reject(error);
      }),
    );
    try {
      return await rejectAfter(connecting, this.#options.waitMs);
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

  async #pool(): Promise<Pool> {
    const { pool, connectionString = "" } = this.#options;
    // An idle connection that is lost is an event of the pool; without a listener it would end the process.
    if (isPostgresPool(pool))
      return pool.removeListener("error", this.#ignorePoolError).on("error", this.#ignorePoolError);
    this.#ownPool ??= openPool(connectionString, this.#options.waitMs);
    return await this.#ownPool;
  }
}

/**
 * A pool of connections that are opened at the first query, and again after a failure. They do not keep the process alive.
 *
 * @throws ConfigurationError when `pg` is not installed.
 */
async function openPool(connectionString: string, connectionTimeoutMillis: number): Promise<Pool> {
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    const what = `connectionString requires the package pg. Run npm install pg.`;
    throw new ConfigurationError(`PostgreSQL: ${what}`, { cause });
  });
  const pool = new pg.Pool({
    connectionString,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis,
    keepAlive: true,
    keepAliveInitialDelayMillis: TCP_KEEP_ALIVE_MS,
    allowExitOnIdle: true,
  });
  // An idle connection was lost; the next query opens another.
  return pool.on("error", ignoreError);
}

/** Sends commands on one connection. */
class Connection {
  /** True if it has failed, so that it cannot be used any more. */
  isLost = false;

  constructor(
    readonly queryable: PostgresQueryable,
    readonly address: string,
    readonly timeoutMs: number,
  ) {}

  readonly query: Query = (sql, values = []) => this.send(sql, values);

  /** Sends a command, without `values` also several. `mayBeStored`: it commits what it changes. */
  async send(text: string, values?: readonly SqlValue[], { mayBeStored = false } = {}): Promise<SqlRow[]> {
    try {
      const reply = this.queryable.query({ text, ...(values && { values: [...values] }), types: TEXT_TYPES });
      // The reply to several commands is a list.
      const rows = fieldOf(await rejectAfter(reply, this.timeoutMs + REPLY_TIMEOUT_MARGIN_MS), "rows");
      return Array.isArray(rows) ? rows.filter((row): row is SqlRow => isObject(row)) : [];
    } catch (error) {
      this.isLost ||= !isRefused(error) || isReadOnlyServer(error);
      throw storageErrorOf(error, this.address, mayBeStored);
    }
  }
}

/** The loss of a connection is an event as well as the failure of a command; without a listener it would end the process. */
const ignoreError = () => {};

/** The result of a promise; rejects after a time. */
const rejectAfter = <T>(promise: Promise<T>, limitMs: number): Promise<T> =>
  race(
    promise,
    afterMs(limitMs, () => new Error(`no reply within ${limitMs / 1000} s`)),
  );

/** Whether the server has rejected a command, and the connection still works. */
function isRefused(error: unknown): boolean {
  const state = fieldOf(error, "severity") === undefined ? "" : String(fieldOf(error, "code"));
  // 40003 is "statement completion unknown"; class XX are internal errors.
  return /^[\dA-Z]{5}$/.test(state) && !/^(?:40003|08|57P|XX)/.test(state);
}

/** Whether the server does not accept writes any more: after a failover, another one does. */
function isReadOnlyServer(error: unknown): boolean {
  const code = fieldOf(error, "code");
  return code === "25006" || (code === "0A000" && /recovery|read-only/.test(messageOf(error)));
}

/** A deadlock, a conflict of versions, and a server that ends. */
const UNDONE = ["40P01", "40001", "57P01", "57P02"];

/** Whether a transaction has changed nothing, and may succeed if it is tried again, perhaps on another server. */
const isUndone = (error: unknown): boolean =>
  StorageError.is(error) &&
  !error.mayBeStored &&
  (isReadOnlyServer(error.cause) || UNDONE.includes(String(fieldOf(error.cause, "code"))));

const ADVICE =
  "Check that the database runs and can be reached, the rights of the user, and that nobody keeps the tables locked, then try again.";

/** `mayBeStored`: unless the server has refused the command. */
function storageErrorOf(cause: unknown, location: string, mayBeStored: boolean): Error {
  const init = { location, mayBeStored: mayBeStored && !isRefused(cause), cause };
  return createStorageError("postgres", init, ADVICE);
}

/** Host, port and database, without user name and password. */
function addressOf({ connectionString, pool }: PostgresOptions): string {
  const {
    connectionString: url = connectionString,
    host = "localhost",
    port = 5432,
    database = "",
  } = Object(fieldOf(pool, "options"));
  if (typeof url !== "string") return `${host}:${port}/${database}`;
  return URL.canParse(url) && isAddress(url)
    ? new URL(url).host + new URL(url).pathname
    : "(an address that is not a URL)";
}

/**
 * The schema for the tables: the given one, or the first of the search_path.
 *
 * @throws ConfigurationError when there is none, or the database cannot store all characters.
 */
export async function usableSchema(query: Query, given: string | undefined): Promise<string> {
  const sql = "SELECT current_schema() AS schema, current_setting('server_encoding') AS encoding";
  const [{ schema, encoding } = {}] = await query(sql);
  if (encoding !== "UTF8")
    throw new ConfigurationError(`PostgreSQL: the encoding of the database must be UTF8, not ${encoding}`);
  if (given !== undefined) return given;
  if (typeof schema === "string") return schema;
  throw new ConfigurationError(`PostgreSQL: no schema of the search_path exists. Set the option schema.`);
}

/** Creates the schema if there is none. Of several processes that start with the same lock, one continues at a time. */
export async function createSchema(query: Query, schema: string, lock: string): Promise<void> {
  await query("SELECT pg_advisory_xact_lock(hashtext($1))", [lock]);
  // `IF NOT EXISTS` alone requires the right to create schemas even if the schema exists.
  const [known] = await query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
  if (!known) await query(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`);
}
