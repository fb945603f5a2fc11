import * as z from "zod";
import { checkConfiguration } from "../../schemas/check.js";
import { lazy } from "../../schemas/field.js";
import { valueThat } from "../../schemas/option.js";
import { PostgresConnection } from "../../storage/postgres/connection.js";
import { isQueryable, type PostgresQueryable, queryRows, usableSchema } from "../../storage/postgres/driver.js";
import { quoteName } from "../../storage/tables.js";
import type { MirrorBatch, MirrorReader, MirrorSink, SinkOpenOptions } from "../sink.js";
import {
  fieldsOfKey,
  type MirrorKey,
  type MirrorRecord,
  type MirrorResource,
  mapResources,
  type Table,
  tableOf,
} from "../tables.js";
import { KEY_BATCH_SIZE, keysInBatches, otherMirrorError, throwSinkNotOpen } from "./copy-tables.js";
import { ensureCopy, namesIn, POSTGRES_COLUMN_TYPES, postgresDialect, readState, runLocked } from "./postgres-copy.js";
import { encodeExtraFields, RowCodec } from "./row-codec.js";
import { SqlReader } from "./sql-reader.js";

/** Options of {@link postgresSink}: exactly one of `pool`, `client` and `connectionString`. */
export interface PostgresSinkOptions {
  /**
   * A `Pool` of `pg`. The mirror never closes it.
   * @default one of `pool`, `client` and `connectionString` is required
   */
  pool?: PostgresQueryable | undefined;
  /**
   * A connected `Client` of `pg`, outside of an SQL transaction. The mirror never closes it.
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
  const queryable = valueThat<PostgresQueryable>(isQueryable, "must be a Pool or a Client of pg");
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

/** The commands for the table of a resource. */
function tableSql(table: Table, schema: string) {
  const nameOf = namesIn(schema);
  const codec = new RowCodec(table);
  const name = nameOf(table.name);
  const columns = codec.columns.map(quoteName);
  const types = [...Object.values(table.columns), "extra" as const].map((type) => POSTGRES_COLUMN_TYPES[type]);
  const key = table.key.map(quoteName);
  const updates = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  /** The values of each key field, as one array each: parameters from this one on. */
  const keyArrays = (first: number) => table.key.map((_, index) => `$${first + index}::bigint[]`);
  const columnArrays = types.map((type, index) => `$${4 + key.length + index}::${type}[]`);
  return {
    codec,
    // The row with the state is the lock. Nothing is written unless it has the expected state.
    commit: `
WITH updated AS (
  UPDATE ${nameOf("stocklot_state")} SET state = $2 WHERE id = 1 AND state IS NOT DISTINCT FROM $1 RETURNING id
), status AS (
  UPDATE ${nameOf("stocklot_status")} SET status = coalesce($3::json, status) WHERE EXISTS (SELECT FROM updated)
), deleted AS (
  DELETE FROM ${name} WHERE (${key}) IN (SELECT * FROM unnest(${keyArrays(4)})) AND EXISTS (SELECT FROM updated)
), upserted AS (
  INSERT INTO ${name} (${columns}) SELECT ${columns} FROM unnest(${columnArrays}) AS row (${columns})
  WHERE EXISTS (SELECT FROM updated) ON CONFLICT (${key}) DO UPDATE SET ${updates}
)
SELECT id FROM updated`,
    read: `SELECT ${columns} FROM ${name} WHERE (${key}) IN (SELECT * FROM unnest(${keyArrays(1)}))`,
    keysAfter: `
SELECT ${key} FROM ${name} WHERE (${key}) > (${key.map((_, index) => `$${index + 1}`)})
ORDER BY ${key} LIMIT ${KEY_BATCH_SIZE}`,
  };
}

/** An open copy. */
interface PostgresCopy {
  readonly connection: PostgresConnection;
  readonly schema: string;
  readonly tables: Readonly<Record<MirrorResource, ReturnType<typeof tableSql>>>;
  /** The commands that create the indexes which are missing. */
  readonly missingIndexes: Readonly<Record<MirrorResource, string[]>>;
}

/** Created by {@link postgresSink}. */
class PostgresSink implements MirrorSink {
  readonly #options: PostgresSinkOptions;
  #opened: PostgresCopy | undefined;

  constructor(options: PostgresSinkOptions) {
    this.#options = options;
  }

  async open({ signal }: SinkOpenOptions = {}): Promise<string | undefined> {
    this.#opened ??= await this.#open(signal);
    return await readState(this.#opened.connection, this.#opened.schema, "FOR SHARE");
  }

  keys(resource: MirrorResource): AsyncIterable<readonly MirrorKey[]> {
    const { connection, tables } = this.#copy;
    return keysInBatches(tableOf(resource), (last) => queryRows(connection, tables[resource].keysAfter, last));
  }

  async read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    const { connection, tables } = this.#copy;
    const { codec, read } = tables[resource];
    const rows = await queryRows(connection, read, keyArraysOf(tableOf(resource), keys));
    return rows.map((row) => codec.decode(row));
  }

  async commit({ resource, upsert, remove, previousState, state, status }: MirrorBatch): Promise<void> {
    const { connection, tables, missingIndexes } = this.#copy;
    const { codec, commit } = tables[resource];
    const rows = upsert.map((record) => codec.encode(record));
    const updated = await queryRows(connection, commit, [
      previousState,
      state,
      status && encodeExtraFields(status),
      ...keyArraysOf(tableOf(resource), remove),
      ...codec.columns.map((_, index) => rows.map((row) => row[index])),
    ]);
    if (updated.length === 0) throw otherMirrorError("PostgreSQL");
    if (missingIndexes[resource].length === 0 || !status?.some((row) => row.resource === resource && row.complete))
      return;
    await runLocked(connection, missingIndexes[resource].splice(0));
  }

  async readState(): Promise<string | undefined> {
    const reader = await this.openReader();
    try {
      return await reader.readState();
    } finally {
      await reader.close();
    }
  }

  async openReader(): Promise<MirrorReader> {
    const connection = new PostgresConnection({ ...this.#options, readOnly: true });
    try {
      const schema = await usableSchema(connection, this.#options.schema);
      return new SqlReader({
        dialect: postgresDialect(schema),
        query: (sql, values) => queryRows(connection, sql, values),
        readState: () => readState(connection, schema),
        close: () => connection.close(),
      });
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.connection.close();
  }

  async #open(signal: AbortSignal | undefined): Promise<PostgresCopy> {
    const connection = new PostgresConnection({ ...this.#options, signal });
    try {
      const schema = await usableSchema(connection, this.#options.schema);
      const missingIndexes = await ensureCopy(connection, schema);
      const tables = mapResources((resource) => tableSql(tableOf(resource), schema));
      return { connection, schema, tables, missingIndexes };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  get #copy(): PostgresCopy {
    return this.#opened ?? throwSinkNotOpen("postgresSink");
  }
}

/** The values of each key field, as one array each. */
function keyArraysOf({ key }: Table, keys: readonly MirrorKey[]): number[][] {
  const fields = keys.map(fieldsOfKey);
  return key.map((_, index) => fields.map((values) => values[index] ?? 0));
}
