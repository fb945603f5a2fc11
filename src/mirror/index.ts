/**
 * A local copy of items, lots and stock levels that stays in sync.
 *
 * @module stocklot/mirror
 */
// Everything else is private: the steps of a run, rows, drivers, and the format of the saved state.

export type { PostgresQuery, PostgresQueryable } from "../storage/postgres/driver.js";
export type { FieldChange, MirrorEvent, MirrorEventOf, MirrorGap } from "./copy/events.js";
export type { ChangesQuery, MirrorChange, MirrorHistoryOptions, RecordChange } from "./copy/history.js";
export type {
  MirrorHistoryStatus,
  MirrorResourceStatus,
  MirrorRunStatus,
  MirrorStatus,
  MirrorStatusRow,
} from "./copy/status.js";
export { createMirror, type Mirror } from "./mirror.js";
export {
  type CopyChangesFilter,
  type CopyItemFilter,
  type CopyLotFilter,
  type CopyStockLevelFilter,
  type MirrorCopy,
  type OpenCopyOptions,
  openCopy,
} from "./open-copy.js";
export type { MirrorOptions, RunOptions, WatchInterval, WatchOptions } from "./options.js";
export type {
  MirrorCounts,
  MirrorProgress,
  MirrorReadMode,
  MirrorReport,
  MirrorResourceReport,
  MirrorRunKind,
} from "./report.js";
export type { MirrorBatch, MirrorReader, MirrorSink, SinkOpenOptions } from "./sink.js";
export { type PostgresSinkOptions, postgresSink } from "./sinks/postgres-sink.js";
export { type SqliteSinkOptions, sqliteSink } from "./sinks/sqlite-sink.js";
export type {
  MirrorKey,
  MirrorKeyOf,
  MirrorRecord,
  MirrorRecords,
  MirrorResource,
  WarehouseStockLevel,
} from "./tables.js";
