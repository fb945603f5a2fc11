import { ConfigurationError } from "../../errors/index.js";
import { wording } from "../../errors/wording.js";
import { quoteName } from "../quote-name.js";
import { type PostgresQueryable, queryRows } from "./query.js";

/** The schema for the tables if the caller names none. */
export async function currentSchema(queryable: PostgresQueryable): Promise<string> {
  const [row] = await queryRows(queryable, "SELECT current_schema() AS schema");
  if (typeof row?.schema === "string") return row.schema;
  throw new ConfigurationError(`PostgreSQL: no schema of the search_path exists. ${wording().chooseSchema}`);
}

/**
 * The command that creates a schema if it does not exist. `IF NOT EXISTS` alone requires the right to create schemas
 * even if the schema exists.
 */
export async function missingSchema(queryable: PostgresQueryable, schema: string): Promise<string[]> {
  const found = await queryRows(queryable, "SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  return found.length > 0 ? [] : [`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`];
}

/** Throws a `ConfigurationError` if the database cannot store all characters. */
export async function checkEncoding(queryable: PostgresQueryable): Promise<void> {
  const [row] = await queryRows(queryable, "SELECT current_setting('server_encoding') AS encoding");
  if (row?.encoding === "UTF8") return;
  throw new ConfigurationError(`PostgreSQL: the encoding of the database must be UTF8, not ${row?.encoding}`);
}
