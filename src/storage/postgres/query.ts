/** A query as `pg` takes it. */
export interface PostgresQuery {
  /** The command, with `$1`, `$2` … for values. */
  text: string;
  /** The values, in order. */
  values?: unknown[];
  /** Values are read as strings, so that type parsers of the program have no effect here. */
  types: {
    /** Returns the parser of a column: here one that returns the string unchanged. */
    getTypeParser(): (value: string) => string;
  };
}

/** The part of the caller's `Pool` or `Client` of `pg` that is used. It is never closed. */
export interface PostgresQueryable {
  /** Runs a query. */
  query(query: PostgresQuery): Promise<{
    /** One object per row, by column name. */
    rows: unknown[];
  }>;
}

/** A row by column name. Values are strings as PostgreSQL writes them. */
export type PostgresRow = Readonly<Record<string, unknown>>;

const RAW_TEXT_TYPES: PostgresQuery["types"] = { getTypeParser: () => (value) => value };

/** A command without values, or several that are separated by semicolons and sent together. */
export const queryWithTextResult = (text: string): PostgresQuery => ({ text, types: RAW_TEXT_TYPES });

/** Runs one command. */
export async function queryRows(
  queryable: PostgresQueryable,
  text: string,
  values: unknown[] = [],
): Promise<PostgresRow[]> {
  const { rows } = await queryable.query({ text, values, types: RAW_TEXT_TYPES });
  return rows.filter((row): row is PostgresRow => typeof row === "object" && row !== null);
}

/** True for a `Pool` or a `Client` of `pg`. */
export const isQueryable = (value: unknown): value is PostgresQueryable =>
  typeof value === "object" && value !== null && "query" in value && typeof value.query === "function";
