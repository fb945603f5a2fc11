import type { Query, SqlDatabase, SqlRow, SqlValue } from "./database.js";
import { ineffectiveCommand } from "./storage-failure.js";

/** Part of a command: `bind` returns the placeholder of a value. */
export type SqlPart = (bind: (value: SqlValue) => string) => string;

/** An update of the rows that a condition selects. */
export interface RowsUpdate {
  table: string;
  set: SqlPart;
  where: SqlPart;
  /** The columns that are returned of each changed row. */
  returning?: string;
  /** Whether it changes all rows that the condition selects, so that it then selects none. Otherwise there is at most one. */
  all?: boolean;
}

/** Twice, since the condition may have become true between two commands. */
const MAX_ATTEMPTS = 2;

/**
 * Compares and sets. Returns the changed rows; none if the condition selects none.
 *
 * @throws StorageError when rows were not changed although the condition selects them: to take that for "somebody was faster"
 * would never end.
 */
export async function updateRows(
  database: SqlDatabase,
  query: Query,
  { table, set, where, returning = "1 AS one", all = false }: RowsUpdate,
): Promise<SqlRow[]> {
  const changed: SqlRow[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const values: SqlValue[] = [];
    const bind = (value: SqlValue) => `$${values.push(value)}`;
    const sql = `UPDATE ${table} SET ${set(bind)} WHERE ${where(bind)} RETURNING ${returning}`;
    changed.push(...(await query(sql, values)));
    if (changed.length > 0 && !all) return changed;
    const compared: SqlValue[] = [];
    const condition = where((value) => `$${compared.push(value)}`);
    const [left] = await query(`SELECT 1 AS one FROM ${table} WHERE ${condition} LIMIT 1`, compared);
    if (!left) return changed;
    if (attempt === MAX_ATTEMPTS) throw ineffectiveCommand(database, "UPDATE", table);
  }
}
