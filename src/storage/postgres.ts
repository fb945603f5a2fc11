import type { Socket } from "node:net";
import type { Pool, PoolClient } from "pg";
import { ConfigurationError, StorageError } from "../shared/errors/index.js";
import { monotonicNowMs } from "../shared/time/clock.js";
import { afterMs, race, sleep, type WaitEnd, whenAborted } from "../shared/time/wait.js";
import { fieldOf, isObject } from "../shared/unknown.js";
import type { SqlDatabase, SqlQuery, SqlRow, SqlValue, TransactionOptions } from "./database.js";
import { absenceOf, isReadOnlyServer, isRejected, isUndone, postgresErrorOf } from "./postgres-failure.js";
import {
  addressOf,
  assertReadsText,
  isPostgresPool,
  type PostgresQuery,
  type PostgresQueryable,
  type PostgresSource,
} from "./postgres-place.js";

const TEXT_TYPES: PostgresQuery["types"] = { getTypeParser: () => String };

/** How often a transaction is tried if it fails without an effect, because of a conflict or the connection. */
const MAX_TRANSACTION_ATTEMPTS = 3;
const MAX_CONNECTIONS = 4;
/** How often an idle TCP connection is probed, so that firewalls do not forget it, in ms. */
const TCP_KEEP_ALIVE_MS = 10_000;
/** Time limit of one command, in ms. */
const COMMAND_TIMEOUT_MS = 60_000;
/** How much longer than the server this process waits for a command, in ms: the server's error should arrive first. */
const REPLY_TIMEOUT_MARGIN_MS = 5_000;
/** How long a restarting server may be absent, in ms. Short, because no server ever starts at a wrong address. */
const ABSENT_WAIT_MS = 2_000;
/** The delay before the next attempt to connect to a server that is absent or starting, in ms. */
const START_RETRY_MS = 250;
/** How long connections may take to close, in ms. */
const CLOSE_TIMEOUT_MS = 500;

export interface PostgresOptions extends PostgresSource {
  /** Whether commands must not write. Then they also work on a standby server. */
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
 * A PostgreSQL database. Failures are `StorageError`s. Every wait has a limit: for a connection, a lock, a slow
 * command, or a network that does not respond. Settings belong to a transaction, not to the session, so that a pooler
 * such as pgbouncer can be used. When a transaction resolves, its commit is on the disk of the server, whatever
 * `synchronous_commit` the database has. If a policy would hide rows, the server reports an error instead
 * (`row_security = off`).
 */
export class PostgresDatabase implements SqlDatabase {
  readonly kind = "postgres";
  readonly location: string;
  readonly #options: PostgresOptions & { waitMs: number };
  #ownPool: Promise<Pool> | undefined;
  readonly #sockets = new Set<Socket>();
  /** Ignores errors of idle connections. Each object has its own listener: several objects may use the same pool. */
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

  /** Closes this object's own pool, also connections whose network is silent. The next command opens a new pool. */
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
      // Without this, a deferred trigger could undo rows at COMMIT that were read back before.
      ...(readOnly ? [] : ["SET CONSTRAINTS ALL IMMEDIATE"]),
    ].join("; ");
  }

  /** Connects. Waits for a server that is starting or absent. */
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
        // If the connection ends before the promise is handled, an event without a listener would end the process.
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
    // If an idle connection is lost, the pool emits an event, which would end the process without a listener.
    if (isPostgresPool(pool))
      return pool.removeListener("error", this.#ignorePoolError).on("error", this.#ignorePoolError);
    this.#ownPool ??= openPool(connectionString, waitMs, this.#sockets);
    return await this.#ownPool;
  }
}

/**
 * Returns a pool that connects at the first query, and again after a failure. It does not keep the process alive.
 *
 * @param sockets Receives the open sockets.
 * @throws ConfigurationError if `pg` is not installed.
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
  return pool.on("error", ignoreError);
}

class Connection {
  /** Whether the connection cannot be used again: it has failed, or nobody waits for its reply any more. */
  isLost = false;

  constructor(
    readonly queryable: PostgresQueryable,
    readonly address: string,
    readonly settings: { reads: boolean; timeoutMs: number; signal?: AbortSignal | undefined },
  ) {}

  readonly query: SqlQuery = (sql, values = []) => this.send(sql, values);

  /** Sends a command, or several if there are no `values`. `mayBeStored`: whether the command commits changes. */
  async send(text: string, values?: readonly SqlValue[], mayBeStored = false): Promise<SqlRow[]> {
    const { reads, timeoutMs, signal } = this.settings;
    try {
      signal?.throwIfAborted();
      const reply = this.queryable.query({ text, ...(values && { values: [...values] }), types: TEXT_TYPES });
      // The reply to several commands is a list.
      const rows = fieldOf(await race(reply, ...waitEnds(timeoutMs + REPLY_TIMEOUT_MARGIN_MS, signal)), "rows");
      return Array.isArray(rows) ? rows.filter((row): row is SqlRow => isObject(row)) : [];
    } catch (error) {
      this.isLost ||= !isRejected(error) || isReadOnlyServer(error);
      if (signal?.aborted && error === signal.reason && !mayBeStored) throw error;
      throw StorageError.is(error) ? error : postgresErrorOf(error, this.address, { sql: text, reads, mayBeStored });
    }
  }
}

/** A lost connection fails its command and emits an event. Without a listener, the event would end the process. */
const ignoreError = () => {};

const waitEnds = (limitMs: number, signal: AbortSignal | undefined): WaitEnd[] => [
  afterMs(limitMs, () => new Error(`no reply within ${limitMs / 1000} s`)),
  ...(signal ? [whenAborted(signal)] : []),
];
