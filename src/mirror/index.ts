/**
 * A local copy of items, lots and stock levels that stays in sync.
 *
 * @module stocklot/mirror
 */
// Everything else is private: the steps of a run, rows, drivers, and what is known of a list.

export type { PostgresQuery, PostgresQueryable } from "../storage/postgres-place.js";
export type { CopyChangesFilter, MirrorChange, MirrorHistoryOptions, RecordChange } from "./copy/changes.js";
export { type PostgresSink, type PostgresSinkOptions, postgresSink } from "./copy/postgres.js";
export { type SqliteSink, type SqliteSinkOptions, sqliteSink } from "./copy/sqlite.js";
export type { MirrorListStatus } from "./copy/status.js";
export { createMirror, type Mirror } from "./mirror.js";
export {
  type CopyItemFilter,
  type CopyLotFilter,
  type CopyStockLevelFilter,
  type MirrorCopy,
  openCopy,
} from "./open-copy.js";
export type { MirrorOptions, MirrorSink, RunOptions, WatchOptions } from "./options.js";
export type {
  MirrorProgress,
  MirrorReport,
  MirrorResourceReport,
} from "./report.js";
export type { MirrorRecord, MirrorRecords, MirrorResource, WarehouseStockLevel } from "./tables.js";
