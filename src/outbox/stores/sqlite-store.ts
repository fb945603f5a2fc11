import { randomBytes } from "node:crypto";
import * as z from "zod";
import { checkConfiguration } from "../../shared/check.js";
import { ConfigurationError } from "../../shared/errors/index.js";
import { lazy } from "../../shared/field.js";
import { SqliteConnection } from "../../storage/sqlite/connection.js";
import {
  findSqliteDriver,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteStatement,
} from "../../storage/sqlite/driver.js";
import { missingSteps } from "../../storage/tables.js";
import type { OutboxStore } from "../store.js";
import { CLOCK_FUNCTION, type Operation, type StoreCommand, sqliteTextOf, storeCommands } from "./commands.js";
import { SqlOutboxStore } from "./sql-store.js";

/** Options of {@link sqliteOutboxStore}. */
export interface SqliteOutboxStoreOptions {
  /** Path of the database file; created if it does not exist. It may contain other tables. */
  path: string;
}

const sqliteStoreOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ path: z.string().min(1) }));

/**
 * Stores an outbox in an SQLite database, for processes of one machine. A commit waits until it is on the disk. The tables
 * are `stocklot_outbox_entries`, `stocklot_outbox_lanes`, `stocklot_outbox_deliveries` and `stocklot_outbox_store`.
 *
 * Leases are measured by the monotonic clock of the machine, which all its processes share. Changes of the system time
 * have no effect. The file must not be on a network drive, and must not be copied while it is open; use `VACUUM INTO`
 * for a copy.
 *
 * The driver is `node:sqlite` if Node.js has it (22.13 and later), otherwise the package `@photostructure/sqlite`.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export function sqliteOutboxStore(options: SqliteOutboxStoreOptions): OutboxStore {
  return new SqliteOutboxStore(options);
}

/** What tests replace. */
export interface SqliteStoreInternals {
  loadDriver?: () => Promise<SqliteDriver>;
  lockWaitMs?: number;
  /** The clock of leases, in ms; all processes must share it. */
  clock?: () => number;
  /** The outbox must exist: nothing is created. `read` changes nothing in the file. */
  existing?: "read" | "change";
}

const NS_PER_MS = 1_000_000n;

/** Time since the machine was started, in ms. */
const monotonicUptimeMs = () => Number(process.hrtime.bigint() / NS_PER_MS);

type Statements = (command: StoreCommand) => SqliteStatement;

interface OpenSqliteStore {
  readonly id: string;
  readonly connection: SqliteConnection;
  readonly statements: Statements;
}

/** Created by {@link sqliteOutboxStore}. */
export class SqliteOutboxStore extends SqlOutboxStore<OpenSqliteStore> {
  readonly #path: string;
  readonly #internals: SqliteStoreInternals;

  constructor(options: SqliteOutboxStoreOptions, internals: SqliteStoreInternals = {}) {
    super("sqliteOutboxStore");
    checkConfiguration("sqliteOutboxStore", sqliteStoreOptionsSchema(), options);
    this.#path = options.path;
    this.#internals = internals;
  }

