import { randomBytes } from "node:crypto";
import type { SqliteDatabase } from "../../storage/sqlite/driver.js";
import { missingSteps } from "../../storage/tables.js";

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
  item TEXT NOT NULL,
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
CREATE INDEX stocklot_outbox_by_item ON stocklot_outbox_entries (item, sequence);
CREATE INDEX stocklot_outbox_counted ON stocklot_outbox_entries (state, item);
CREATE INDEX stocklot_outbox_to_send ON stocklot_outbox_entries (sequence)
  WHERE state IN ('pending', 'sending');
CREATE INDEX stocklot_outbox_unsettled ON stocklot_outbox_entries (item, sequence)
  WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX stocklot_outbox_of_delivery ON stocklot_outbox_entries (delivery, state) WHERE delivery IS NOT NULL;
CREATE TABLE stocklot_outbox_deliveries (
  name TEXT PRIMARY KEY,
  file TEXT NOT NULL,
  digest TEXT NOT NULL,
  lines INTEGER NOT NULL,
  begun_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE stocklot_outbox_items (
  item TEXT PRIMARY KEY,
  owner TEXT,
  leased_until INTEGER,
  lease_ms INTEGER,
  quiet_until INTEGER,
  quiet_ms INTEGER
) WITHOUT ROWID`,
];

/** Creates or upgrades the tables, in the caller's transaction, and returns the id of the store. */
export function prepareTables(database: SqliteDatabase, path: string): string {
  database.exec(CREATE_STORE_TABLE_SQL);
  const [store] = database.prepare("SELECT id, version FROM stocklot_outbox_store").all();
  for (const step of missingSteps(SCHEMA_STEPS, Number(store?.version ?? 0), path)) database.exec(step);
  const id = String(store?.id ?? randomBytes(16).toString("hex"));
  database
    .prepare(
      "INSERT INTO stocklot_outbox_store (only, id, version) VALUES (1, ?, ?) ON CONFLICT (only) DO UPDATE SET version = excluded.version",
    )
    .run(id, SCHEMA_STEPS.length);
  return id;
}
