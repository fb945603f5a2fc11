import { randomBytes } from "node:crypto";
import type { PostgresConnection } from "../../storage/postgres/connection.js";
import {
  missingSchema,
  type PostgresQueryable,
  queryRows,
  queryWithTextResult,
} from "../../storage/postgres/driver.js";
import { missingSteps, quoteName } from "../../storage/tables.js";

/** The quoted names of the tables, with their schema. */
export interface TableNames {
  /** Of the whole store: its id, and the version of its tables. */
  readonly store: string;
  readonly entries: string;
  readonly items: string;
  readonly deliveries: string;
}

export function tableNames(schema: string): TableNames {
  const nameOf = (name: string) => `${quoteName(schema)}.stocklot_outbox_${name}`;
  return {
    store: nameOf("store"),
    entries: nameOf("entries"),
    items: nameOf("items"),
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
  ({ entries, items, deliveries }) => `
CREATE TABLE ${entries} (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE,
  operation text NOT NULL,
  item text COLLATE "C" NOT NULL,
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
CREATE INDEX stocklot_outbox_by_item ON ${entries} (item, sequence);
CREATE INDEX stocklot_outbox_counted ON ${entries} (state, item);
CREATE INDEX stocklot_outbox_to_send ON ${entries} (sequence) WHERE state IN ('pending', 'sending');
CREATE INDEX stocklot_outbox_unsettled ON ${entries} (item, sequence) WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX stocklot_outbox_of_delivery ON ${entries} (delivery, state) WHERE delivery IS NOT NULL;
CREATE TABLE ${deliveries} (
  name text COLLATE "C" PRIMARY KEY,
  file text NOT NULL,
  digest text NOT NULL,
  lines integer NOT NULL,
  begun_at double precision NOT NULL
);
CREATE TABLE ${items} (
  item text COLLATE "C" PRIMARY KEY,
  owner text,
  leased_until timestamptz,
  quiet_until timestamptz
) WITH (fillfactor = 50)`,
];

/** Creates or upgrades the tables, and returns the id of the store. If there is nothing to do, no right to create is needed. */
export async function prepareTables(connection: PostgresConnection, schema: string): Promise<string> {
  const names = tableNames(schema);
  return (
    (await readUpToDate(connection, names, schema)) ??
    (await connection.transaction((session) => upgradeSchema(session, names, schema)))
  );
}

/** The id of a store whose tables are up to date. */
async function readUpToDate(
  queryable: PostgresQueryable,
  names: TableNames,
  schema: string,
): Promise<string | undefined> {
  const [found] = await queryRows(queryable, "SELECT to_regclass($1) AS name", [names.store]);
  if (typeof found?.name !== "string") return undefined;
  const [row] = await queryRows(queryable, `SELECT id, version FROM ${names.store}`);
  return row && missingSteps(SCHEMA_STEPS, Number(row.version), schema).length === 0 ? String(row.id) : undefined;
}

async function upgradeSchema(session: PostgresQueryable, names: TableNames, schema: string): Promise<string> {
  await session.query(queryWithTextResult(LOCK_SQL));
  await session.query(
    queryWithTextResult([...(await missingSchema(session, schema)), createStoreTableSql(names)].join(";\n")),
  );
  const [row] = await queryRows(session, `SELECT id, version FROM ${names.store}`);
  for (const step of missingSteps(SCHEMA_STEPS, Number(row?.version ?? 0), schema))
    await session.query(queryWithTextResult(step(names)));
  const id = String(row?.id ?? randomBytes(16).toString("hex"));
  await queryRows(
    session,
    `INSERT INTO ${names.store} (only_row, id, version) VALUES (1, $1, $2) ON CONFLICT (only_row) DO UPDATE SET version = excluded.version`,
    [id, SCHEMA_STEPS.length],
  );
  return id;
}
