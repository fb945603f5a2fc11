import * as z from "zod";
import { ConfigurationError } from "../../shared/errors/index.js";
import { lazy } from "../../shared/field.js";
import { valueThat } from "../../shared/option.js";
import { fieldOf } from "../../shared/unknown.js";
import type { SqlValue } from "../database.js";

/** A query as `pg` takes it. */
export interface PostgresQuery {
  /** The command, with `$1`, `$2` … for values. */
  text: string;
  /** The values, in order. */
  values?: unknown[];
  /** Values are read as strings, so that type parsers of the program have no effect here. */
  types: {
    /** Returns the parser of a column: here one whose result is the string that the server writes for the value. */
    getTypeParser(type: number, format?: "text" | "binary"): (value: never) => string;
  };
}

/** The part of the caller's `Pool` or `Client` of `pg` that is used. It is never closed. */
export interface PostgresQueryable {
  /** Runs a query. */
  query(query: PostgresQuery): Promise<{
    /** One object per row, by column name. */
    rows: unknown[];
  }>;
}

const asText = (value: string) => value;

/** The caller's pool may ask for binary values, which no query can prevent. */
const BINARY_READERS: Readonly<Record<number, (value: Buffer) => string>> = {
  16: (value) => (value[0] === 1 ? "t" : "f"),
  20: (value) => String(value.readBigInt64BE()),
  21: (value) => String(value.readInt16BE()),
  23: (value) => String(value.readInt32BE()),
  701: (value) => String(value.readDoubleBE()),
};

const RAW_TEXT_TYPES: PostgresQuery["types"] = {
  getTypeParser: (type, format) =>
    format === "binary" ? (BINARY_READERS[type] ?? ((value: Buffer) => value.toString("utf8"))) : asText,
};

/** A command whose values are returned as text. Without `values`, several commands may be separated by semicolons. */
export const textQuery = (text: string, values?: readonly SqlValue[]): PostgresQuery => ({
  text,
  ...(values && { values: [...values] }),
  types: RAW_TEXT_TYPES,
});

/** True for a `Pool` or a `Client` of `pg`. */
export const isQueryable = (value: unknown): value is PostgresQueryable =>
  typeof value === "object" && value !== null && "query" in value && typeof value.query === "function";

/** A connection that was taken out of a pool. */
export interface PooledPostgresClient extends PostgresQueryable {
  on(event: "error", listener: () => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
  /** Returns the connection to its pool; `true` closes it. */
  release(close?: boolean): void;
}

/** The part of a `Pool` of `pg` that is needed for transactions. */
export interface PostgresPool extends PostgresQueryable {
  connect(callback: (error: Error | undefined, client: PooledPostgresClient | undefined) => void): void;
  /** Missing in what only looks like a pool. */
  on?(event: "error", listener: () => void): unknown;
  removeListener?(event: "error", listener: () => void): unknown;
}

/** A pool that stocklot opened itself. */
export interface OwnPostgresPool extends PostgresPool {
  end(): Promise<void>;
}

/** True for a `Pool` of `pg`. A `Client` has a `connect()` too, which returns nothing, but no size. */
export const isPostgresPool = (value: unknown): value is PostgresPool =>
  isQueryable(value) && "connect" in value && typeof value.connect === "function" && "totalCount" in value;

/** Where a database is: one of both is given. */
export interface PostgresSource {
  /** Address of the database, for a pool of its own. */
  connectionString?: string | undefined;
  /** The caller's pool. */
  pool?: PostgresQueryable | undefined;
}

/** Where the tables are, as a caller states it. */
export const postgresPlaceSchema = /* @__PURE__ */ lazy(() =>
  z
    .strictObject({
      pool: valueThat<PostgresQueryable>(isPostgresPool, "must be a Pool of pg"),
      connectionString: z.string().min(1),
      schema: z.string().min(1),
    })
    .partial()
    .refine(({ pool, connectionString }) => (pool === undefined) !== (connectionString === undefined), {
      error: "exactly one of pool and connectionString is required",
    }),
);

/** How often an idle TCP connection is probed, so that firewalls do not forget it, in ms. */
const TCP_KEEP_ALIVE_MS = 10_000;

/**
 * A pool of connections that are opened at the first query, and again after a failure. They do not keep the process alive.
 *
 * @throws ConfigurationError when `pg` is not installed.
 */
export async function createPostgresPool(
  connectionString: string,
  max: number,
  connectTimeoutMs: number,
): Promise<OwnPostgresPool> {
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    const what = `connectionString requires the package pg. Run npm install pg.`;
    throw new ConfigurationError(`PostgreSQL: ${what}`, { cause });
  });
  const pool = new pg.Pool({
    connectionString,
    max,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: TCP_KEEP_ALIVE_MS,
    allowExitOnIdle: true,
  });
  // An idle connection was lost; the next query opens another.
  pool.on("error", () => {});
  return pool;
}

/** Host, port and database of a connection, without user name and password. */
export function postgresAddressOf({ connectionString, pool }: PostgresSource): string {
  const options = fieldOf(pool, "options");
  const text = connectionString ?? fieldOf(options, "connectionString");
  if (typeof text === "string") return postgresAddressOfUrl(text);
  const [host, port, database] = ["host", "port", "database"].map((name) => fieldOf(options, name));
  return `${host ?? "localhost"}:${port ?? 5432}/${database ?? ""}`;
}

function postgresAddressOfUrl(text: string): string {
  try {
    const { host, pathname } = new URL(text);
    return host + pathname;
  } catch {
    return "(an address that is not a URL)";
  }
}
