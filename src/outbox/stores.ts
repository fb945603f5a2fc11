import * as z from "zod";
import { checkConfiguration } from "../shared/check.js";
import { ConfigurationError } from "../shared/errors/index.js";
import { lazy } from "../shared/field.js";
import { type Query, quoteName, type SqlDatabase } from "../storage/database.js";
import {
  createSchema,
  isPostgresPool,
  isQueryable,
  PostgresDatabase,
  type PostgresOptions,
  type PostgresQueryable,
  postgresPlaceSchema,
  usableSchema,
} from "../storage/postgres.js";
import { openSqlite } from "../storage/sqlite.js";
import { createTables, OpenStore, readStoreId } from "./store.js";

/** Where the entries of an outbox are. Created by {@link sqliteOutboxStore} or {@link postgresOutboxStore}. */
export type OutboxStore = SqliteOutboxStore | PostgresOutboxStore;

/** What the command sets. */
export interface StoreUse {
  /** The outbox must exist: nothing is created. `read` changes nothing in an SQLite file. */
  existing?: "read" | "change" | undefined;
}

const noOutbox = (location: string) => new ConfigurationError(`${location}: there is no outbox. Check the address.`);

/** Options of {@link sqliteOutboxStore}. */
export interface SqliteOutboxStoreOptions {
  /** Path of the database file; created if it does not exist. It may contain other tables. */
  path: string;
}

const sqliteOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ path: z.string().min(1) }));

/**
 * Stores an outbox in an SQLite database, for processes of one machine. A commit waits until it is on the disk. The tables
 * are `stocklot_outbox_entries` and `stocklot_outbox_store`.
 *
 * The database is the file together with those that end in `-wal` and `-shm`. It must be on a local disk, and must not be
 * copied while it is open; use `VACUUM INTO` for a copy.
 *
 * The driver is `node:sqlite` if Node.js has it (22.13 and later), otherwise the package `@photostructure/sqlite`.
 *
 * @throws ConfigurationError when an option is wrong.
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
  async open(): Promise<OpenStore> {
    const { existing } = this.#use;
    if (existing === undefined) return this.#openFile(false);
    // To be read first, since to open it otherwise would change a file that is no outbox.
    const store = await this.#openFile(true);
    if (existing === "read") return store;
    await store.database.close();
    return this.#openFile(false);
  }

  async #openFile(readOnly: boolean): Promise<OpenStore> {
    const names = { store: "stocklot_outbox_store", entries: "stocklot_outbox_entries" };
    const database = await openSqlite({ path: this.#path, readOnly });
    const prepare = readOnly ? readStoreId : createTables;
    try {
      const id = await database.transaction((query) => prepare("sqlite", query, names, this.#path));
      if (id === undefined) throw noOutbox(this.#path);
      return new OpenStore(id, database, names);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  /** @internal */
  join(_client: unknown): Promise<OpenStore> {
    throw new ConfigurationError(
      "sqliteOutboxStore: the option client is not supported. To join a transaction, use postgresOutboxStore.",
    );
  }
}

/** Options of {@link postgresOutboxStore}: exactly one of `pool` and `connectionString`. */
export interface PostgresOutboxStoreOptions {
  /**
   * A `Pool` of `pg`. The outbox never closes it. It needs a listener for `error`, since the loss of an idle connection
   * would end the process.
   * @default one of `pool` and `connectionString` is required
   */
  pool?: PostgresQueryable | undefined;
  /**
   * URL of the database. The store opens up to four connections of its own, which requires the package `pg`.
   * @default see `pool`
   */
  connectionString?: string | undefined;
  /**
   * The schema of the tables; created if it does not exist.
   * @default the first of the search_path that exists
   */
  schema?: string | undefined;
}

/**
 * Stores an outbox in PostgreSQL, for processes on any machine. The tables are `stocklot_outbox_entries` and
 * `stocklot_outbox_store`. If they exist, the database user needs no right to create any.
 *
 * A commit waits until it is on the disk of the server (`synchronous_commit = on`), whatever the configuration of the
 * database. A failover must lose no commit, so the replica must be synchronous.
 *
 * With `outbox.add(entry, { client })`, the entry becomes part of the transaction that is open on that `Client` of `pg`.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export const postgresOutboxStore = (options: PostgresOutboxStoreOptions): OutboxStore =>
  new PostgresOutboxStore(options);

/** Created by {@link postgresOutboxStore}. */
export class PostgresOutboxStore {
  readonly #source: PostgresOptions;
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
  open(): Promise<OpenStore> {
    return this.#openIn(new PostgresDatabase(this.#source));
  }

  /** All of it on the connection of the caller, from the first call on: others may wait for the rest of its pool. @internal */
  async join(client: unknown): Promise<OpenStore> {
    if (!isQueryable(client) || isPostgresPool(client))
      throw new ConfigurationError("outbox.add: client must be a Client of pg on which a transaction is open");
    return this.#openIn(withinTransaction(client, new PostgresDatabase(this.#source).joined(client)));
  }

  #openIn(database: SqlDatabase): Promise<OpenStore> {
    return database.transaction(async (query) => {
      const schema = await usableSchema(query, this.#schema);
      const nameOf = (name: string) => `${quoteName(schema)}.stocklot_outbox_${name}`;
      const names = { store: nameOf("store"), entries: nameOf("entries") };
      const location = `PostgreSQL, schema ${schema}`;
      let id = await readStoreId("postgres", query, names, location);
      if (id === undefined) {
        if (this.#use.existing) throw noOutbox(location);
        await createSchema(query, schema, "stocklot outbox");
        id = await createTables("postgres", query, names, location);
      }
      return new OpenStore(id, database, names);
    });
  }
}

/** The last part of a transaction of the caller's, by its connection. */
const lastPart = new WeakMap<object, Promise<unknown>>();

/**
 * A transaction of the caller's: if a part of it fails, that alone is undone. Parts follow each other, since one that is undone
 * takes along what has come since it began.
 */
const withinTransaction = (client: object, query: Query): SqlDatabase => ({
  kind: "postgres",
  transaction(work) {
    const run = async () => {
      await query("SAVEPOINT stocklot_outbox");
      try {
        return await work(query);
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
