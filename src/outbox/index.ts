/**
 * Writes that survive the process and are applied exactly once.
 *
 * @module stocklot/outbox
 */
// Everything else is private: leases, look-ups, and the policies of a run.
export type { PostgresQuery, PostgresQueryable } from "../storage/postgres/driver.js";
export type { ServiceIdentity } from "../storage/service.js";
export type { ItemReference, NewOutboxEntry, OutboxEntry, OutboxInputs } from "./entry.js";
export { type MarkField, withoutMark } from "./marks.js";
export type {
  OutboxAddOptions,
  OutboxEntriesOptions,
  OutboxOptions,
  OutboxRunOptions,
  OutboxWatchOptions,
} from "./options.js";
export { createOutbox, type Outbox } from "./outbox.js";
export type { OutboxEstimate, OutboxProgress, OutboxReport, OutboxSummary } from "./report.js";
export type {
  ClaimedLane,
  EntryChange,
  EntryCondition,
  EntryProgress,
  NewEntry,
  OutboxCounts,
  OutboxOperation,
  OutboxState,
  OutboxStore,
  StoredEntry,
  StoredJson,
  UpdateResult,
} from "./store.js";
export { type PostgresOutboxStoreOptions, postgresOutboxStore } from "./stores/postgres-store.js";
export { type SqliteOutboxStoreOptions, sqliteOutboxStore } from "./stores/sqlite-store.js";
