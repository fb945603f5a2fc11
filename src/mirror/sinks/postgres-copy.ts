import type { PostgresConnection } from "../../storage/postgres/connection.js";
import { missingSchema, type PostgresQueryable, queryRows } from "../../storage/postgres/driver.js";
import { quoteName } from "../../storage/tables.js";
import { type MirrorResource, mapResources, RESOURCES, type Table, tableOf } from "../tables.js";
import {
  CHANGES_TABLE,
  checkColumns,
  createChangesSql,
  createIndexesSql,
  createTableSql,
  expireChangesSql,
  KEY_BATCH_SIZE,
  PRIMARY_KEY_SQL,
  type SqlDialect,
  type SqlTypeNames,
  selectStockSql,
  sqlPartsOf,
  tableMissingError,
} from "./copy-tables.js";

// The tables, views and indexes of a copy in a schema of PostgreSQL. `nameOf` quotes a name, with the schema.

/** `json`, not `jsonb`: that cannot hold a NUL, not even an escaped one. */
const POSTGRES_COLUMN_TYPES: SqlTypeNames = {
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

const namesIn =
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

/** Creates the table of the history if it is missing, which needs the right to create tables. */
export async function ensureChanges(connection: PostgresConnection, schema: string): Promise<void> {
  const name = namesIn(schema)(CHANGES_TABLE);
  const [found] = await queryRows(connection, "SELECT to_regclass($1) IS NOT NULL AS exists", [name]);
  if (found?.exists === "t") return;
  await runLocked(connection, [createChangesSql(POSTGRES_COLUMN_TYPES, postgresDialect(schema))]);
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

export const CHANGES_TYPES = ["bigint", "text", "text", "text", "text", "json", "json"] as const;

/** The commands for the table of a resource. */
export function tableSql(table: Table, schema: string) {
  const nameOf = namesIn(schema);
  const { codec, name, columns, key, updates } = sqlPartsOf(table, nameOf);
  const types = [...Object.values(table.columns), "extra" as const].map((type) => POSTGRES_COLUMN_TYPES[type]);
  /** The values of each key field, as one array each: parameters from this one on. */
  const keyArrays = (first: number) => table.key.map((_, index) => `$${first + index}::bigint[]`);
  const firstColumn = 4 + key.length;
  const columnArrays = types.map((type, index) => `$${firstColumn + index}::${type}[]`);
  const firstChange = firstColumn + types.length;
  const changeArrays = CHANGES_TYPES.map((type, index) => `$${firstChange + 1 + index}::${type}[]`);
  // Only if the copy has a history: the table may be somebody else's, or missing.
  const recordChanges = `, expired AS (
  ${expireChangesSql(postgresDialect(schema), `$${firstChange}::text`)} AND EXISTS (SELECT FROM updated)
), recorded AS (
  INSERT INTO ${nameOf(CHANGES_TABLE)} SELECT * FROM unnest(${changeArrays}) WHERE EXISTS (SELECT FROM updated)
)`;
  // The row with the state is the lock. Nothing is written unless it has the expected state.
  const commitSql = (more: string) => `
WITH updated AS (
  UPDATE ${nameOf("stocklot_state")} SET state = $2 WHERE id = 1 AND state IS NOT DISTINCT FROM $1 RETURNING id
), status AS (
  UPDATE ${nameOf("stocklot_status")} SET status = coalesce($3::json, status) WHERE EXISTS (SELECT FROM updated)
), deleted AS (
  DELETE FROM ${name} WHERE (${key}) IN (SELECT * FROM unnest(${keyArrays(4)})) AND EXISTS (SELECT FROM updated)
), upserted AS (
  INSERT INTO ${name} (${columns}) SELECT ${columns} FROM unnest(${columnArrays}) AS row (${columns})
  WHERE EXISTS (SELECT FROM updated) ON CONFLICT (${key}) DO UPDATE SET ${updates}
)${more}
SELECT id FROM updated`;
  return {
    codec,
    commit: commitSql(""),
    commitWithChanges: commitSql(recordChanges),
    read: `SELECT ${columns} FROM ${name} WHERE (${key}) IN (SELECT * FROM unnest(${keyArrays(1)}))`,
    keysAfter: `
SELECT ${key} FROM ${name} WHERE (${key}) > (${key.map((_, index) => `$${index + 1}`)})
ORDER BY ${key} LIMIT ${KEY_BATCH_SIZE}`,
  };
}
