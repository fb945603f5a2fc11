import { quoteName } from "../../../storage/quote-name.js";
import type { SqliteDatabase, SqliteStatement } from "../../../storage/sqlite/driver.js";
import { fieldsOfKey, type MirrorKey, type MirrorRecord, type Table } from "../../tables.js";
import { RowCodec } from "../row-codec.js";
import { KEY_BATCH_SIZE } from "../sql-table.js";
import { ensureTable } from "./sqlite-schema.js";

/** The table of one resource in an open database. */
export class SqliteTable {
  readonly #table: Table;
  readonly #codec: RowCodec;
  readonly #upsert: SqliteStatement;
  readonly #delete: SqliteStatement;
  readonly #read: SqliteStatement;
  readonly #keysAfter: SqliteStatement;

  /** Creates the table if there is none. The caller opens a transaction. */
  constructor(database: SqliteDatabase, table: Table) {
    ensureTable(database, table);
    this.#table = table;
    this.#codec = new RowCodec(table);
    const name = quoteName(table.name);
    const keyColumns = table.key.map(quoteName);
    const key = keyColumns.join(", ");
    const values = table.key.map(() => "?").join(", ");
    const columns = this.#codec.columns.map(quoteName);
    const updates = columns
      .filter((column) => !keyColumns.includes(column))
      .map((column) => `${column} = excluded.${column}`);
    // Not REPLACE: it would clear columns that others have added.
    this.#upsert = database.prepare(
      `INSERT INTO ${name} (${columns}) VALUES (${columns.map(() => "?")}) ON CONFLICT (${key}) DO UPDATE SET ${updates}`,
    );
    this.#delete = database.prepare(`DELETE FROM ${name} WHERE (${key}) = (${values})`);
    // A plain number is read faster than the first member of an array.
    const fields = table.key.length === 1 ? "value" : table.key.map((_, index) => `value ->> ${index}`);
    this.#read = database.prepare(
      `SELECT ${columns} FROM ${name} WHERE (${key}) IN (SELECT ${fields} FROM json_each(?))`,
    );
    this.#keysAfter = database.prepare(
      `SELECT ${key} FROM ${name} WHERE (${key}) > (${values}) ORDER BY ${key} LIMIT ${KEY_BATCH_SIZE}`,
    );
  }

  upsert(record: MirrorRecord): void {
    this.#upsert.run(...this.#codec.encode(record));
  }

  delete(key: MirrorKey): void {
    this.#delete.run(...fieldsOfKey(key));
  }

  read(keys: readonly MirrorKey[]): MirrorRecord[] {
    const isNumber = this.#table.key.length === 1;
    const rows = this.#read.all(JSON.stringify(isNumber ? keys : keys.map(fieldsOfKey)));
    return rows.map((row) => this.#codec.decode(row));
  }

  /** The next batch of keys, in ascending order, as the values of their fields. */
  keysAfter(last: readonly number[]): number[][] {
    return this.#keysAfter.all(...last).map((row) => this.#table.key.map((field) => Number(row[field])));
  }
}
