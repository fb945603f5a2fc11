import * as z from "zod";
import { checkConfiguration } from "../../../core/request/check-options.js";
import { lazy } from "../../../schemas/field.js";
import { PostgresConnection } from "../../../storage/postgres/connection.js";
import { isQueryable, type PostgresQueryable } from "../../../storage/postgres/query.js";
import { currentSchema } from "../../../storage/postgres/schema.js";
import type { MirrorBatch, MirrorSink, SinkOpenOptions } from "../../sink.js";
import { type MirrorKey, type MirrorRecord, type MirrorResource, mapResources, tableOf } from "../../tables.js";
import { otherMirrorError, throwSinkNotOpen } from "../sink-errors.js";
import { type CopyObjects, ensureViews } from "./postgres-objects.js";
import { ensureTables, LOCK_SQL, readState, readStateIfAny } from "./postgres-schema.js";
import { PostgresTable } from "./postgres-table.js";

/** Options of {@link postgresSink}: exactly one of `pool`, `client` and `connectionString`. */
export interface PostgresSinkOptions {
  /**
   * A `Pool` of `pg`. The mirror never closes it.
   * @default one of `pool`, `client` and `connectionString` is required
   */
  pool?: PostgresQueryable | undefined;
  /**
   * A connected `Client` of `pg`, outside of a transaction. The mirror never closes it.
   * @default see `pool`
   */
  client?: PostgresQueryable | undefined;
  /**
   * URL of the database. The sink opens its own connection, which requires the package `pg`.
   * @default see `pool`
   */
  connectionString?: string | undefined;
  /**
   * The schema of the tables; created if it does not exist.
   * @default the first of the search_path that exists
   */
  schema?: string | undefined;
}

const postgresSinkOptionsSchema = lazy(() => {
  const queryable = z.custom<PostgresQueryable>(isQueryable, { error: "must be a Pool or a Client of pg" });
  return z
    .strictObject({
      pool: queryable,
      client: queryable,
      connectionString: z.string().min(1),
      schema: z.string().min(1),
    })
    .partial()
    .refine(({ schema, ...places }) => Object.values(places).filter((place) => place !== undefined).length === 1, {
      error: "exactly one of pool, client and connectionString is required",
    });
});

/**
 * A copy in PostgreSQL: the tables `items`, `lots` and `stock_levels` with a column for each documented field, spelled as on
 * the wire, so that SQL has to quote them: `select "recNo" from lots`. Integers are `bigint`, decimals `numeric`, datetimes
 * strings as in the response. The column `extra` is `json` of the fields that the service adds, and of values that no column
 * can store, such as a string with a NUL.
 *
 * A batch and its state are written by one command. Two mirrors cannot write to one copy: commits of the second are
 * rejected.
 *
 * `open()` rejects with a `ConfigurationError` if a table of one of these names was not created by a mirror, or if the
 * encoding of the database is not UTF8. If the tables exist, the database user needs no right to create tables. Every
 * method rejects with a `StorageError` if the database fails, or if the wait for a lock or a connection exceeds 30 s.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export function postgresSink(options: PostgresSinkOptions): MirrorSink {
  checkConfiguration("postgresSink", postgresSinkOptionsSchema(), options);
  return new PostgresSink({ ...options });
}

/** The tables of a copy. */
class PostgresTables {
  readonly tables: Readonly<Record<MirrorResource, PostgresTable>>;
  readonly #connection: PostgresConnection;
  readonly #schema: string;
  readonly #missingIndexes: CopyObjects["missingIndexes"];

  constructor(connection: PostgresConnection, schema: string, { hasStatus, missingIndexes }: CopyObjects) {
    this.#connection = connection;
    this.#schema = schema;
    this.#missingIndexes = missingIndexes;
    this.tables = mapResources((resource) => new PostgresTable(connection, schema, tableOf(resource), hasStatus));
  }

  state(): Promise<string | undefined> {
    return readState(this.#connection, this.#schema);
  }

  async commit(batch: MirrorBatch): Promise<void> {
    const { resource, status } = batch;
    if (!(await this.tables[resource].commit(batch))) throw otherMirrorError("PostgreSQL");
    if (status?.some((row) => row.resource === resource && row.complete)) await this.#createIndexes(resource);
  }

  async #createIndexes(resource: MirrorResource): Promise<void> {
    const commands = this.#missingIndexes.get(resource) ?? [];
    this.#missingIndexes.delete(resource);
    if (commands.length > 0) await this.#connection.runScript([LOCK_SQL, ...commands]);
  }
}

async function openPostgresTables(
  connection: PostgresConnection,
  givenSchema: string | undefined,
): Promise<PostgresTables> {
  const schema = givenSchema ?? (await currentSchema(connection));
  await ensureTables(connection, schema);
  return new PostgresTables(connection, schema, await ensureViews(connection, schema));
}

class PostgresSink implements MirrorSink {
  readonly #options: PostgresSinkOptions;
  #connection: PostgresConnection | undefined;
  #copy: PostgresTables | undefined;

  constructor(options: PostgresSinkOptions) {
    this.#options = options;
  }

  async open({ signal }: SinkOpenOptions = {}): Promise<string | undefined> {
    this.#connection ??= new PostgresConnection({ ...this.#options, signal });
    this.#copy ??= await openPostgresTables(this.#connection, this.#options.schema);
    return this.#copy.state();
  }

  keys(resource: MirrorResource): AsyncIterable<readonly MirrorKey[]> {
    return this.#opened.tables[resource].keys();
  }

  async read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    return this.#opened.tables[resource].read(keys);
  }

  async commit(batch: MirrorBatch): Promise<void> {
    await this.#opened.commit(batch);
  }

  async readState(): Promise<string | undefined> {
    const connection = this.#connection ?? new PostgresConnection(this.#options);
    try {
      const schema = this.#options.schema ?? (await currentSchema(connection));
      return await readStateIfAny(connection, schema);
    } finally {
      if (connection !== this.#connection) await connection.close();
    }
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#copy = undefined;
    await connection?.close();
  }

  get #opened(): PostgresTables {
    return this.#copy ?? throwSinkNotOpen("postgresSink");
  }
}
