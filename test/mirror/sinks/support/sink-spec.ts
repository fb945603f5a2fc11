import { postgresSink } from "../../../../src/mirror/index.js";
import type { MirrorSink } from "../../../../src/mirror/sink.js";
import { SqliteSink } from "../../../../src/mirror/sinks/sqlite-sink.js";
import { loadNodeDriver, loadPackageDriver } from "../../../../src/storage/sqlite/driver.js";

/** The location of a copy, which another process can open too. */
export type SinkSpec =
  | { kind: "sqlite"; path: string; driver: "node" | "package" }
  | { kind: "postgres"; connectionString: string; schema: string };

/** A sink of its own on that copy. */
export function sinkAt(spec: SinkSpec): MirrorSink {
  switch (spec.kind) {
    case "sqlite":
      return new SqliteSink({ path: spec.path }, spec.driver === "node" ? ownDriver : loadPackageDriver);
    case "postgres":
      return postgresSink({ connectionString: spec.connectionString, schema: spec.schema });
  }
}

async function ownDriver() {
  const driver = loadNodeDriver();
  if (!driver) throw new Error("this Node.js has no node:sqlite");
  return driver;
}
