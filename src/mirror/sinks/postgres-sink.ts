import * as z from "zod";
import { checkConfiguration } from "../../shared/check.js";
import { lazy } from "../../shared/field.js";
import { valueThat } from "../../shared/option.js";
import { PostgresConnection } from "../../storage/postgres/connection.js";
import { isQueryable, type PostgresQueryable, queryRows, usableSchema } from "../../storage/postgres/driver.js";
import type { ChangesQuery, MirrorChange } from "../copy/history.js";
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
import {
  changesInBatches,
  keysInBatches,
  otherMirrorError,
  rowOfChange,
  type SqlSource,
  throwSinkNotOpen,
} from "./copy-tables.js";
import {
  CHANGES_TYPES,
  ensureChanges,
  ensureCopy,
  postgresDialect,
  readState,
  runLocked,
  tableSql,
} from "./postgres-copy.js";
import { encodeExtraFields } from "./row-codec.js";
import { createSqlReader, readStateAndClose } from "./sql-reader.js";

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

interface PostgresCopy {
  readonly connection: PostgresConnection;
  readonly schema: string;
  /** Whether the table of the history is known to exist. */
  hasChanges: boolean;
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

  async commit(batch: MirrorBatch): Promise<void> {
    const { resource, upsert, remove, previousState, state, status, changes = [], expireChanges } = batch;
    const { connection, tables, missingIndexes } = this.#copy;
    const { codec, commit, commitWithChanges } = tables[resource];
    const rows = upsert.map((record) => codec.encode(record));
    const changed = changes.map(rowOfChange);
    const hasHistory = changed.length > 0 || expireChanges !== undefined;
    if (hasHistory) await this.#ensureChanges();
    const updated = await queryRows(connection, hasHistory ? commitWithChanges : commit, [
      previousState,
      state,
      status && encodeExtraFields(status),
      ...keyArraysOf(tableOf(resource), remove),
      ...codec.columns.map((_, index) => rows.map((row) => row[index])),
      // Earlier than any row: none expires.
      ...(hasHistory
        ? [expireChanges ?? "", ...CHANGES_TYPES.map((_, index) => changed.map((row) => row[index]))]
        : []),
    ]);
    if (updated.length === 0) throw otherMirrorError("PostgreSQL");
    if (missingIndexes[resource].length === 0 || !status?.some((row) => row.resource === resource && row.complete))
      return;
    await runLocked(connection, missingIndexes[resource].splice(0));
  }

  async readState(): Promise<string | undefined> {
    return await readStateAndClose(await this.openReader());
  }

  async openReader(): Promise<MirrorReader> {
    const connection = new PostgresConnection({ ...this.#options, readOnly: true });
    try {
      const schema = await usableSchema((sql) => queryRows(connection, sql), this.#options.schema);
      return createSqlReader(sourceOn(connection, schema), {
        readState: () => readState(connection, schema),
        close: () => connection.close(),
      });
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  changes(query: ChangesQuery): AsyncIterable<readonly MirrorChange[]> {
    const { connection, schema } = this.#copy;
    return changesInBatches(query, sourceOn(connection, schema));
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.connection.close();
  }

  async #open(signal: AbortSignal | undefined): Promise<PostgresCopy> {
    const connection = new PostgresConnection({ ...this.#options, signal });
    try {
      const schema = await usableSchema((sql) => queryRows(connection, sql), this.#options.schema);
      const missingIndexes = await ensureCopy(connection, schema);
      const tables = mapResources((resource) => tableSql(tableOf(resource), schema));
      return { connection, schema, hasChanges: false, tables, missingIndexes };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async #ensureChanges(): Promise<void> {
    const copy = this.#copy;
    if (!copy.hasChanges) await ensureChanges(copy.connection, copy.schema);
    copy.hasChanges = true;
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

const sourceOn = (connection: PostgresConnection, schema: string): SqlSource => ({
  dialect: postgresDialect(schema),
  query: (sql, values) => queryRows(connection, sql, values),
});
