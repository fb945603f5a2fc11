import { ConfigurationError } from "../../shared/errors/index.js";
import { type Query, quoteName } from "../database.js";

/**
 * The schema for the tables: the given one, or the first of the search_path.
 *
 * @throws ConfigurationError when there is none, or the database cannot store all characters.
 */
export async function usableSchema(query: Query, given: string | undefined): Promise<string> {
  const sql = "SELECT current_schema() AS schema, current_setting('server_encoding') AS encoding";
  const [{ schema, encoding } = {}] = await query(sql);
  if (encoding !== "UTF8")
    throw new ConfigurationError(`PostgreSQL: the encoding of the database must be UTF8, not ${encoding}`);
  if (given !== undefined) return given;
  if (typeof schema === "string") return schema;
  throw new ConfigurationError(`PostgreSQL: no schema of the search_path exists. Set the option schema.`);
}

/** Creates the schema if there is none. Of several processes that start with the same lock, one continues at a time. */
export async function createSchema(query: Query, schema: string, lock: string): Promise<void> {
  await query("SELECT pg_advisory_xact_lock(hashtext($1))", [lock]);
  // `IF NOT EXISTS` alone requires the right to create schemas even if the schema exists.
  const [known] = await query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
  if (!known) await query(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`);
}
