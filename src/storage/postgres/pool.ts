import { ConfigurationError } from "../../errors/index.js";
import { fieldOf, isObject } from "../../errors/unknown-value.js";
import { wording } from "../../errors/wording.js";
import { isQueryable, type PostgresQueryable } from "./query.js";

/** A connection that was taken out of a pool. */
export interface PooledPostgresClient extends PostgresQueryable {
  on(event: "error", listener: () => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
  /** Returns the connection to its pool; `true` closes it. */
  release(close?: boolean): void;
}

/** The part of a `Pool` of `pg` that is needed for transactions. */
export interface PostgresPool extends PostgresQueryable {
  connect(): Promise<PooledPostgresClient>;
}

/** A pool that stocklot opened itself. */
export interface OwnPostgresPool extends PostgresPool {
  end(): Promise<void>;
}

/** True for a `Pool` of `pg`. A `Client` has a `connect()` too, which returns nothing, but no size. */
export const isPostgresPool = (value: unknown): value is PostgresPool =>
  isQueryable(value) && "connect" in value && typeof value.connect === "function" && "totalCount" in value;

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
  const { Pool } = await importPgPackage();
  const pool = new Pool({
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

async function importPgPackage() {
  try {
    const { default: pg } = await import("pg");
    return pg;
  } catch (error) {
    throw new ConfigurationError(
      `PostgreSQL: ${wording().connectionString} requires the package pg. Run npm install pg.`,
      {
        cause: error,
      },
    );
  }
}

/** Host, port and database of a connection, without user name and password. */
export function postgresAddressOf(source: {
  connectionString?: string | undefined;
  pool?: unknown;
  client?: unknown;
}): string {
  const { connectionString, pool, client } = source;
  const options = fieldOf(pool, "options");
  const text = connectionString ?? fieldOf(options, "connectionString");
  if (typeof text === "string") return postgresAddressOfUrl(text);
  const place = isObject(options) ? options : client;
  const [host, port, database] = ["host", "port", "database"].map((name) => fieldOf(place, name));
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
