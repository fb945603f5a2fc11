import { ConfigurationError } from "../../errors/index.js";
import { fieldOf, isObject } from "../../errors/unknown-value.js";
import { isQueryable, type PostgresQueryable } from "./query.js";

/** A connection that was taken out of a pool. */
export interface PooledClient extends PostgresQueryable {
  on(event: "error", listener: () => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
  /** Returns the connection to its pool; `true` closes it. */
  release(close?: boolean): void;
}

/** The part of a `Pool` of `pg` that is needed for transactions. */
export interface PostgresPool extends PostgresQueryable {
  connect(): Promise<PooledClient>;
}

/** A pool that stocklot opened itself. */
export interface OwnPool extends PostgresPool {
  end(): Promise<void>;
}

/** True for a `Pool` of `pg`. A `Client` has a `connect()` too, which returns nothing, but no size. */
export const isPool = (value: unknown): value is PostgresPool =>
  isQueryable(value) && "connect" in value && typeof value.connect === "function" && "totalCount" in value;

/** How often an idle TCP connection is probed, so that firewalls do not forget it, in ms. */
const KEEP_ALIVE_MS = 10_000;

/**
 * A pool of connections that are opened at the first query, and again after a failure. They do not keep the process alive.
 *
 * @throws ConfigurationError when `pg` is not installed.
 */
export async function createPool(connectionString: string, max: number, connectTimeoutMs: number): Promise<OwnPool> {
  const { Pool } = await loadPg();
  const pool = new Pool({
    connectionString,
    max,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    allowExitOnIdle: true,
  });
  // An idle connection was lost; the next query opens another.
  pool.on("error", () => {});
  return pool;
}

async function loadPg() {
  try {
    const { default: pg } = await import("pg");
    return pg;
  } catch (error) {
    throw new ConfigurationError("PostgreSQL: connectionString needs the package pg: npm install pg", { cause: error });
  }
}

/** Host, port and database of a connection, without user name and password. */
export function addressOf(source: { connectionString?: string | undefined; pool?: unknown; client?: unknown }): string {
  const { connectionString, pool, client } = source;
  const options = fieldOf(pool, "options");
  const text = connectionString ?? fieldOf(options, "connectionString");
  if (typeof text === "string") return addressOfUrl(text);
  const place = isObject(options) ? options : client;
  const [host, port, database] = ["host", "port", "database"].map((name) => fieldOf(place, name));
  return `${host ?? "localhost"}:${port ?? 5432}/${database ?? ""}`;
}

function addressOfUrl(text: string): string {
  try {
    const { host, pathname } = new URL(text);
    return host + pathname;
  } catch {
    return "(an address that is not a URL)";
  }
}
