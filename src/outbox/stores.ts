import * as z from "zod";
import { ConfigurationError, StorageError } from "../shared/errors/index.js";
import { checkConfiguration, lazy } from "../shared/schema.js";
import type { SqlDatabase, SqlQuery } from "../storage/database.js";
import { type Dialect, postgresDialect, SQLITE_DIALECT } from "../storage/dialect.js";
import { PostgresDatabase } from "../storage/postgres.js";
import {
  assertOrdinaryPath,
  assertReadsText,
  createSchema,
  isPostgresPool,
  isQueryable,
  type PostgresQueryable,
  type PostgresSource,
  postgresPlaceSchema,
  usableSchema,
} from "../storage/postgres-place.js";
import type { ServiceAccount } from "../storage/service.js";
import { openSqlite, sqlitePathSchema } from "../storage/sqlite.js";
import {
  claimStore,
  createTables,
  OpenStore,
  readStoreId,
  type StoreUser,
  type TableNames,
  tableNamesOf,
} from "./store.js";

/** Where the entries of an outbox are. Created by {@link sqliteOutboxStore} or {@link postgresOutboxStore}. */
export type OutboxStore = SqliteOutboxStore | PostgresOutboxStore;

/** How the command uses a store. */
export interface StoreUse {
  /** If set, the outbox must exist, and nothing is created. With `read`, nothing in an SQLite file is changed. */
  existing?: "read" | "change" | undefined;
}

export interface OpenSettings extends StoreUser {
  /** Ends the wait for the store. */
  signal: AbortSignal;
  /** Called when the store has a connection. */
  onConnection?: () => void;
}

export interface Opened {
  store: OpenStore;
  /** The service of the store; `undefined` if none is recorded, or if the store is only read. */
  service: ServiceAccount | undefined;
  /**
   * Returns the same store within a transaction that the caller has begun.
   *
   * @throws ConfigurationError if the transaction is on another database, or if the store is in SQLite.
   */
  join(client: unknown): OpenStore;
}

const noOutbox = (location: string) => new ConfigurationError(`${location}: there is no outbox. Check the address.`);

/** Options of {@link sqliteOutboxStore}. */
export interface SqliteOutboxStoreOptions {
  /**
   * Path of the database file; created if it does not exist. It may contain other tables. `:memory:` and `file:` are not
   * accepted.
   */
  path: string;
}

const sqliteOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ path: sqlitePathSchema() }));

/**
 * Stores an outbox in an SQLite database, for processes of one machine. A commit waits until it is on the disk. The tables
 * are `stocklot_outbox_entries` and `stocklot_outbox_store`.
 *
 * The database is the file together with the files that end in `-wal` and `-shm`. They must be on a local disk, and must not be
 * copied while the database is open; use `VACUUM INTO` for a copy.
 *
 * The driver is `node:sqlite` if Node.js has it (22.13 and later), otherwise the package `@photostructure/sqlite`.
 *
 * @throws ConfigurationError if an option is wrong.
 */
export const sqliteOutboxStore = (options: SqliteOutboxStoreOptions): OutboxStore => new SqliteOutboxStore(options);

/** Created by {@link sqliteOutboxStore}. */
export class SqliteOutboxStore {
  readonly #path: string;
  readonly #use: StoreUse;

  /** @internal */
  constructor(options: SqliteOutboxStoreOptions, use: StoreUse = {}) {
    this.#path = checkConfiguration("sqliteOutboxStore", sqliteOptionsSchema(), options).path;
    this.#use = use;
  }

  /** @internal */
  async open(settings: OpenSettings): Promise<Opened> {
    const { existing } = this.#use;
    if (existing === undefined) return this.#openFile(false, settings);
    // The file is read first: opening it for writing would change a file that is no outbox.
    const opened = await this.#openFile(true, settings);
    if (existing === "read") return opened;
    await opened.store.database.close();
    return this.#openFile(false, settings);
  }

