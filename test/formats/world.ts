import { Client } from "pg";
import { InventoryClient } from "stocklot";
import { createMirror, type MirrorSink, postgresSink, sqliteSink } from "stocklot/mirror";
import {
  createOutbox,
  type NewOutboxEntry,
  type OutboxStore,
  postgresOutboxStore,
  sqliteOutboxStore,
} from "stocklot/outbox";
import { createSandbox } from "stocklot/sandbox";
import { findSqliteDriver } from "../../src/storage/sqlite/driver.js";

export const WID = 3;
export const REASON_CODES = { surplus: 21, shortage: 22 };

const seededAt = "2026-01-02T03:04:05.678Z";
const items = ["BOLT", "NUT", "WASHER"].map((shortID) => ({
  shortID,
  description: `item ${shortID}`,
  category: 1,
  uOM: "EA",
}));
const lots = items.map(({ shortID }, index) => ({
  shortID,
  wID: WID,
  units: 100 + index,
  spot: "A-01",
  received: seededAt,
}));

/** The service at which the stored files were written, as it was before. */
export function createWorld() {
  const sandbox = createSandbox({ items, lots, rateLimit: false });
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    ...sandbox.credentials,
    fetch: sandbox.fetch,
    rateLimit: false,
    retry: false,
  });
  return {
    sandbox,
    client,
    outboxAt: (store: OutboxStore) => createOutbox({ client, store, settleMs: 0 }),
    mirrorAt: (sink: MirrorSink) => createMirror({ client, sink, history: { days: 3_650 } }),
  };
}

/** An entry for each operation, then those that end in the other states. */
export const ENTRIES: readonly NewOutboxEntry[] = [
  { key: "receive", operation: "receive", input: { itemID: "BOLT", units: 1.5, wid: WID, reasonCode: 1 } },
  { key: "move", operation: "move", input: { itemID: "NUT", units: 1, wid: WID, fromSpot: "A-01", toSpot: "B-02" } },
  { key: "create", operation: "create", input: { shortID: "SCREW", description: "new", category: 1, uOM: "EA" } },
  { key: "update", operation: "update", input: { shortID: "NUT", description: "changed" } },
  { key: "discontinue", operation: "discontinue", input: { shortID: "SCREW" } },
  { key: "rejected", operation: "receive", input: { itemID: "NONE", units: 1, wid: WID, reasonCode: 1 } },
  { key: "unknown", operation: "issue", input: { itemID: "WASHER", units: 1, wid: WID, reasonCode: 1 } },
  { key: "canceled", operation: "receive", input: { itemID: "BOLT", units: 7, wid: WID, reasonCode: 1 } },
  { key: "pending", operation: "receive", input: { itemID: "BOLT", units: 9, wid: WID, reasonCode: 1 } },
];

/** Where an outbox and the copy of a mirror are stored. */
export interface Place {
  store(): OutboxStore;
  sink(): MirrorSink;
}

export const sqlitePlace = (path: string): Place => ({
  store: () => sqliteOutboxStore({ path }),
  sink: () => sqliteSink({ path }),
});

/** The tables of a dump are in this schema. */
export const SCHEMA = "stocklot_formats";

export const postgresPlace = (connectionString: string): Place => ({
  store: () => postgresOutboxStore({ connectionString, schema: SCHEMA }),
  sink: () => postgresSink({ connectionString, schema: SCHEMA }),
});

/** Runs commands in a database of PostgreSQL, after removing what the one before has stored. */
export async function restorePostgres(connectionString: string, sql: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE; ${sql}`);
  await client.end();
}

const quoted = (name: unknown) => `"${String(name)}"`;

/** An SQLite database as SQL. */
export async function dumpSqlite(path: string): Promise<string> {
  const { DatabaseSync } = await findSqliteDriver();
  const database = new DatabaseSync(path);
  const schema = database
    .prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    .all();
  const rows = schema
    .filter(({ type }) => type === "table")
    .flatMap(({ name }) => {
      const columns = database.prepare(`PRAGMA table_info(${quoted(name)})`).all();
      const values = columns.map((column) => `quote(${quoted(column.name)})`).join(" || ', ' || ");
      const tuples = database.prepare(`SELECT ${values} AS tuple FROM ${quoted(name)}`).all();
      return tuples.map(({ tuple }) => `INSERT INTO ${quoted(name)} VALUES (${String(tuple)})`);
    });
  database.close();
  return [...schema.map(({ sql }) => String(sql)), ...rows].map((line) => `${line};\n`).join("");
}

/** Creates the database of a dump. */
export async function restoreSqlite(path: string, sql: string): Promise<void> {
  const { DatabaseSync } = await findSqliteDriver();
  const database = new DatabaseSync(path);
  database.exec(`BEGIN; ${sql} COMMIT`);
  database.close();
}
