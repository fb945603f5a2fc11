import { randomBytes } from "node:crypto";
import * as z from "zod";
import { checkConfiguration } from "../../shared/check.js";
import { ConfigurationError } from "../../shared/errors/index.js";
import { lazy } from "../../shared/field.js";
import { valueThat } from "../../shared/option.js";
import { PostgresConnection } from "../../storage/postgres/connection.js";
import {
  isPostgresPool,
  isQueryable,
  missingSchema,
  type PostgresQueryable,
  queryRows,
  queryWithTextResult,
  usableSchema,
} from "../../storage/postgres/driver.js";
import { missingSteps, quoteName } from "../../storage/tables.js";
import type { OutboxStore } from "../store.js";
import { type Operation, postgresTextOf, storeCommands, type TableNames } from "./commands.js";
import { SqlOutboxStore } from "./sql-store.js";

/** Options of {@link postgresOutboxStore}: exactly one of `pool` and `connectionString`. */
export interface PostgresOutboxStoreOptions {
  /**
   * A `Pool` of `pg`. The outbox never closes it.
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

const postgresStoreOptionsSchema = /* @__PURE__ */ lazy(() =>
  z
    .strictObject({
      pool: valueThat<PostgresQueryable>(isPostgresPool, "must be a Pool of pg"),
      connectionString: z.string().min(1),
      schema: z.string().min(1),
    })
    .partial()
    .refine(({ pool, connectionString }) => (pool === undefined) !== (connectionString === undefined), {
      error: "exactly one of pool and connectionString is required",
    }),
);

/**
 * Stores an outbox in PostgreSQL, for processes on any machine. The tables are `stocklot_outbox_entries`,
 * `stocklot_outbox_lanes`, `stocklot_outbox_deliveries` and `stocklot_outbox_store`. If they exist, the database user needs
 * no right to create any.
 *
 * A commit waits until it is on the disk of the server (`synchronous_commit = on`), whatever the configuration of the
 * database. After a failover to a replica that lags behind, or after a backup is restored, the outbox may resend writes
 * that were sent before. Leases are measured by the clock of the database.
 *
 * With `outbox.add(entry, { client })`, the entry becomes part of the transaction that is open on that `Client` of
 * `pg`.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export function postgresOutboxStore(options: PostgresOutboxStoreOptions): OutboxStore {
  return new PostgresOutboxStore(options);
}

/** What the command needs. */
interface PostgresStoreInternals {
  /** The outbox must exist: nothing is created. */
  existing?: boolean;
}

/** By default, this many requests are in flight at the same time. */
const MAX_CONNECTIONS = 4;

type Commands = ReturnType<typeof storeCommands>;

interface OpenPostgresStore {
  readonly id: string;
  readonly commands: Commands;
}

/** Created by {@link postgresOutboxStore}. */
export class PostgresOutboxStore extends SqlOutboxStore<OpenPostgresStore> {
  readonly #connection: PostgresConnection;
  readonly #givenSchema: string | undefined;
  readonly #mustExist: boolean;

  constructor(options: PostgresOutboxStoreOptions, { existing = false }: PostgresStoreInternals = {}) {
    super("postgresOutboxStore");
    checkConfiguration("postgresOutboxStore", postgresStoreOptionsSchema(), options);
    const { schema, ...source } = options;
    this.#connection = new PostgresConnection({ ...source, maxConnections: MAX_CONNECTIONS, durable: true });
    this.#givenSchema = schema;
    this.#mustExist = existing;
  }

