import { ConfigurationError } from "../../errors/index.js";

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

/** The part of the caller's `Pool` or `Client` of `pg` that is used. The mirror never closes it. */
export interface PostgresQueryable {
  /** Runs a query. */
  query(query: PostgresQuery): Promise<{
    /** One object per row, by column name. */
    rows: unknown[];
  }>;
}

/** Runs commands that return no rows, all in one transaction. */
export async function runScript(queryable: PostgresQueryable, commands: readonly string[]): Promise<void> {
  await queryable.query({ text: commands.join(";\n"), types: AS_TEXT });
}

/** A row by column name. Values are strings as PostgreSQL writes them. */
export type PostgresRow = Readonly<Record<string, unknown>>;

const AS_TEXT: PostgresQuery["types"] = { getTypeParser: () => (value) => value };

/** Runs one command. */
export async function queryRows(
  queryable: PostgresQueryable,
  text: string,
  values: unknown[] = [],
): Promise<PostgresRow[]> {
  const { rows } = await queryable.query({ text, values, types: AS_TEXT });
  return rows.filter((row): row is PostgresRow => typeof row === "object" && row !== null);
}

/** True for a `Pool` or a `Client` of `pg`. */
export const isQueryable = (value: unknown): value is PostgresQueryable =>
  typeof value === "object" && value !== null && "query" in value && typeof value.query === "function";

/** A pool of the sink's own. */
export interface OwnPool extends PostgresQueryable {
  end(): Promise<void>;
}

/**
 * A pool with one connection. It connects at the first query, and again after a failure.
 *
 * @throws ConfigurationError when `pg` is not installed.
 */
export async function createPool(connectionString: string): Promise<OwnPool> {
  const { Pool } = await loadPg();
  const pool = new Pool({ connectionString, max: 1, allowExitOnIdle: true });
  // An idle connection was lost; the next query opens another.
  pool.on("error", () => {});
  return pool;
}

async function loadPg() {
  try {
    const { default: pg } = await import("pg");
    return pg;
  } catch (error) {
    throw new ConfigurationError("postgresSink: connectionString needs the package pg: npm install pg", {
      cause: error,
    });
  }
}
