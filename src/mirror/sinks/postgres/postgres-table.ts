import { type PostgresQueryable, queryRows } from "../../../storage/postgres/query.js";
import { quoteName } from "../../../storage/quote-name.js";
import type { MirrorBatch } from "../../sink.js";
import { type ColumnType, fieldsOfKey, type MirrorKey, type MirrorRecord, type Table } from "../../tables.js";
import { encodeExtraFields, RowCodec } from "../row-codec.js";
import { STATUS_TABLE } from "../sql-objects.js";
import { KEY_BATCH_SIZE, keysInBatches } from "../sql-table.js";
import { POSTGRES_COLUMN_TYPES, quotedTableName, STATE_TABLE } from "./postgres-schema.js";

/** The table of one resource. */
export class PostgresTable {
  readonly #queryable: PostgresQueryable;
  readonly #table: Table;
  readonly #hasStatus: boolean;
  readonly #codec: RowCodec;
  readonly #commit: string;
  readonly #read: string;
  readonly #keysAfter: string;

  constructor(queryable: PostgresQueryable, schema: string, table: Table, hasStatus: boolean) {
    this.#queryable = queryable;
    this.#table = table;
    this.#hasStatus = hasStatus;
    this.#codec = new RowCodec(table);
    const name = quotedTableName(schema, table.name);
    const keyColumns = table.key.map(quoteName);
    const key = keyColumns.join(", ");
    const keyValues = (first: number) => table.key.map((_, index) => `$${first + index}`);
    const hasKeyIn = (arrays: readonly string[]) =>
      `(${key}) IN (SELECT * FROM unnest(${arrays.map((array) => `${array}::bigint[]`)}))`;
    const columns = this.#codec.columns.map(quoteName);
    const types = [
      ...Object.values<ColumnType>(table.columns).map((type) => POSTGRES_COLUMN_TYPES[type]),
      POSTGRES_COLUMN_TYPES.extra,
    ];
    const updates = columns
      .filter((column) => !keyColumns.includes(column))
      .map((column) => `${column} = excluded.${column}`);
    const statusValue = `$${3 + table.key.length + types.length}`;
    // The row with the state is the lock. Nothing is written unless it has the expected state.
    this.#commit = `
WITH updated AS (
  UPDATE ${quotedTableName(schema, STATE_TABLE)} SET state = $2 WHERE id = 1 AND state IS NOT DISTINCT FROM $1 RETURNING id
), upserted AS (
  INSERT INTO ${name} (${columns})
  SELECT ${columns} FROM unnest(${types.map((type, index) => `$${index + 3 + table.key.length}::${type}[]`)}) AS row (${columns})
  WHERE EXISTS (SELECT FROM updated)
  ON CONFLICT (${key}) DO UPDATE SET ${updates}
), deleted AS (
  DELETE FROM ${name} WHERE ${hasKeyIn(keyValues(3))} AND EXISTS (SELECT FROM updated)
)${hasStatus ? updateStatusSql(schema, statusValue) : ""}
SELECT id FROM updated`;
    this.#read = `SELECT ${columns} FROM ${name} WHERE ${hasKeyIn(keyValues(1))}`;
    this.#keysAfter = `SELECT ${key} FROM ${name} WHERE (${key}) > (${keyValues(1)}) ORDER BY ${key} LIMIT ${KEY_BATCH_SIZE}`;
  }

  /** False if nothing was written, because the saved state is another. */
  async commit({ upsert, remove, previousState, state, status }: MirrorBatch): Promise<boolean> {
    const rows = upsert.map((record) => this.#codec.encode(record));
    const byColumn = this.#codec.columns.map((_, index) => rows.map((row) => row[index]));
    const values = [previousState, state, ...this.#byField(remove), ...byColumn];
    if (this.#hasStatus) values.push(status && encodeExtraFields(status));
    const updated = await queryRows(this.#queryable, this.#commit, values);
    return updated.length > 0;
  }

  async read(keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    const rows = await queryRows(this.#queryable, this.#read, this.#byField(keys));
    return rows.map((row) => this.#codec.decode(row));
  }

  keys(): AsyncGenerator<readonly MirrorKey[]> {
    return keysInBatches(this.#table, async (last) =>
      (await queryRows(this.#queryable, this.#keysAfter, [...last])).map((row) =>
        this.#table.key.map((field) => Number(row[field])),
      ),
    );
  }

  /** The values of each key field, as one array each. */
  #byField(keys: readonly MirrorKey[]): number[][] {
    const fields = keys.map(fieldsOfKey);
    return this.#table.key.map((_, index) => fields.map((values) => values[index] ?? 0));
  }
}

/** The status of a batch that has none stays as it is. */
const updateStatusSql = (schema: string, value: string) => `, status AS (
  UPDATE ${quotedTableName(schema, STATUS_TABLE)} SET status = coalesce(${value}::json, status) WHERE EXISTS (SELECT FROM updated)
)`;
