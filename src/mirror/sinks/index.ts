export { type NdjsonSinkOptions, ndjsonSink } from "./ndjson/ndjson-sink.js";
export type { PostgresQuery, PostgresQueryable } from "./postgres/connection.js";
export { type PostgresSinkOptions, postgresSink } from "./postgres/postgres-sink.js";
export { type SqliteSinkOptions, sqliteSink } from "./sqlite/sqlite-sink.js";
