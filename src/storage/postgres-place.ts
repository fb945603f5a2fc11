import type { Pool } from "pg";
import * as z from "zod";
import { ConfigurationError } from "../shared/errors/index.js";
import { valueThat } from "../shared/option.js";
import { lazy, withCheck } from "../shared/schema.js";
import { fieldOf } from "../shared/unknown.js";
import { parseUrl } from "../shared/url.js";
import { quoteName, type SqlDatabase, type SqlQuery } from "./database.js";
import { createStorageError } from "./storage-failure.js";

/* Where the tables are in PostgreSQL: the connection that the caller passes, and the schema. */

/** A query as `pg` takes it. */
export interface PostgresQuery {
  /** The command, with `$1`, `$2` … for values. */
  text: string;
  /** The values, in order. */
  values?: unknown[];
  /** Values are read as strings, so that type parsers of the program have no effect here. */
  types: {
    /** Returns the parser of a column. Each parser returns the string that the server writes for the value. */
    getTypeParser(type: number): (value: never) => string;
  };
}

/** The part of the caller's `Pool` or `Client` of `pg` that is used. It is never closed. */
export interface PostgresQueryable {
  /** Runs a query. */
  query(query: PostgresQuery): Promise<{
    /** The rows, as objects by column name. */
    rows: unknown[];
  }>;
}

export const isQueryable = (value: unknown): value is PostgresQueryable =>
  typeof fieldOf(value, "query") === "function";

/** True for a `Pool` of `pg`. A `Client` also has `connect()`, but no `totalCount`. */
export const isPostgresPool = (value: unknown): value is Pool =>
  isQueryable(value) && "connect" in value && "totalCount" in value;

/**
 * @throws ConfigurationError for a connection with `binary: true`: `pg` decodes binary values as UTF-8, which alters
 * numbers. A query cannot switch the option off.
 */
export function assertReadsText(client: PostgresQueryable): void {
  if (fieldOf(client, "binary") !== true) return;
  throw new ConfigurationError(
    "PostgreSQL: a connection with the option binary: true of pg alters numbers. Remove it.",
  );
}

/**
 * Whether the text is an address in which a password can only stand where messages omit it. The driver accepts any
 * text, and quotes parts of it in its errors.
 */
function isAddress(text: string): boolean {
  if (/^\/[^/]/.test(text)) return !text.includes("@");
  // The address of a socket has no host, which a URL requires.
  const address = text.replace("@/", "@localhost/");
  const url = parseUrl(address);
  if (!url) return false;
  const { protocol, pathname, search } = url;
  const path = protocol === "socket:" ? /^\/[^@;=]*$/ : /^(\/[^/@:;=]*)?$/;
  return /^(postgres(ql)?|socket):$/.test(protocol) && path.test(pathname) && !/[@;]/.test(search);
}

export const postgresPlaceSchema = /* @__PURE__ */ lazy(() =>
  z
    .strictObject({
      pool: valueThat<PostgresQueryable>(isPostgresPool, "must be a Pool of pg"),
      connectionString: withCheck(z.string(), (text) =>
        isAddress(text)
          ? undefined
          : "must be an address such as postgres://user@host:5432/database, with special characters percent-encoded",
      ),
      schema: z.string().min(1),
    })
    .partial()
    .refine(({ pool, connectionString }) => (pool === undefined) !== (connectionString === undefined), {
      error: "exactly one of pool and connectionString is required",
    }),
);

/** Returns host, port and database, without user name and password. */
export function addressOf({ connectionString, pool }: PostgresSource): string {
  const {
    connectionString: url = connectionString,
    host = "localhost",
    port = 5432,
    database = "",
  } = Object(fieldOf(pool, "options"));
  if (typeof url !== "string") return `${host}:${port}/${database}`;
  const address = isAddress(url) ? parseUrl(url) : undefined;
  return address ? address.host + address.pathname : "(an address that is not a URL)";
}

/** The database that the caller passes: exactly one of the two members is set. */
export interface PostgresSource {
  /** Address of the database, for a pool of its own. */
  connectionString?: string | undefined;
  pool?: PostgresQueryable | undefined;
}

