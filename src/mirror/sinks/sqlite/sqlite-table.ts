import type { SqliteDatabase, SqliteStatement } from "../../../storage/sqlite/driver.js";
import { fieldsOfKey, keyOfFields, type MirrorKey, type MirrorRecord, type Table } from "../../tables.js";
import { EXTRA, RowCodec } from "../row-codec.js";
import { tableMissingError } from "../sink-errors.js";
import {
  columnDefinition,
  columnTypes,
  isRequired,
  KEY_BATCH_SIZE,
  missingColumns,
  PRIMARY_KEY,
  quoteName,
  type TypeNames,
  tableDefinition,
} from "../sql-table.js";

/** `INTEGER PRIMARY KEY`, in exactly these words, is SQLite's own row number and needs no index. */
const TYPES: TypeNames = {
  integer: "INTEGER",
  decimal: "REAL",
  text: "TEXT",
  boolean: "INTEGER",
  extra: "TEXT",
};

/** The table of one resource in an open database. */
export class SqliteTable {
  readonly #table: Table;
  readonly #codec: RowCodec;
  readonly #upsert: SqliteStatement;
  readonly #delete: SqliteStatement;
  readonly #read: SqliteStatement;
  readonly #keysAfter: SqliteStatement;

  /** Creates the table, or upgrades one that an earlier version created. The caller opens a transaction. */
  constructor(database: SqliteDatabase, table: Table) {
    const hasNewColumns = ensureTable(database, table);
    this.#table = table;
    this.#codec = new RowCodec(table);
    const name = quoteName(table.name);
    const key = table.key.map(quoteName).join(", ");
    const values = table.key.map(() => "?").join(", ");
    const columns = this.#codec.columns.map(quoteName);
    const updates = columns.map((column) => `${column} = excluded.${column}`);
    // Not REPLACE: it would clear columns that others have added.
    this.#upsert = database.prepare(
      `INSERT INTO ${name} (${columns}) VALUES (${columns.map(() => "?")}) ON CONFLICT (${key}) DO UPDATE SET ${updates}`,
    );
    this.#delete = database.prepare(`DELETE FROM ${name} WHERE (${key}) = (${values})`);
    const fields = table.key.map((_, index) => `value ->> ${index}`);
    this.#read = database.prepare(
      `SELECT ${columns} FROM ${name} WHERE (${key}) IN (SELECT ${fields} FROM json_each(?))`,
    );
    this.#keysAfter = database.prepare(
      `SELECT ${key} FROM ${name} WHERE (${key}) > (${values}) ORDER BY ${key} LIMIT ${KEY_BATCH_SIZE}`,
    );
    if (hasNewColumns) this.#rewriteExtras(database, name, key);
  }

  upsert(record: MirrorRecord): void {
    this.#upsert.run(...this.#codec.encode(record));
  }

  delete(key: MirrorKey): void {
    this.#delete.run(...fieldsOfKey(key));
  }

  read(keys: readonly MirrorKey[]): MirrorRecord[] {
    const rows = this.#read.all(JSON.stringify(keys.map(fieldsOfKey)));
    return rows.map((row) => this.#codec.decode(row));
  }

  /** The next batch of keys, in ascending order, as the values of their fields. */
  keysAfter(last: readonly number[]): number[][] {
    return this.#keysOf(this.#keysAfter.all(...last));
  }

  #keysOf(rows: readonly Record<string, unknown>[]): number[][] {
    return rows.map((row) => this.#table.key.map((field) => Number(row[field])));
  }

  /** A field that was in `extra` may be documented now, and then has a column. */
  #rewriteExtras(database: SqliteDatabase, name: string, key: string): void {
    const rows = database.prepare(`SELECT ${key} FROM ${name} WHERE ${EXTRA} <> '{}'`).all();
    for (const fields of this.#keysOf(rows)) {
      for (const record of this.read([keyOfFields(fields)])) this.upsert(record);
    }
  }
}

/** True if columns were added to an existing table. */
function ensureTable(database: SqliteDatabase, table: Table): boolean {
  const name = quoteName(table.name);
  const found = columnsFound(database, table);
  if (found.size === 0) {
    if (isRequired(table) && database.prepare("SELECT id FROM stocklot_state").all().length > 0) {
      throw tableMissingError(table.name);
    }
    database.exec(`CREATE TABLE ${name} (${tableDefinition(table, TYPES)})`);
    return false;
  }
  const types = columnTypes(table, TYPES);
  const missing = missingColumns(table, TYPES, found);
  for (const column of missing) {
    database.exec(
      `ALTER TABLE ${name} ADD COLUMN ${quoteName(column)} ${columnDefinition(types.get(column) ?? "", column)}`,
    );
  }
  return missing.length > 0;
}

function columnsFound(database: SqliteDatabase, table: Table): Map<string, string> {
  const rows = database.prepare("SELECT name, type, pk FROM pragma_table_info(?)").all(table.name);
  const hasKey = rows.filter(({ pk }) => pk !== 0).length === table.key.length;
  return new Map(
    rows.map(({ name, type, pk }) => [String(name), pk !== 0 && hasKey ? type + PRIMARY_KEY : String(type)]),
  );
}
