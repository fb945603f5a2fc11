import { ConfigurationError } from "../../../errors/index.js";

/** A query as `pg` takes it. */
export interface PostgresQuery {
  /** The command, with `$1`, `$2` … for values. */
  text: string;
  /** The values, in order. */
  values?: unknown[];
  /** How values are read: not at all, so that parsers which the program has set change nothing here. */
  types: {
    /** Gives what reads a column: here the text as it came. */
    getTypeParser(): (value: string) => string;
  };
}

/** What is used of the caller's `Pool` or `Client` of `pg`. It stays the caller's: it is never closed. */
export interface PostgresQueryable {
  /** Runs a query. */
  query(query: PostgresQuery): Promise<{
    /** One object a row, by column. */
    rows: unknown[];
  }>;
}

/** Runs commands that give nothing, all in one transaction. */
export async function runScript(queryable: PostgresQueryable, commands: readonly string[]): Promise<void> {
  await queryable.query({ text: commands.join(";\n"), types: AS_TEXT });
}

/** A row by column; values are text as PostgreSQL writes them. */
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

/** Whether that looks like a `Pool` or a `Client` of `pg`. */
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
export async function ownPool(connectionString: string): Promise<OwnPool> {
  const { Pool } = await loadPg();
  const pool = new Pool({ connectionString, max: 1, allowExitOnIdle: true });
  // A connection that breaks while nobody uses it; the next query makes another.
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