/** The schema of the tables by default. The settings of a session never decide it. */
const DEFAULT_SCHEMA = "stocklot";

/** The first schema of a `search_path` that was not set for a tenant. */
const ORDINARY_SCHEMAS = ["", "$user", "public"];

/**
 * Returns the schema for the tables: the given one, or `stocklot`.
 *
 * @param table The name of one of the tables.
 * @throws ConfigurationError if no schema is given and the `search_path` begins with the schema of a tenant, or if the
 * database cannot store all characters.
 * @throws StorageError with the statement to run, if the user may not use the schema.
 */
export async function usableSchema(
  database: SqlDatabase,
  query: SqlQuery,
  given: string | undefined,
  table: string,
): Promise<string> {
  const sql = "SELECT current_setting('search_path') AS path, current_setting('server_encoding') AS encoding";
  const [{ path, encoding } = {}] = await query(sql);
  if (encoding !== "UTF8")
    throw new ConfigurationError(`PostgreSQL: the encoding of the database must be UTF8, not ${encoding}.`);
  if (given === undefined) assertOrdinaryPath(String(path));
  const schema = given ?? DEFAULT_SCHEMA;
  const [known] = await query(
    `SELECT current_user AS user, has_schema_privilege(oid, 'USAGE') AS usable,
      EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = pg_namespace.oid AND relname = $1) AS exists
    FROM pg_namespace WHERE nspname = $2`,
    [table, schema],
  );
  if (known?.usable !== "f") return schema;
  const rights = known.exists === "t" ? "USAGE" : "USAGE, CREATE";
  const statement = `GRANT ${rights} ON SCHEMA ${quoteName(schema)} TO ${quoteName(String(known.user))};`;
  throw missingRight(database, `${rights} on the schema ${quoteName(schema)}`, statement);
}

/** @throws ConfigurationError if a `search_path` begins with another schema than `"$user"` or `public`. */
export function assertOrdinaryPath(searchPath: string): void {
  const [, quoted, plain = ""] = /^\s*(?:"((?:[^"]|"")*)"|([^,"]*))/.exec(searchPath) ?? [];
  const first = quoted?.replaceAll('""', '"') ?? plain.trim().toLowerCase();
  if (ORDINARY_SCHEMAS.includes(first)) return;
  throw new ConfigurationError(
    `PostgreSQL: the option schema is required, since the search_path begins with the schema "${first}". ` +
      `Set schema: "${first}" to use tables in that schema, or schema: "${DEFAULT_SCHEMA}" to share tables with all tenants.`,
  );
}

/**
 * Creates the schema if it does not exist. Processes that start at the same time with one `lock` continue one by one.
 *
 * @throws StorageError with the statement to run, if the user may not create the schema or its tables.
 */
export async function createSchema(database: SqlDatabase, run: SqlQuery, schema: string, lock: string): Promise<void> {
  await run("SELECT pg_advisory_xact_lock(hashtext($1))", [lock]);
  const name = quoteName(schema);
  const [{ user = "", may } = {}] = await run(
    "SELECT current_user AS user, has_database_privilege(current_database(), 'CREATE') AS may",
  );
  const role = quoteName(String(user));
  const [known] = await run(
    `SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE') AS usable
    FROM pg_namespace WHERE nspname = $1`,
    [schema],
  );
  if (known?.usable === "f")
    throw missingRight(
      database,
      `CREATE in the schema ${name}, which has no tables yet`,
      `GRANT USAGE, CREATE ON SCHEMA ${name} TO ${role};`,
    );
  if (known) return;
  if (may !== "t")
    throw missingRight(
      database,
      `CREATE for the schema ${name}, which does not exist yet`,
      `CREATE SCHEMA ${name} AUTHORIZATION ${role};`,
    );
  await run(`CREATE SCHEMA IF NOT EXISTS ${name}`);
}

function missingRight({ location }: SqlDatabase, right: string, statement: string) {
  const cause = new Error(`permission denied: the user has no right ${right}`);
  const text = `As an administrator of the database, run: ${statement}`;
  return createStorageError("postgres", { location, mayBeStored: false, cause }, { reads: false, text });
}
