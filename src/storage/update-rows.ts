import type { SqlDatabase, SqlQuery, SqlRow, SqlValue } from "./database.js";
import { ineffectiveCommand } from "./storage-failure.js";

/** Returns a part of a command. `bind` returns the placeholder of a value. */
export type SqlPart = (bind: (value: SqlValue) => string) => string;

export type SqlFields = Readonly<Record<string, SqlValue>>;

export interface RowsUpdate {
  table: string;
  set: SqlFields;
  /** A column that is increased by one as well. */
  increments?: string;
  where: SqlPart;
  /** The columns that identify the only row that the condition may select; `{}` if the table has a single row. */
  row?: SqlFields;
  /** The columns to return from each changed row. */
  returning?: string;
  /** Whether the condition selects several rows, and none after the update. By default, it selects at most one row. */
  all?: boolean;
}

/** How often the update is tried. The condition may become true between the first update and its check. */
const MAX_UPDATE_ATTEMPTS = 2;

/**
 * Changes the rows that the condition selects, and reads them again. Returns the changed rows; none if no row was
 * selected.
 *
 * @throws StorageError if selected rows do not show the change when they are read again. Without this error, a caller
 * would conclude that another process was faster, and would retry for ever.
 */
export async function updateRows(
  database: SqlDatabase,
  query: SqlQuery,
  { table, set, increments, where, row = {}, returning = "1 AS one", all = false }: RowsUpdate,
): Promise<SqlRow[]> {
  const run = (sqlOf: SqlPart) => {
    const values: SqlValue[] = [];
    const sql = sqlOf((value) => `$${values.push(value)}`);
    return query(sql, values);
  };
  const pairs = (fields: SqlFields, operator: string, bind: Parameters<SqlPart>[0]) =>
    Object.entries(fields).map(([column, value]) => `${column} ${operator} ${bind(value)}`);
  const selected = (condition: SqlPart, bind: Parameters<SqlPart>[0]) =>
    [...pairs(row, "=", bind), `(${condition(bind)})`].join(" AND ");
  const isThere = async (condition: SqlPart) =>
    (await run((bind) => `SELECT 1 AS one FROM ${table} WHERE ${selected(condition, bind)} LIMIT 1`)).length > 0;
  const isSet: SqlPart = (bind) => pairs(set, "IS NOT DISTINCT FROM", bind).join(" AND ");
  const changed: SqlRow[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const rows = await run((bind) => {
      const assignments = pairs(set, "=", bind);
      if (increments) assignments.push(`${increments} = ${increments} + 1`);
      return `UPDATE ${table} SET ${assignments.join(", ")} WHERE ${selected(where, bind)} RETURNING ${returning}`;
    });
    changed.push(...rows);
    const isOnlyRow = changed.length > 0 && !all;
    // A trigger may have changed the row again: `RETURNING` does not show that.
    if (isOnlyRow ? await isThere(isSet) : !(await isThere(where))) return changed;
    if (isOnlyRow || attempt === MAX_UPDATE_ATTEMPTS) throw ineffectiveCommand(database, "UPDATE", table);
  }
}