  protected override async connect(): Promise<OpenPostgresStore> {
    const schema = await usableSchema(this.#connection, this.#givenSchema);
    const names = tableNames(schema);
    const commands = storeCommands(names);
    const found = await findStore(this.#connection, names, commands, schema);
    if (found?.isCurrent) return { id: found.id, commands };
    if (!found && this.#mustExist)
      throw new ConfigurationError(
        `PostgreSQL: there is no outbox in the schema "${schema}". Check the address, or the search_path of the user.`,
      );
    const upgraded = this.#connection.transaction((session) => upgradeTables(session, names, commands, schema));
    return { id: await upgraded, commands };
  }

  protected override disconnect(): Promise<void> {
    return this.#connection.close();
  }

  protected override read<T>(begin: () => Operation<T>): Promise<T> {
    return this.transaction(begin);
  }

  protected override async transaction<T>(begin: () => Operation<T>): Promise<T> {
    const { commands } = await this.opened;
    return await this.#connection.transaction((session) => runOperation(session, commands, begin()));
  }

  protected override async join<T>(transaction: unknown, operation: Operation<T>): Promise<T> {
    if (!isQueryable(transaction) || isPostgresPool(transaction)) {
      throw new ConfigurationError("outbox.add: client must be a Client of pg on which a transaction is open");
    }
    const { commands } = await this.opened;
    return await runOperation(this.#connection.joined(transaction), commands, operation);
  }
}

async function runOperation<T>(session: PostgresQueryable, commands: Commands, operation: Operation<T>): Promise<T> {
  let step = operation.next();
  while (!step.done) {
    const { command, values } = step.value;
    const rows = queryRows(session, postgresTextOf(commands[command]), [...values]);
    step = await rows.then(
      (found) => operation.next(found),
      (error) => operation.throw(error),
    );
  }
  return step.value;
}

/** The store in these tables, if they exist. If they are current, no right to create or change any is needed. */
async function findStore(
  queryable: PostgresQueryable,
  names: TableNames,
  commands: Commands,
  schema: string,
): Promise<{ id: string; isCurrent: boolean } | undefined> {
  const [found] = await queryRows(queryable, "SELECT to_regclass($1) AS name", [names.store]);
  if (typeof found?.name !== "string") return undefined;
  const [row] = await queryRows(queryable, commands.store);
  if (!row) return undefined;
  return { id: String(row.id), isCurrent: missingSteps(SCHEMA_STEPS, Number(row.version), schema).length === 0 };
}

async function upgradeTables(
  session: PostgresQueryable,
  names: TableNames,
  { store, createStore }: Commands,
  schema: string,
): Promise<string> {
  await session.query(queryWithTextResult(LOCK_SQL));
  await session.query(
    queryWithTextResult([...(await missingSchema(session, schema)), createStoreTableSql(names)].join(";\n")),
  );
  const [row] = await queryRows(session, store);
  for (const step of missingSteps(SCHEMA_STEPS, Number(row?.version ?? 0), schema))
    await session.query(queryWithTextResult(step(names)));
  const id = String(row?.id ?? randomBytes(16).toString("hex"));
  await queryRows(session, postgresTextOf(createStore), [id, SCHEMA_STEPS.length]);
  return id;
}

function tableNames(schema: string): TableNames {
  const nameOf = (name: string) => `${quoteName(schema)}.stocklot_outbox_${name}`;
  return {
    store: nameOf("store"),
    entries: nameOf("entries"),
    lanes: nameOf("lanes"),
    deliveries: nameOf("deliveries"),
  };
}

/** Two processes that start at the same time create the tables one after the other. */
const LOCK_SQL = "SELECT pg_advisory_xact_lock(hashtext('stocklot outbox'))";

const createStoreTableSql = ({ store }: TableNames) => `
CREATE TABLE IF NOT EXISTS ${store} (
  only_row smallint PRIMARY KEY CHECK (only_row = 1),
  id text NOT NULL,
  service text,
  version integer NOT NULL
)`;

/** Step by step, from version to version. A step that was released must not be changed. */
const SCHEMA_STEPS: readonly ((names: TableNames) => string)[] = [
  ({ entries, lanes, deliveries }) => `
CREATE TABLE ${entries} (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE,
  operation text NOT NULL,
  lane text COLLATE "C" NOT NULL,
  input text,
  input_hash text NOT NULL,
  added_at double precision NOT NULL,
  delivery text COLLATE "C",
  state text NOT NULL DEFAULT 'pending',
  attempts integer NOT NULL DEFAULT 0,
  body text,
  sent_at double precision,
  clock_ahead_ms double precision,
  settled_at double precision,
  result text,
  error text
);
CREATE INDEX stocklot_outbox_by_lane ON ${entries} (lane, sequence);
CREATE INDEX stocklot_outbox_counted ON ${entries} (state, lane);
CREATE INDEX stocklot_outbox_to_send ON ${entries} (sequence) WHERE state IN ('pending', 'sending');
CREATE INDEX stocklot_outbox_unsettled ON ${entries} (lane, sequence) WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX stocklot_outbox_of_delivery ON ${entries} (delivery, state) WHERE delivery IS NOT NULL;
CREATE TABLE ${deliveries} (
  name text COLLATE "C" PRIMARY KEY,
  file text NOT NULL,
  digest text NOT NULL,
  lines integer NOT NULL,
  begun_at double precision NOT NULL
);
CREATE TABLE ${lanes} (
  lane text COLLATE "C" PRIMARY KEY,
  owner text,
  leased_until timestamptz,
  quiet_until timestamptz
) WITH (fillfactor = 50)`,
  ({ lanes }) => `ALTER TABLE ${lanes} ADD COLUMN quiet_key text COLLATE "C"`,
];
