import type { PostgresConnection } from "../../../storage/postgres/connection.js";
import { queryRows } from "../../../storage/postgres/query.js";
import { quoteName } from "../../../storage/quote-name.js";
import { type MirrorResource, RESOURCES, tableOf } from "../../tables.js";
import {
  createIndexSql,
  indexesOf,
  indexName,
  STATUS_COLUMNS,
  STATUS_TABLE,
  STATUS_VIEW,
  STOCK_VIEW,
  selectStockSql,
} from "../sql-objects.js";
import { LOCK_SQL, POSTGRES_COLUMN_TYPES, quotedTableName } from "./postgres-schema.js";

/** Tables, views and indexes of a schema that the user may use. */
const FIND_RELATIONS_SQL = `
SELECT relname AS name, pg_has_role(relowner, 'USAGE') AS is_owner, has_schema_privilege($1, 'CREATE') AS may_create
FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)`;

/** What a copy has beside its tables. */
export interface CopyObjects {
  /** True if there is a table for the status. */
  hasStatus: boolean;
  /** Commands that create the indexes which are missing, by resource. */
  missingIndexes: Map<MirrorResource, string[]>;
}

/**
 * Creates what makes a copy easy to query: views, and the table with the status; not yet the indexes. Nothing that exists is
 * replaced, and nothing is created if the user is not the owner of the tables, or may not create any.
 */
export async function ensureViews(connection: PostgresConnection, schema: string): Promise<CopyObjects> {
  const relations = await queryRows(connection, FIND_RELATIONS_SQL, [schema]);
  const owned = new Map(relations.map((row) => [String(row.name), row.is_owner === "t"]));
  const isOwner = RESOURCES.every((resource) => owned.get(tableOf(resource).name));
  if (!isOwner || relations[0]?.may_create !== "t") {
    return { hasStatus: owned.has(STATUS_TABLE), missingIndexes: new Map() };
  }
  const nameOf = (name: string) => quotedTableName(schema, name);
  const unlessFound = (name: string, ...commands: string[]) => (owned.has(name) ? [] : commands);
  const commands = [
    ...unlessFound(STOCK_VIEW, `CREATE OR REPLACE VIEW ${nameOf(STOCK_VIEW)} AS ${selectStockSql(nameOf)}`),
    ...unlessFound(STATUS_TABLE, ...createStatusSql(nameOf(STATUS_TABLE))),
    ...unlessFound(
      STATUS_VIEW,
      `CREATE OR REPLACE VIEW ${nameOf(STATUS_VIEW)} AS ${selectStatusSql(nameOf(STATUS_TABLE))}`,
    ),
  ];
  if (commands.length > 0) await connection.runScript([LOCK_SQL, ...commands]);
  const missingIndexes = RESOURCES.map((resource): [MirrorResource, string[]] => {
    const missing = indexesOf(tableOf(resource)).filter((index) => !owned.has(indexName(index)));
    return [resource, missing.map((index) => createIndexSql(index, nameOf))];
  });
  return { hasStatus: true, missingIndexes: new Map(missingIndexes) };
}

const createStatusSql = (name: string) => [
  `CREATE TABLE IF NOT EXISTS ${name} (id smallint PRIMARY KEY CHECK (id = 1), status json NOT NULL)`,
  `INSERT INTO ${name} VALUES (1, '[]') ON CONFLICT DO NOTHING`,
];

function selectStatusSql(table: string): string {
  const names = Object.keys(STATUS_COLUMNS);
  const columns = names.map(quoteName);
  columns.splice(
    names.indexOf("asOf") + 1,
    0,
    '(extract(epoch FROM now() - "asOf"::timestamptz) * 1000)::bigint AS "lagMs"',
  );
  const types = Object.entries(STATUS_COLUMNS).map(
    ([name, type]) => `${quoteName(name)} ${POSTGRES_COLUMN_TYPES[type]}`,
  );
  return `SELECT ${columns} FROM ${table}, json_to_recordset(status) AS row (${types})`;
}
