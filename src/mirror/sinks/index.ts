export { type SqliteSinkOptions, sqliteSink } from "./sqlite/sqlite-sink.js";
