import {
  createPostgresPool,
  isPostgresPool,
  type OwnPostgresPool,
  type PooledPostgresClient,
  type PostgresPool,
  type PostgresQuery,
  type PostgresQueryable,
  postgresAddressOf,
  queryWithTextResult,
} from "./driver.js";
import { isRolledBackForOthers, isServerGone, PostgresSession, postgresStorageError, rejectAfter } from "./session.js";

/** How long a script may take, in ms. */
const SQL_SCRIPT_TIMEOUT_MS = 30 * 60_000;

/** How often a transaction is tried that the server rolls back because of other ones, as after a deadlock. */
const MAX_ATTEMPTS = 5;

export interface PostgresConnectionOptions {
  /** Address of the database, for a pool of its own. One of `connectionString`, `pool` and `client` is given. */
  connectionString?: string | undefined;
  /** The caller's pool. */
  pool?: PostgresQueryable | undefined;
  /** The caller's connection. */
  client?: PostgresQueryable | undefined;
  /**
   * Connections of the own pool.
   * @default 1
   */
  maxConnections?: number;
  /**
   * Ends every wait, half a second after it aborted.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Whether a commit waits until it is on the disk, whatever `synchronous_commit` the database has.
   * @default false
   */
  durable?: boolean;
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
 * A PostgreSQL database. Every wait has a limit: for a connection, for a lock, for a slow command, for a network that
 * does not respond. Failures are `StorageError`s. Limits are set in each transaction, not in the session, so that a
 * pooler such as pgbouncer can be used.
 */
export class PostgresConnection implements PostgresQueryable {
  readonly #options: PostgresConnectionOptions;
  /** The caller's pool or connection. */
  readonly #given: PostgresQueryable | undefined;
  readonly #waitMs: number;
  readonly #commandTimeoutMs: number;
  readonly #address: string;
  #ownPool: Promise<OwnPostgresPool> | undefined;

  constructor(options: PostgresConnectionOptions) {
    this.#options = options;
    this.#given = options.pool ?? options.client;
    this.#waitMs = options.waitMs ?? 30_000;
    this.#commandTimeoutMs = options.commandTimeoutMs ?? 60_000;
    this.#address = postgresAddressOf(options);
  }

  /** Runs one command, in a transaction of its own. */
  async query(query: PostgresQuery): Promise<{ rows: unknown[] }> {
    return await this.#autocommit(query, this.#commandTimeoutMs);
  }

  /** Runs commands that return no rows, all in one transaction. They may take half an hour, for indexes of a large table. */
  async runScript(commands: readonly string[]): Promise<void> {
    await this.#autocommit(queryWithTextResult(commands.join(";\n")), SQL_SCRIPT_TIMEOUT_MS);
  }

  /**
   * Runs commands in one transaction.
   *
   * @param work Called again if the server has rolled the transaction back because of other ones.
   * @param timeoutMs How long one command may take, in ms; `commandTimeoutMs` unless stated.
   * @throws StorageError when a command fails; what `work` throws. Nothing is committed then, unless `mayBeStored` is true.
   */
  async transaction<T>(
    work: (session: PostgresQueryable) => Promise<T>,
    timeoutMs = this.#commandTimeoutMs,
  ): Promise<T> {
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
  joined(client: PostgresQueryable): PostgresQueryable {
    return this.#sessionOn(client, this.#commandTimeoutMs);
  }

  /** Closes the own pool. The next command opens another. */
  async close(): Promise<void> {
    const pool = this.#ownPool;
    this.#ownPool = undefined;
    // Without the package there is no pool to close.
    await pool?.then((opened) => opened.end(), ignoreError);
  }

  async #transactOnce<T>(work: (session: PostgresQueryable) => Promise<T>, timeoutMs: number): Promise<T> {
    const { client, session } = await this.#begin(timeoutMs);
    try {
      const result = await work(session);
      await session.send(queryWithTextResult("COMMIT"), { mayBeStored: true });
      return result;
    } catch (error) {
      if (!session.isLost) await session.query(queryWithTextResult("ROLLBACK")).catch(() => {});
      throw error;
    } finally {
      releaseClient(client, session);
    }
  }

  #autocommit(query: PostgresQuery, timeoutMs: number): Promise<{ rows: unknown[] }> {
    const given = this.#given;
    // Queries of the caller could get into a transaction on its only connection. So there is none, and no limits on the server.
    if (given && !isPostgresPool(given)) return this.#sessionOn(given, timeoutMs).send(query, { mayBeStored: true });
    return this.transaction((session) => session.query(query), timeoutMs);
  }

  /** An idle connection may have been lost unnoticed. Nothing was done on it, so another one is tried. */
  async #begin(timeoutMs: number): Promise<{ client: PooledPostgresClient; session: PostgresSession }> {
    for (let attempt = 1; ; attempt += 1) {
      const client = await this.#connect();
      const session = this.#sessionOn(client, timeoutMs);
      try {
        await session.query(queryWithTextResult(this.#beginCommand(timeoutMs)));
        return { client, session };
      } catch (error) {
        releaseClient(client, session);
        if (attempt === 2 || !session.isLost || this.#options.signal?.aborted) throw error;
      }
    }
  }

  #beginCommand(timeoutMs: number): string {
    return [
      `BEGIN ISOLATION LEVEL READ COMMITTED READ ${this.#options.readOnly ? "ONLY" : "WRITE"}`,
      `SET LOCAL statement_timeout = ${timeoutMs}`,
      `SET LOCAL lock_timeout = ${this.#waitMs}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${this.#waitMs}`,
      ...(this.#options.durable ? ["SET LOCAL synchronous_commit = on"] : []),
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
      return await rejectAfter(connecting, this.#waitMs, this.#options.signal);
    } catch (error) {
      // The connection may still be established later.
      connecting
        .then((client) => {
          client.removeListener("error", ignoreError);
          client.release();
        })
        .catch(ignoreError);
      const { signal } = this.#options;
      throw error === signal?.reason ? error : postgresStorageError(error, this.#address, false);
    }
  }

  async #pool(): Promise<PostgresPool> {
    if (isPostgresPool(this.#given)) return this.#given;
    const { connectionString = "", maxConnections = 1 } = this.#options;
    this.#ownPool ??= createPostgresPool(connectionString, maxConnections, this.#waitMs);
    return await this.#ownPool;
  }

  #sessionOn(queryable: PostgresQueryable, timeoutMs: number): PostgresSession {
    return new PostgresSession(queryable, { address: this.#address, signal: this.#options.signal, timeoutMs });
  }
}

/** The loss of a connection is an event as well as the failure of a command; without a listener it would end the process. */
const ignoreError = () => {};

function releaseClient(client: PooledPostgresClient, session: PostgresSession): void {
  client.removeListener("error", ignoreError);
  client.release(session.isLost);
}
