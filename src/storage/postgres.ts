import type { Socket } from "node:net";
import type { Pool, PoolClient } from "pg";
import { ConfigurationError, StorageError } from "../shared/errors/index.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { afterMs, race, sleep, type WaitEnd, whenAborted } from "../shared/time/wait.js";
import { fieldOf, isObject } from "../shared/unknown.js";
import type { SqlDatabase, SqlQuery, SqlRow, SqlValue, TransactionOptions } from "./database.js";
import {
  type Attempted,
  absenceOf,
  isReadOnlyServer,
  isRejected,
  isUndone,
  postgresErrorOf,
} from "./postgres-failure.js";
import {
  addressOf,
  assertReadsText,
  isPostgresPool,
  type PostgresQuery,
  type PostgresQueryable,
  type PostgresSource,
} from "./postgres-place.js";

const TEXT_TYPES: PostgresQuery["types"] = { getTypeParser: () => String };

/** How often a transaction is tried of which nothing was stored, for a reason that lies in others or in the connection. */
const MAX_TRANSACTION_ATTEMPTS = 3;
const MAX_CONNECTIONS = 4;
/** How often an idle TCP connection is probed, so that firewalls do not forget it, in ms. */
const TCP_KEEP_ALIVE_MS = 10_000;
/** Time limit of one command, in ms. */
const COMMAND_TIMEOUT_MS = 60_000;
/** How much longer than the server this side waits for the end of a command, in ms: the server's reason is the better one. */
const REPLY_TIMEOUT_MARGIN_MS = 5_000;
/** How long a server may be absent that restarts, in ms. At a wrong address there is none for ever. */
const ABSENT_WAIT_MS = 2_000;
/** When a connection to a server that is absent or starting is tried again, in ms. */
const START_RETRY_MS = 250;
/** How long connections may take to say goodbye, in ms. */
const CLOSE_TIMEOUT_MS = 500;

export interface PostgresOptions extends PostgresSource {
  /** Whether commands must not write. They also work on a standby server then. */
  readOnly?: boolean;
  /**
   * Time limit of the wait for a connection, for a server that starts, and for a lock, in ms.
   * @default 30_000
   */
  waitMs?: number;
  /** Called when a transaction has got its connection. */
  onConnection?: () => void;
}

/**
 * A PostgreSQL database. Every wait has a limit: for a connection, for a lock, for a slow command, for a network that does
 * not respond. Failures are `StorageError`s. Limits are set in each transaction, not in the session, so that a pooler such as
 * pgbouncer can be used; a commit is on the disk of the server when it resolves, whatever `synchronous_commit` the database
 * has. With `row_security = off`, the server reports rows that a policy would hide.
 */
export class PostgresDatabase implements SqlDatabase {
  readonly kind = "postgres";
  readonly location: string;
  readonly #options: PostgresOptions & { waitMs: number };
  #ownPool: Promise<Pool> | undefined;
  /** The sockets of the own pool. */
  readonly #sockets = new Set<Socket>();
  /** One per database object, even if several use the same pool. */
  readonly #ignorePoolError = () => {};

  constructor(options: PostgresOptions) {
    this.#options = { waitMs: 30_000, ...options };
    this.location = addressOf(options);
  }