  protected override async connect(): Promise<OpenSqliteStore> {
    const { existing, clock = monotonicUptimeMs } = this.#internals;
    if (existing !== undefined) {
      const opened = await this.#openWith("read-only", (connection) =>
        connection.read((database) => prepareExisting(database, this.#path, clock)),
      );
      if (existing === "read") return opened;
      await opened.connection.close();
    }
    return this.#openWith("FULL", (connection) =>
      connection.transaction((database) => prepare(database, this.#path, clock)),
    );
  }

  async #openWith(
    synchronous: "FULL" | "read-only",
    begin: (connection: SqliteConnection) => Promise<Omit<OpenSqliteStore, "connection">>,
  ): Promise<OpenSqliteStore> {
    const { loadDriver = findSqliteDriver, lockWaitMs } = this.#internals;
    const connection = await SqliteConnection.open({
      path: this.#path,
      synchronous,
      loadDriver,
      ...(lockWaitMs !== undefined && { lockWaitMs }),
    });
    try {
      return { connection, ...(await begin(connection)) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  // If it could not be opened, there is nothing to close.
  protected override async disconnect(opened: OpenSqliteStore | undefined): Promise<void> {
    await opened?.connection.close();
  }

  protected override async read<T>(begin: () => Operation<T>): Promise<T> {
    const { connection, statements } = await this.opened;
    return await connection.read(() => runOperation(statements, begin()));
  }

  protected override async transaction<T>(begin: () => Operation<T>): Promise<T> {
    const { connection, statements } = await this.opened;
    return await connection.transaction(() => runOperation(statements, begin()));
  }

  protected override async join<T>(): Promise<T> {
    throw new ConfigurationError(
      "sqliteOutboxStore: the option client is not supported. To join a transaction, use postgresOutboxStore.",
    );
  }
}

function runOperation<T>(statements: Statements, operation: Operation<T>): T {
  let step = operation.next();
  while (!step.done) {
    const { command, values } = step.value;
    const bound = values.map((value) => (typeof value === "object" && value ? JSON.stringify(value) : value));
    step = operation.next(statements(command).all(...bound));
  }
  return step.value;
}

/** Creates or upgrades the tables, in the caller's transaction. */
function prepare(database: SqliteDatabase, path: string, clock: () => number): { id: string; statements: Statements } {
  database.function(CLOCK_FUNCTION, clock);
  database.exec(CREATE_STORE_TABLE_SQL);
  const [store] = database.prepare(COMMANDS.store).all();
  for (const step of missingSteps(SCHEMA_STEPS, Number(store?.version ?? 0), path)) database.exec(step);
  const statements = statementsOf(database);
  const id = String(store?.id ?? randomBytes(16).toString("hex"));
  statements("createStore").run(id, SCHEMA_STEPS.length);
  return { id, statements };
}

/** Of tables that exist. */
function prepareExisting(
  database: SqliteDatabase,
  path: string,
  clock: () => number,
): { id: string; statements: Statements } {
  const [table] = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'stocklot_outbox_store'").all();
  if (!table) throw new ConfigurationError(`${path}: there is no outbox in this file. Check the path.`);
  database.function(CLOCK_FUNCTION, clock);
  const [store] = database.prepare(COMMANDS.store).all();
  missingSteps(SCHEMA_STEPS, Number(store?.version), path);
  return { id: String(store?.id), statements: statementsOf(database) };
}

/** Prepared when it is first used: tables of an earlier version that are only read lack columns that others need. */
function statementsOf(database: SqliteDatabase): Statements {
  const prepared = new Map<StoreCommand, SqliteStatement>();
  return (command) => {
    const statement = prepared.get(command) ?? database.prepare(sqliteTextOf(COMMANDS[command]));
    prepared.set(command, statement);
    return statement;
  };
}

const COMMANDS = storeCommands({
  store: "stocklot_outbox_store",
  entries: "stocklot_outbox_entries",
  lanes: "stocklot_outbox_lanes",
  deliveries: "stocklot_outbox_deliveries",
});

/** Of the whole store: its id, and the version of its tables. */
const CREATE_STORE_TABLE_SQL = `
CREATE TABLE IF NOT EXISTS stocklot_outbox_store (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id TEXT NOT NULL,
  service TEXT,
  version INTEGER NOT NULL
)`;

/** Step by step, from version to version. A step that was released must not be changed. */
const SCHEMA_STEPS = [
  `
CREATE TABLE stocklot_outbox_entries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  operation TEXT NOT NULL,
  lane TEXT NOT NULL,
  input TEXT,
  input_hash TEXT NOT NULL,
  added_at REAL NOT NULL,
  delivery TEXT,
  state TEXT NOT NULL DEFAULT 'pending',
  attempts INTEGER NOT NULL DEFAULT 0,
  body TEXT,
  sent_at REAL,
  clock_ahead_ms REAL,
  settled_at REAL,
  result TEXT,
  error TEXT
);
CREATE INDEX stocklot_outbox_by_lane ON stocklot_outbox_entries (lane, sequence);
CREATE INDEX stocklot_outbox_counted ON stocklot_outbox_entries (state, lane);
CREATE INDEX stocklot_outbox_to_send ON stocklot_outbox_entries (sequence)
  WHERE state IN ('pending', 'sending');
CREATE INDEX stocklot_outbox_unsettled ON stocklot_outbox_entries (lane, sequence)
  WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX stocklot_outbox_of_delivery ON stocklot_outbox_entries (delivery, state) WHERE delivery IS NOT NULL;
CREATE TABLE stocklot_outbox_deliveries (
  name TEXT PRIMARY KEY,
  file TEXT NOT NULL,
  digest TEXT NOT NULL,
  lines INTEGER NOT NULL,
  begun_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE stocklot_outbox_lanes (
  lane TEXT PRIMARY KEY,
  owner TEXT,
  leased_until INTEGER,
  lease_ms INTEGER,
  quiet_until INTEGER,
  quiet_ms INTEGER
) WITHOUT ROWID`,
  "ALTER TABLE stocklot_outbox_lanes ADD COLUMN quiet_key TEXT",
];
