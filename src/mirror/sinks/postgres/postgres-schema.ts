import type { PostgresConnection } from "../../../storage/postgres/connection.js";
import { type PostgresQueryable, queryRows } from "../../../storage/postgres/query.js";
import { checkEncoding, missingSchema } from "../../../storage/postgres/schema.js";
import { quoteName } from "../../../storage/quote-name.js";
import { RESOURCES, type Table, tableOf } from "../../tables.js";
import { tableMissingError } from "../sink-errors.js";
import { checkColumns, PRIMARY_KEY_SQL, type SqlTypeNames, tableDefinition } from "../sql-table.js";

/** `json`, not `jsonb`: that cannot hold a NUL, not even an escaped one. */
export const POSTGRES_COLUMN_TYPES: SqlTypeNames = {
  integer: "bigint",
  decimal: "numeric",
  text: "text",
  boolean: "boolean",
  extra: "json",
};

export const STATE_TABLE = "stocklot_state";

/** The columns of all tables of these names in a schema. */
const FIND_COLUMNS_SQL = `
SELECT relname AS "table", attname AS "column", format_type(atttypid, atttypmod) AS type,
  (SELECT indnatts FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary AND attnum = ANY (indkey)) AS key_columns
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relname = ANY ($2)`;

/** Two mirrors that start at the same time create the tables one after the other. */
export const LOCK_SQL = "SELECT pg_advisory_xact_lock(hashtext('stocklot mirror'))";

/**
 * Creates the tables that are missing; if none are, no right to create tables is needed.
 *
 * @throws ConfigurationError when a table was not created by a mirror, or the database cannot store all characters.
 */
export async function ensureTables(connection: PostgresConnection, schema: string): Promise<void> {
  await checkEncoding(connection);
  const found = await readExistingColumns(connection, schema);
  const hasState = found.has(STATE_TABLE) && (await readState(connection, schema)) !== undefined;
  const commands: string[] = [];
  for (const table of RESOURCES.map(tableOf)) {
    const columns = found.get(table.name);
    if (columns) checkColumns(table, POSTGRES_COLUMN_TYPES, columns);
    else if (hasState) throw tableMissingError(table.name);
    else commands.push(createTableSql(schema, table));
  }
  if (!found.has(STATE_TABLE)) commands.push(createStateSql(schema));
  // Somebody may have deleted the row to start a new copy.
  else if (!hasState) commands.push(insertStateSql(schema));
  if (commands.length > 0) {
    await connection.runScript([LOCK_SQL, ...(await missingSchema(connection, schema)), ...commands]);
  }
}

/** The saved state. Waits for a commit in progress: the server completes it even if its process was killed. */
export async function readState(queryable: PostgresQueryable, schema: string): Promise<string | undefined> {
  const [row] = await queryRows(queryable, `SELECT state FROM ${quotedTableName(schema, STATE_TABLE)} FOR SHARE`);
  return typeof row?.state === "string" ? row.state : undefined;
}

/** The same for a schema that may have no copy. Does not wait for a commit in progress. */
export async function readStateIfAny(queryable: PostgresQueryable, schema: string): Promise<string | undefined> {
  const name = quotedTableName(schema, STATE_TABLE);
  const [found] = await queryRows(queryable, "SELECT to_regclass($1) IS NOT NULL AS exists", [name]);
  if (found?.exists !== "t") return undefined;
  const [row] = await queryRows(queryable, `SELECT state FROM ${name}`);
  return typeof row?.state === "string" ? row.state : undefined;
}

export const quotedTableName = (schema: string, name: string) => `${quoteName(schema)}.${quoteName(name)}`;

/** The columns of the tables that exist, with their types. */
async function readExistingColumns(
  queryable: PostgresQueryable,
  schema: string,
): Promise<Map<string, Map<string, string>>> {
  const names = [...RESOURCES.map((resource) => tableOf(resource).name), STATE_TABLE];
  const found = new Map<string, Map<string, string>>();
  const keyLengths = new Map(RESOURCES.map((resource) => [tableOf(resource).name, tableOf(resource).key.length]));
  for (const row of await queryRows(queryable, FIND_COLUMNS_SQL, [schema, names])) {
    const table = String(row.table);
    const isKey = row.key_columns !== null && Number(row.key_columns) === keyLengths.get(table);
    const columns = found.get(table) ?? new Map<string, string>();
    found.set(table, columns.set(String(row.column), isKey ? row.type + PRIMARY_KEY_SQL : String(row.type)));
  }
  return found;
}

function createTableSql(schema: string, table: Table): string {
  return `CREATE TABLE IF NOT EXISTS ${quotedTableName(schema, table.name)} (${tableDefinition(table, POSTGRES_COLUMN_TYPES)})`;
}

/** With its row, so that there is always one to lock. */
function createStateSql(schema: string): string {
  const name = quotedTableName(schema, STATE_TABLE);
  return `CREATE TABLE IF NOT EXISTS ${name} (id smallint PRIMARY KEY CHECK (id = 1), state text);
${insertStateSql(schema)}`;
}

const insertStateSql = (schema: string) =>
  `INSERT INTO ${quotedTableName(schema, STATE_TABLE)} VALUES (1, NULL) ON CONFLICT DO NOTHING`;
