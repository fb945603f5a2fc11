import { ConfigurationError } from "../../errors/index.js";

/** A value that can be bound to a statement. */
export type SqliteValue = string | number | null;

/** The part of an SQLite driver that is used: `node:sqlite`, or `@photostructure/sqlite`, which has the same interface. */
export interface SqliteDriver {
  DatabaseSync: new (path: string) => SqliteDatabase;
}

export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): Record<string, unknown>[];
}

/** The driver of Node.js; `undefined` if this version has none, or only behind a flag. */
export function nodeDriver(): SqliteDriver | undefined {
  // Bundlers do not know this module, and an import fails on a Node.js without it.
  const module: unknown = process.getBuiltinModule?.("node:sqlite");
  return isDriver(module) ? module : undefined;
}

/**
 * The driver of the package that users install if Node.js has none.
 *
 * @throws ConfigurationError when it is not installed.
 */
export async function packageDriver(): Promise<SqliteDriver> {
  try {
    const module: unknown = await import("@photostructure/sqlite");
    if (isDriver(module)) return module;
    throw new TypeError("it exports no DatabaseSync");
  } catch (error) {
    const message = `sqliteSink: Node.js ${process.versions.node} has no node:sqlite (22.13 and later have); install a driver: npm install @photostructure/sqlite`;
    throw new ConfigurationError(message, { cause: error });
  }
}

const isDriver = (module: unknown): module is SqliteDriver =>
  typeof module === "object" &&
  module !== null &&
  "DatabaseSync" in module &&
  typeof module.DatabaseSync === "function";
