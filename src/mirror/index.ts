/**
 * A copy of items, lots and stock levels in a database of your own, kept right.
 *
 * @module stocklot/mirror
 */
// What is not listed here is private: how a run goes, how rows are made, drivers, and the format of the state.
export type { FieldChange } from "./changes.js";
export type { MirrorEstimate, MirrorResourceEstimate } from "./estimate.js";
export type { MirrorEvent, MirrorEventOf } from "./events.js";
export { createMirror, type Mirror } from "./mirror.js";
export type { EstimateOptions, MirrorOptions, RunOptions, WatchOptions } from "./options.js";
export type { MirrorCounts, MirrorProgress, MirrorReading, MirrorReport, MirrorResourceReport } from "./report.js";
export type { MirrorBatch, MirrorSink } from "./sink.js";
export * from "./sinks/index.js";
export type { MirrorRecord, MirrorRecords, MirrorResource } from "./tables.js";