  async #openFile(reads: boolean, { signal, onConnection, ...user }: OpenSettings): Promise<Opened> {
    const names = tableNamesOf(SQLITE_DIALECT);
    const database = await openSqlite({ path: this.#path, readOnly: reads }, signal);
    const readOrCreateId = reads ? readStoreId : createTables;
    try {
      const opened = await database.transaction(
        async (query) => {
          const id = await readOrCreateId(SQLITE_DIALECT, query, this.#path);
          if (id === undefined) throw noOutbox(this.#path);
          return { id, service: reads ? undefined : await claimStore(database, query, names, user) };
        },
        { signal, reads },
      );
      onConnection?.();
      return { store: new OpenStore(opened.id, database, names), service: opened.service, join: () => this.join() };
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  /** @internal */
  join(): never {
    throw new ConfigurationError(
      "sqliteOutboxStore: the option client is not supported. To join a transaction, use postgresOutboxStore.",
    );
  }
}

/** Options of {@link postgresOutboxStore}: exactly one of `pool` and `connectionString`. */
export interface PostgresOutboxStoreOptions {
  /**
   * A `Pool` of `pg`. The outbox never closes the pool. Add a listener for its event `error`: without a listener, the loss of an
   * idle connection ends the process.
   * @default one of `pool` and `connectionString` is required
   */
  pool?: PostgresQueryable | undefined;
  /**
   * URL of the database. The store opens up to four connections of its own, which requires the package `pg`.
   * @default see `pool`
   */
  connectionString?: string | undefined;
  /**
   * The schema of the tables; created if it does not exist. Required if the `search_path` begins with another schema than
   * `"$user"` or `public`, for example if each tenant has a schema.
   * @default "stocklot"
   */
  schema?: string | undefined;
}

/**
 * Stores an outbox in PostgreSQL, for processes on any machine. The tables are `stocklot_outbox_entries` and
 * `stocklot_outbox_store`. If they exist, the database user needs no right to create tables.
 *
 * A commit waits until it is on the disk of the server (`synchronous_commit = on`), whatever the configuration of the
 * database. A failover must lose no commit, so the replica must be synchronous.
 *
 * With `outbox.add(entry, { client })`, the entry becomes part of the transaction that is open on that `Client` of `pg`.
 *
 * @throws ConfigurationError if an option is wrong.
 */
export const postgresOutboxStore = (options: PostgresOutboxStoreOptions): OutboxStore =>
  new PostgresOutboxStore(options);

/** Created by {@link postgresOutboxStore}. */
export class PostgresOutboxStore {
  readonly #source: PostgresSource;
  readonly #schema: string | undefined;
  readonly #use: StoreUse;

  /** @internal */
  constructor(options: PostgresOutboxStoreOptions, use: StoreUse = {}) {
    const { schema, ...source } = checkConfiguration("postgresOutboxStore", postgresPlaceSchema(), options);
    this.#schema = schema;
    this.#use = use;
    this.#source = source;
  }

  /** @internal */
  async open({ signal, onConnection, ...user }: OpenSettings): Promise<Opened> {
    const { existing } = this.#use;
    const reads = existing === "read";
    const database = new PostgresDatabase({
      ...this.#source,
      readOnly: reads,
      ...(onConnection && { onConnection }),
    });
    const open = async (query: SqlQuery) => {
      const schema = await usableSchema(database, query, this.#schema, "stocklot_outbox_store");
      const place = await storePlaceOf(query, schema);
      let id = await readStoreId(place.dialect, query, place.name);
      if (id === undefined) {
        if (existing) throw noOutbox(place.name);
        await createSchema(database, query, place.schema, "stocklot outbox");
        id = await createTables(place.dialect, query, place.name);
      }
      const names = tableNamesOf(place.dialect);
      return { id, place, names, service: reads ? undefined : await this.#claim(database, query, names, user) };
    };
    try {
      const { id, place, names, service } = await database.transaction(open, { signal });
      const store = new OpenStore(id, database, names);
      const join = (client: unknown) => {
        assertIsClient(client);
        const within = withinTransaction(client, database, (query) => this.#assertSame(query, { id, place }));
        return new OpenStore(id, within, names);
      };
      return { store, service, join };
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  /** @internal */
  join(client: unknown): void {
    assertIsClient(client);
  }

  /**
   * Records service and `settleMs`. A database user who may only read gets an error later, when something has to be
   * changed.
   */
  async #claim(database: SqlDatabase, query: SqlQuery, names: TableNames, user: StoreUser) {
    await query("SAVEPOINT claim");
    try {
      return await claimStore(database, query, names, user);
    } catch (error) {
      if (!StorageError.is(error)) throw error;
      await query("ROLLBACK TO SAVEPOINT claim");
      return undefined;
    }
  }

  /** @throws ConfigurationError unless the transaction sees this very store. */
  async #assertSame(query: SqlQuery, own: { id: string; place: StorePlace }): Promise<void> {
    if (this.#schema === undefined) {
      const [row] = await query("SELECT current_setting('search_path') AS path");
      assertOrdinaryPath(String(row?.path));
    }
    const other = await storePlaceOf(query, own.place.schema);
    const isOtherServer =
      own.place.server !== undefined && other.server !== undefined && own.place.server !== other.server;
    const isSamePlace = own.place.name === other.name && !isOtherServer;
    const id = isSamePlace ? await readStoreId(own.place.dialect, query, own.place.name) : undefined;
    if (id === own.id) return;
    throw new ConfigurationError(
      `outbox.add: the store of the outbox is in ${own.place.name}${describeServer(own.place)}, and the client's transaction in ` +
        `${other.name}${describeServer(other)}${isSamePlace ? ", with another store" : ""}. Nothing was added. Pass a client of the same database.`,
    );
  }
}

function assertIsClient(client: unknown): asserts client is PostgresQueryable {
  if (!isQueryable(client) || isPostgresPool(client))
    throw new ConfigurationError("outbox.add: client must be a Client of pg on which a transaction is open.");
  assertReadsText(client);
}

/** Where the tables of a store are. */
interface StorePlace {
  schema: string;
  dialect: Dialect;
  /** Database and schema in words. */
  name: string;
  /** The identifier of the server; `undefined` if the user may not read it. */
  server: string | undefined;
}

const describeServer = ({ server }: StorePlace) => (server === undefined ? "" : ` (server ${server})`);

async function storePlaceOf(query: SqlQuery, schema: string): Promise<StorePlace> {
  const [{ database, may } = {}] = await query(
    "SELECT current_database() AS database, has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS may",
  );
  const [control] =
    may === "t" ? await query("SELECT system_identifier AS server FROM pg_catalog.pg_control_system()") : [];
  return {
    schema,
    dialect: postgresDialect(schema),
    name: `PostgreSQL, database ${database}, schema ${schema}`,
    server: control && String(control.server),
  };
}

/** The latest call that uses a caller's transaction, by connection. */
const lastPart = new WeakMap<object, Promise<unknown>>();

/** How long an `add` waits for another transaction that has added the same key, in ms. */
const KEY_WAIT_MS = 2_000;

/**
 * Runs each call (a *part*) in the caller's transaction, behind a savepoint. If a part fails, only that part is undone.
 * Parts run one after the other: rolling back a savepoint would also undo statements that were sent after it. When a
 * part ends, the settings of the transaction are as before.
 */
const withinTransaction = (
  client: PostgresQueryable,
  database: PostgresDatabase,
  check: (query: SqlQuery) => Promise<void>,
): SqlDatabase => ({
  kind: "postgres",
  location: database.location,
  transaction(work) {
    const query = database.joined(client);
    const run = async () => {
      await query("SAVEPOINT stocklot_outbox");
      try {
        const [before] = await query(
          "SELECT current_setting('row_security') AS rows, current_setting('lock_timeout') AS lock",
        );
        const set = "SELECT set_config('row_security', $1, true), set_config('lock_timeout', $2, true)";
        await query(set, ["off", `${KEY_WAIT_MS}ms`]);
        await check(query);
        const result = await work(query);
        await query(set, [String(before?.rows), String(before?.lock)]);
        return result;
      } catch (error) {
        await query("ROLLBACK TO SAVEPOINT stocklot_outbox").catch(() => {});
        throw error;
      } finally {
        await query("RELEASE SAVEPOINT stocklot_outbox").catch(() => {});
      }
    };
    const part = Promise.resolve(lastPart.get(client)).then(run);
    lastPart.set(
      client,
      part.catch(() => {}),
    );
    return part;
  },
  close: async () => {},
});
