import { type PostgresQueryable, queryRows } from "../../../storage/postgres/query.js";
import type { MirrorBatch } from "../../sink.js";
import type { ColumnType, MirrorRecord, Table } from "../../tables.js";
import { EXTRA, RowCodec } from "../row-codec.js";
import { KEY_BATCH_SIZE, keysInBatches, quoteName } from "../sql-table.js";
import { STATE_TABLE, TYPES, tableName } from "./postgres-schema.js";

/** The table of one resource. */
export class PostgresTable {
  readonly #queryable: PostgresQueryable;
  readonly #key: string;
  readonly #codec: RowCodec;
  readonly #commit: string;
  readonly #read: string;
  readonly #keysAfter: string;
  readonly #keysWithExtra: string;

  constructor(queryable: PostgresQueryable, schema: string, table: Table) {
    this.#queryable = queryable;
    this.#key = table.key;
    this.#codec = new RowCodec(table);
    const name = tableName(schema, table.name);
    const key = quoteName(table.key);
    const columns = this.#codec.columns.map(quoteName);
    const types = [...Object.values<ColumnType>(table.columns).map((type) => TYPES[type]), TYPES.extra];
    const updates = columns.filter((column) => column !== key).map((column) => `${column} = excluded.${column}`);
    // The row with the state is the lock. Nothing is written unless it has the expected state.
    this.#commit = `
WITH updated AS (
  UPDATE ${tableName(schema, STATE_TABLE)} SET state = $2 WHERE id = 1 AND state IS NOT DISTINCT FROM $1 RETURNING id
), upserted AS (
  INSERT INTO ${name} (${columns})
  SELECT ${columns} FROM unnest(${types.map((type, index) => `$${index + 4}::${type}[]`)}) AS row (${columns})
  WHERE EXISTS (SELECT FROM updated)
  ON CONFLICT (${key}) DO UPDATE SET ${updates}
), deleted AS (
  DELETE FROM ${name} WHERE ${key} = ANY ($3::bigint[]) AND EXISTS (SELECT FROM updated)
)
SELECT id FROM updated`;
    this.#read = `SELECT ${columns} FROM ${name} WHERE ${key} = ANY ($1::bigint[])`;
    this.#keysAfter = `SELECT ${key} FROM ${name} WHERE ${key} > $1 ORDER BY ${key} LIMIT ${KEY_BATCH_SIZE}`;
    this.#keysWithExtra = `SELECT ${key} FROM ${name} WHERE ${EXTRA}::text <> '{}'`;
  }

  /** False if nothing was written, because the saved state is another. */
  async commit({ upsert, remove, previousState, state }: CommitBatch): Promise<boolean> {
    const rows = upsert.map((record) => this.#codec.encode(record));
    const byColumn = this.#codec.columns.map((_, index) => rows.map((row) => row[index]));
    const values = [previousState, state, remove, ...byColumn];
    const updated = await queryRows(this.#queryable, this.#commit, values);
    return updated.length > 0;
  }

  async read(keys: readonly number[]): Promise<MirrorRecord[]> {
    const rows = await queryRows(this.#queryable, this.#read, [keys]);
    return rows.map((row) => this.#codec.decode(row));
  }

  keys(): AsyncGenerator<readonly number[]> {
    return keysInBatches(async (last) => this.#keysOf(await queryRows(this.#queryable, this.#keysAfter, [last])));
  }

  /** Keys of the records that have fields in `extra`. */
  async keysWithExtra(): Promise<number[]> {
    return this.#keysOf(await queryRows(this.#queryable, this.#keysWithExtra));
  }

  #keysOf(rows: readonly Readonly<Record<string, unknown>>[]): number[] {
    return rows.map((row) => Number(row[this.#key]));
  }
}

type CommitBatch = Pick<MirrorBatch, "upsert" | "remove"> & Record<"previousState" | "state", string | undefined>;
