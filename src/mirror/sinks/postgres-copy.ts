import type { PostgresConnection } from "../../storage/postgres/connection.js";
import { missingSchema, type PostgresQueryable, queryRows } from "../../storage/postgres/driver.js";
import { quoteName } from "../../storage/tables.js";
import { type MirrorResource, mapResources, RESOURCES, tableOf } from "../tables.js";
import {
  checkColumns,
  createIndexesSql,
  createTableSql,
  PRIMARY_KEY_SQL,
  type SqlDialect,
  type SqlTypeNames,
  selectStockSql,
  tableMissingError,
} from "./copy-tables.js";

// The tables, views and indexes of a copy in a schema of PostgreSQL. `nameOf` quotes a name, with the schema.

/** `json`, not `jsonb`: that cannot hold a NUL, not even an escaped one. */
export const POSTGRES_COLUMN_TYPES: SqlTypeNames = {
  integer: "bigint",
  decimal: "numeric",
  text: "text",
  boolean: "boolean",
  extra: "json",
};

type NameOf = (name: string) => string;

export const postgresDialect = (schema: string): SqlDialect => ({
  nameOf: namesIn(schema),
  // Any other collation may change more letters than SQLite does, or others.
  skuOf: (column) => `lower(btrim(${column}) COLLATE "C")`,
  parameter: (number) => `$${number}`,
});

export const namesIn =
  (schema: string): NameOf =>
  (name) =>
    `${quoteName(schema)}.${quoteName(name)}`;

/** The tables, by name. The state and the status are one row each. */
const createTablesSql = (nameOf: NameOf): ReadonlyMap<string, string> =>
  new Map([
    ...RESOURCES.map(tableOf).map((table): [string, string] => [
      table.name,
      createTableSql(table, POSTGRES_COLUMN_TYPES, nameOf),
    ]),
    [
      "stocklot_state",
      `CREATE TABLE IF NOT EXISTS ${nameOf("stocklot_state")} (id smallint PRIMARY KEY CHECK (id = 1), state text)`,
    ],
    [
      "stocklot_status",
      `CREATE TABLE IF NOT EXISTS ${nameOf("stocklot_status")} (id smallint PRIMARY KEY CHECK (id = 1), status json);
INSERT INTO ${nameOf("stocklot_status")} VALUES (1, '[]') ON CONFLICT DO NOTHING`,
    ],
  ]);

/** The views, by name. */
const createViewsSql = (nameOf: NameOf): ReadonlyMap<string, string> =>
  new Map([
    ["stock", `CREATE OR REPLACE VIEW ${nameOf("stock")} AS ${selectStockSql(nameOf)}`],
    [
      "mirror_status",
      `CREATE OR REPLACE VIEW ${nameOf("mirror_status")} AS
SELECT "resource", "mirrored", "complete", "records", "asOf",
  (extract(epoch FROM now() - "asOf"::timestamptz) * 1000)::bigint AS "lagMs",
  "awaitsFullPass", "missing", "lastRunStartedAt", "lastRunEndedAt", "lastRunKind", "lastRunError"
FROM ${nameOf("stocklot_status")}, json_to_recordset(status) AS row (
  "resource" text, "mirrored" boolean, "complete" boolean, "records" bigint, "asOf" text, "awaitsFullPass" boolean,
  "missing" bigint, "lastRunStartedAt" text, "lastRunEndedAt" text, "lastRunKind" text, "lastRunError" text)`,
    ],
  ]);

/** The tables, views and indexes of a schema. */
const FIND_RELATIONS_SQL = `
SELECT relname AS name, pg_has_role(relowner, 'USAGE') AND has_schema_privilege($1, 'CREATE') AS "mayChange"
FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)`;

/** The columns of tables, with the number of columns of the primary key that they are in. */
const FIND_COLUMNS_SQL = `
SELECT relname AS "table", attname AS "column", format_type(atttypid, atttypmod) AS type,
  (SELECT indnatts FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary AND attnum = ANY (indkey)) AS "keyColumns"
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relname = ANY ($2)`;

/** Two mirrors that start at the same time create the tables one after the other. */
const LOCK_SQL = "SELECT pg_advisory_xact_lock(hashtext('stocklot mirror'))";

/**
 * Creates the tables and views that are missing, and verifies the others. Nothing that exists is replaced. If no table is
 * missing, no right to create is needed; views and indexes are created only if the user may change the tables.
 *
 * @returns the commands that create the indexes which are missing, by resource.
 * @throws ConfigurationError when a table was not created by a mirror.
 */
export async function ensureCopy(
  connection: PostgresConnection,
  schema: string,
): Promise<Readonly<Record<MirrorResource, string[]>>> {
  const nameOf = namesIn(schema);
  const relations = await queryRows(connection, FIND_RELATIONS_SQL, [schema]);
  const found = new Map(relations.map(({ name, mayChange }) => [String(name), mayChange === "t"]));
  const missing = (created: ReadonlyMap<string, string>) =>
    [...created].flatMap(([name, sql]) => (found.has(name) ? [] : sql));
  const tables = missing(createTablesSql(nameOf));
  const isNew = (await readState(connection, schema, "FOR SHARE")) === undefined;
  await checkTables(connection, schema, isNew);
  const mayChange = tables.length > 0 || RESOURCES.every((resource) => found.get(tableOf(resource).name));
  const commands = [...tables, ...(mayChange ? missing(createViewsSql(nameOf)) : [])];
  // Also if somebody has deleted the row to start a new copy: a commit locks it.
  if (isNew) commands.push(`INSERT INTO ${nameOf("stocklot_state")} VALUES (1, NULL) ON CONFLICT DO NOTHING`);
  if (commands.length > 0) await runLocked(connection, [...(await missingSchema(connection, schema)), ...commands]);
  return mapResources((resource) =>
    mayChange ? createIndexesSql(resource, postgresDialect(schema), (name) => found.has(name)) : [],
  );
}

export const runLocked = (connection: PostgresConnection, commands: readonly string[]): Promise<void> =>
  connection.runScript([LOCK_SQL, ...commands]);

/** The saved state of a schema; `undefined` if there is none. `FOR SHARE` waits for a commit in progress. */
export async function readState(
  queryable: PostgresQueryable,
  schema: string,
  lock: "FOR SHARE" | "" = "",
): Promise<string | undefined> {
  const name = namesIn(schema)("stocklot_state");
  const [found] = await queryRows(queryable, "SELECT to_regclass($1) IS NOT NULL AS exists", [name]);
  if (found?.exists !== "t") return undefined;
  const [row] = await queryRows(queryable, `SELECT state FROM ${name} ${lock}`);
  return typeof row?.state === "string" ? row.state : undefined;
}

/** Verifies the tables that exist. In a new copy, they may be missing. */
async function checkTables(queryable: PostgresQueryable, schema: string, isNew: boolean): Promise<void> {
  const tables = RESOURCES.map(tableOf);
  const rows = await queryRows(queryable, FIND_COLUMNS_SQL, [schema, tables.map(({ name }) => name)]);
  for (const table of tables) {
    const columns = rows
      .filter((row) => row.table === table.name)
      .map(({ column, type, keyColumns }): [string, string] => [
        String(column),
        type + (Number(keyColumns) === table.key.length ? PRIMARY_KEY_SQL : ""),
      ]);
    if (columns.length > 0) checkColumns(table, POSTGRES_COLUMN_TYPES, new Map(columns));
    else if (!isNew) throw tableMissingError(table);
  }
}
