/**
 * Writes that survive the process and are applied exactly once.
 *
 * @module stocklot/outbox
 */
// Stores are exported without their members, which only the outbox uses.

export type { PostgresQuery, PostgresQueryable } from "../storage/postgres-place.js";
export type {
  ItemReference,
  OutboxEntry,
  OutboxEntryInput,
  OutboxInputs,
  OutboxOperation,
  OutboxState,
} from "./entry.js";
export { withoutMark } from "./marks.js";
export type {
  OutboxAddManyOptions,
  OutboxAddOptions,
  OutboxEntriesOptions,
  OutboxOptions,
  OutboxRunOptions,
  OutboxWatchOptions,
} from "./options.js";
export { createOutbox, type Outbox } from "./outbox.js";
export type { OutboxProgress, OutboxReport, OutboxSummary } from "./report.js";
export {
  type OutboxStore,
  type PostgresOutboxStoreOptions,
  postgresOutboxStore,
  type SqliteOutboxStoreOptions,
  sqliteOutboxStore,
} from "./stores.js";
