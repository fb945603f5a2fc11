import { ConfigurationError } from "../shared/errors/index.js";
import { fieldOf } from "../shared/unknown.js";
import type { SqlRow, SqlValue } from "./database.js";

/** The part of a driver that is used: `node:sqlite`, or `@photostructure/sqlite`, which has the same interface. */
export interface SqliteDriver {
  DatabaseSync: new (path: string, options?: { readOnly?: boolean }) => SqliteFile;
}

export interface SqliteFile {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  all(...values: SqlValue[]): SqlRow[];
}

/** The advice if there is no driver. The package works on Node.js 20.19, although its `engines` do not say so. */
const INSTALL_DRIVER_ADVICE =
  "Use Node.js 22.13 or later, or run npm install @photostructure/sqlite@2 (on Node.js 20 with --engine-strict=false).";

/**
 * Returns the driver of Node.js, or else the driver of the package.
 *
 * @throws ConfigurationError if there is no driver.
 */
export const findSqliteDriver = async (): Promise<SqliteDriver> => loadNodeDriver() ?? (await loadPackageDriver());

/** Returns the driver of Node.js; `undefined` if this version has no driver, or only behind a flag. */
export function loadNodeDriver(): SqliteDriver | undefined {
  // Bundlers do not know this module, and an import fails on a Node.js without it.
  const module: unknown = process.getBuiltinModule?.("node:sqlite");
  return isSqliteDriver(module) ? module : undefined;
}

/**
 * Returns the driver of the package that users install if Node.js has no driver.
 *
 * @throws ConfigurationError if the package is not installed, or is version 1, which does not close its files.
 */
export async function loadPackageDriver(): Promise<SqliteDriver> {
  const module: unknown = await import("@photostructure/sqlite").catch((cause: unknown) => {
    const { node } = process.versions;
    throw new ConfigurationError(`SQLite: Node.js ${node} has no node:sqlite. ${INSTALL_DRIVER_ADVICE}`, { cause });
  });
  // Version 2.0.0 and later have `serialize()`. The package does not export its version.
  if (isSqliteDriver(module) && "serialize" in module.DatabaseSync.prototype) return module;
  throw new ConfigurationError(`SQLite: @photostructure/sqlite 1 does not close its files. ${INSTALL_DRIVER_ADVICE}`);
}

const isSqliteDriver = (module: unknown): module is SqliteDriver =>
  typeof fieldOf(module, "DatabaseSync") === "function";
