import { checkConfiguration } from "../../shared/schema.js";
import type { SqlDatabase, SqlQuery } from "../../storage/database.js";
import { postgresDialect } from "../../storage/dialect.js";
import { PostgresDatabase } from "../../storage/postgres.js";
import {
  createSchema,
  type PostgresQueryable,
  postgresPlaceSchema,
  usableSchema,
} from "../../storage/postgres-place.js";
import { type CopyDatabase, type CopyPlace, openCopyDatabase } from "./database.js";

/** Options of {@link postgresSink}: exactly one of `pool` and `connectionString`. */
export interface PostgresSinkOptions {
  /**
   * A `Pool` of `pg`. The mirror never closes the pool. Add a listener for its event `error`: without a listener, the
   * loss of an idle connection ends the process.
   * @default one of `pool` and `connectionString` is required
   */
  pool?: PostgresQueryable | undefined;
  /**
   * URL of the database. The sink opens up to four connections of its own, which requires the package `pg`.
   * @default see `pool`
   */
  connectionString?: string | undefined;
  /**
   * The schema of the tables; created if it does not exist. Required if the `search_path` begins with another schema
   * than `"$user"` or `public`.
   * @default "stocklot"
   */
  schema?: string | undefined;
}

/**
 * A copy in PostgreSQL. Column names are spelled as on the wire, so that SQL has to quote them: `select "recNo" from lots`.
 * Integers are `bigint`, decimals `numeric`, datetimes strings as in the response, `extra` is `json`.
 *
 * The tables are created by the first run and belong to its user; readers need `SELECT`. The encoding of the database must be
 * UTF8. A run rejects with a `StorageError` if the database fails, or if the wait for a lock or a connection exceeds 30 s.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export const postgresSink = (options: PostgresSinkOptions): PostgresSink => new PostgresSink(options);

/** Created by {@link postgresSink}. */
export class PostgresSink {
  readonly #options: PostgresSinkOptions;

  /** @internal */
  constructor(options: PostgresSinkOptions) {
    this.#options = checkConfiguration("postgresSink", postgresPlaceSchema(), options);
  }

  /** Opens the copy to write it. Creates a copy if there is none. @internal */
  open(signal?: AbortSignal): Promise<CopyDatabase> {
    const { schema, ...source } = this.#options;
    const database = new PostgresDatabase(source);
    const findPlace = async (query: SqlQuery) => {
      const place = await placeIn(database, query, schema);
      if (place.found.has("stocklot_mirror")) return place;
      await createSchema(database, query, place.schema, "stocklot mirror");
      return placeIn(database, query, schema);
    };
    return openCopyDatabase(database, "write", findPlace, signal);
  }

  /** Opens the copy to read it; `undefined` if there is none. Nothing is created or changed. @internal */
  openReader(): Promise<CopyDatabase | undefined> {
    const { schema, ...source } = this.#options;
    const database = new PostgresDatabase({ ...source, readOnly: true });
    return openCopyDatabase(database, "read", (query) => placeIn(database, query, schema));
  }
}

async function placeIn(
  database: SqlDatabase,
  query: SqlQuery,
  given: string | undefined,
): Promise<CopyPlace & { schema: string }> {
  const schema = await usableSchema(database, query, given, "stocklot_mirror");
  const rows = await query(
    "SELECT relname FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)",
    [schema],
  );
  const found = new Set(rows.map(({ relname }) => String(relname)));
  return { dialect: postgresDialect(schema), schema, location: `PostgreSQL, schema ${schema}`, found };
}
