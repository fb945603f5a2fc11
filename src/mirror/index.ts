// What is not listed here is private: how rows are made, drivers, and the format of the state.
export type { MirrorBatch, MirrorSink } from "./sink.js";
export * from "./sinks/index.js";
export type { MirrorRecord, MirrorRecords, MirrorResource } from "./tables.js";