  async transaction<T>(work: (query: SqlQuery) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const { reads = this.#options.readOnly ?? false, timeoutMs = COMMAND_TIMEOUT_MS, signal } = options;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const client = await this.#connect(reads, signal);
      this.#options.onConnection?.();
      const connection = new Connection(client, this.location, { reads, timeoutMs, signal });
      let hasBegun = false;
      try {
        assertReadsText(client);
        await connection.send(this.#beginCommand(timeoutMs));
        hasBegun = true;
        const result = await work(connection.query);
        await connection.send("COMMIT", undefined, !reads);
        return result;
      } catch (error) {
        if (!connection.isLost) await connection.send("ROLLBACK").catch(ignoreError);
        // An idle connection may have been lost unnoticed.
        const isRetried = isUndone(error) || (connection.isLost && !hasBegun);
        if (!isRetried || attempt === MAX_TRANSACTION_ATTEMPTS) throw error;
      } finally {
        client.removeListener("error", ignoreError);
        client.release(connection.isLost);
      }
    }
  }

  /** Runs commands in a transaction that the caller has begun on a connection of its own. */
  joined(client: PostgresQueryable): SqlQuery {
    return new Connection(client, this.location, { reads: false, timeoutMs: COMMAND_TIMEOUT_MS }).query;
  }

  /** Closes the own pool, also connections whose network is silent. The next command opens another. */
  async close(): Promise<void> {
    const pool = this.#ownPool;
    this.#ownPool = undefined;
    if (isPostgresPool(this.#options.pool)) this.#options.pool.removeListener("error", this.#ignorePoolError);
    // If the package could not be loaded, there is no pool to close.
    const ended = pool?.then((opened) => opened.end(), ignoreError);
    if (!ended) return;
    const sockets = [...this.#sockets];
    const isClosed = new AbortController();
    const closed = ended.then(() => isClosed.abort(), ignoreError);
    await sleep(CLOSE_TIMEOUT_MS, isClosed.signal);
    for (const socket of sockets) socket.destroy();
    await Promise.race([closed, sleep(CLOSE_TIMEOUT_MS)]);
  }

  #beginCommand(timeoutMs: number): string {
    const { readOnly, waitMs } = this.#options;
    return [
      `BEGIN ISOLATION LEVEL READ COMMITTED READ ${readOnly ? "ONLY" : "WRITE"}`,
      `SET LOCAL statement_timeout = ${timeoutMs}`,
      `SET LOCAL lock_timeout = ${waitMs}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${waitMs}`,
      "SET LOCAL row_security = off",
      "SET LOCAL synchronous_commit = on",
      // A deferred trigger could undo at the end of the transaction what was read back before.
      ...(readOnly ? [] : ["SET CONSTRAINTS ALL IMMEDIATE"]),
    ].join("; ");
  }

  /** Waits for a server that starts. */
  async #connect(reads: boolean, signal: AbortSignal | undefined): Promise<PoolClient> {
    const { waitMs } = this.#options;
    const startedAt = monotonicNowMs();
    for (;;) {
      try {
        return await this.#connectOnce(reads, signal);
      } catch (error) {
        const absence = StorageError.is(error) ? absenceOf(error.cause) : undefined;
        const limitMs = absence === undefined ? 0 : absence === "starting" ? waitMs : Math.min(waitMs, ABSENT_WAIT_MS);
        if (monotonicNowMs() - startedAt + START_RETRY_MS > limitMs) throw error;
      }
      await sleep(START_RETRY_MS, signal);
      signal?.throwIfAborted();
    }
  }

  async #connectOnce(reads: boolean, signal: AbortSignal | undefined): Promise<PoolClient> {
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
      return await race(connecting, ...waitEnds(this.#options.waitMs, signal));
    } catch (error) {
      // The connection may still be established later.
      connecting
        .then((client) => {
          client.removeListener("error", ignoreError);
          client.release();
        })
        .catch(ignoreError);
      signal?.throwIfAborted();
      throw postgresErrorOf(error, this.location, { sql: "", reads, mayBeStored: false });
    }
  }

  async #pool(): Promise<Pool> {
    const { pool, connectionString = "", waitMs } = this.#options;
    // An idle connection that is lost is an event of the pool; without a listener it would end the process.
    if (isPostgresPool(pool))
      return pool.removeListener("error", this.#ignorePoolError).on("error", this.#ignorePoolError);
    this.#ownPool ??= openPool(connectionString, waitMs, this.#sockets);
    return await this.#ownPool;
  }
}

/**
 * A pool of connections that are opened at the first query, and again after a failure. They do not keep the process alive.
 *
 * @param sockets Receives those that are open.
 * @throws ConfigurationError when `pg` is not installed.
 */
async function openPool(
  connectionString: string,
  connectionTimeoutMillis: number,
  sockets: Set<Socket>,
): Promise<Pool> {
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    const what = `connectionString requires the package pg. Run npm install pg.`;
    throw new ConfigurationError(`PostgreSQL: ${what}`, { cause });
  });
  const net = await import("node:net");
  const pool = new pg.Pool({
    connectionString,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis,
    keepAlive: true,
    keepAliveInitialDelayMillis: TCP_KEEP_ALIVE_MS,
    allowExitOnIdle: true,
    stream() {
      const socket = new net.Socket();
      sockets.add(socket);
      return socket.once("close", () => sockets.delete(socket));
    },
  });
  // An idle connection was lost; the next query opens another.
  return pool.on("error", ignoreError);
}

/** Sends commands on one connection. */
class Connection {
  /** True if it has failed, or its reply is not waited for, so that it cannot be used any more. */
  isLost = false;

  constructor(
    readonly queryable: PostgresQueryable,
    readonly address: string,
    readonly settings: { reads: boolean; timeoutMs: number; signal?: AbortSignal | undefined },
  ) {}

  readonly query: SqlQuery = (sql, values = []) => this.send(sql, values);

  /** Sends a command, without `values` also several. `mayBeStored`: it commits what it changes. */
  async send(text: string, values?: readonly SqlValue[], mayBeStored = false): Promise<SqlRow[]> {
    const { reads, timeoutMs, signal } = this.settings;
    const attempted: Attempted = { sql: text, reads, mayBeStored };
    try {
      signal?.throwIfAborted();
      const reply = this.queryable.query({ text, ...(values && { values: [...values] }), types: TEXT_TYPES });
      // The reply to several commands is a list.
      const rows = fieldOf(await race(reply, ...waitEnds(timeoutMs + REPLY_TIMEOUT_MARGIN_MS, signal)), "rows");
      return Array.isArray(rows) ? rows.filter((row): row is SqlRow => isObject(row)) : [];
    } catch (error) {
      this.isLost ||= !isRejected(error) || isReadOnlyServer(error);
      if (signal?.aborted && error === signal.reason && !mayBeStored) throw error;
      throw StorageError.is(error) ? error : postgresErrorOf(error, this.address, attempted);
    }
  }
}

/** The loss of a connection is an event as well as the failure of a command; without a listener it would end the process. */
const ignoreError = () => {};

/** A wait ends after a time, and with the signal's reason. */
const waitEnds = (limitMs: number, signal: AbortSignal | undefined): WaitEnd[] => [
  afterMs(limitMs, () => new Error(`no reply within ${limitMs / 1000} s`)),
  ...(signal ? [whenAborted(signal)] : []),
];
