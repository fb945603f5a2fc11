import {
  createPostgresPool,
  isPostgresPool,
  type OwnPostgresPool,
  type PooledPostgresClient,
  type PostgresPool,
  type PostgresQueryable,
  type PostgresSource,
  postgresAddressOf,
  queryWithTextResult,
} from "./driver.js";
import { isRolledBackForOthers, isServerGone, PostgresSession, postgresStorageError, rejectAfter } from "./session.js";

/** How often a transaction is tried that the server rolls back because of other ones, as after a deadlock. */
const MAX_ATTEMPTS = 5;

export interface PostgresConnectionOptions extends PostgresSource {
  /**
   * Connections of the own pool.
   * @default 1
   */
  maxConnections?: number;
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
export class PostgresConnection {
  readonly #options: PostgresConnectionOptions;
  readonly #waitMs: number;
  readonly #commandTimeoutMs: number;
  readonly #address: string;
  #ownPool: Promise<OwnPostgresPool> | undefined;
  /** One per connection: another one on the same pool keeps its own. */
  readonly #ignorePoolError = () => {};
  #listensToPool = false;

  constructor(options: PostgresConnectionOptions) {
    this.#options = options;
    this.#waitMs = options.waitMs ?? 30_000;
    this.#commandTimeoutMs = options.commandTimeoutMs ?? 60_000;
    this.#address = postgresAddressOf(options);
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
    if (isPostgresPool(this.#options.pool)) this.#options.pool.removeListener?.("error", this.#ignorePoolError);
    this.#listensToPool = false;
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
        if (attempt === 2 || !session.isLost) throw error;
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
      return await rejectAfter(connecting, this.#waitMs);
    } catch (error) {
      // The connection may still be established later.
      connecting
        .then((client) => {
          client.removeListener("error", ignoreError);
          client.release();
        })
        .catch(ignoreError);
      throw postgresStorageError(error, this.#address, false);
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

  #sessionOn(queryable: PostgresQueryable, timeoutMs: number): PostgresSession {
    return new PostgresSession(queryable, { address: this.#address, timeoutMs });
  }
}

/** The loss of a connection is an event as well as the failure of a command; without a listener it would end the process. */
const ignoreError = () => {};

function releaseClient(client: PooledPostgresClient, session: PostgresSession): void {
  client.removeListener("error", ignoreError);
  client.release(session.isLost);
}
