import type { SqliteDatabase, SqliteStatement } from "../../../storage/sqlite/driver.js";
import type { MirrorRecord, Table } from "../../tables.js";
import { EXTRA, RowCodec } from "../row-codec.js";
import { tableMissingError } from "../sink-errors.js";
import { columnTypes, KEY_BATCH_SIZE, missingColumns, PRIMARY_KEY, quoteName, type TypeNames } from "../sql-table.js";

/** `INTEGER PRIMARY KEY`, in exactly these words, is SQLite's own row number and needs no index. */
const TYPES: TypeNames = {
  integer: "INTEGER",
  decimal: "REAL",
  text: "TEXT",
  boolean: "INTEGER",
  extra: "TEXT",
};

/** Part of the column's definition, but not of the type that SQLite reports. */
const EXTRA_DEFAULT = " NOT NULL DEFAULT '{}'";

/** The table of one resource in an open database. */
export class SqliteTable {
  readonly #key: string;
  readonly #codec: RowCodec;
  readonly #upsert: SqliteStatement;
  readonly #delete: SqliteStatement;
  readonly #read: SqliteStatement;
  readonly #keysAfter: SqliteStatement;

  /** Creates the table, or upgrades one that an earlier version created. The caller opens a transaction. */
  constructor(database: SqliteDatabase, table: Table) {
    const hasNewColumns = ensureTable(database, table);
    this.#key = table.key;
    this.#codec = new RowCodec(table);
    const name = quoteName(table.name);
    const key = quoteName(table.key);
    const columns = this.#codec.columns.map(quoteName);
    const updates = columns.filter((column) => column !== key).map((column) => `${column} = excluded.${column}`);
    // Not REPLACE: it would clear columns that others have added.
    this.#upsert = database.prepare(
      `INSERT INTO ${name} (${columns}) VALUES (${columns.map(() => "?")}) ON CONFLICT (${key}) DO UPDATE SET ${updates}`,
    );
    this.#delete = database.prepare(`DELETE FROM ${name} WHERE ${key} = ?`);
    this.#read = database.prepare(`SELECT ${columns} FROM ${name} WHERE ${key} IN (SELECT value FROM json_each(?))`);
    this.#keysAfter = database.prepare(
      `SELECT ${key} FROM ${name} WHERE ${key} > ? ORDER BY ${key} LIMIT ${KEY_BATCH_SIZE}`,
    );
    if (hasNewColumns) this.#rewriteExtras(database, name, key);
  }

  upsert(record: MirrorRecord): void {
    this.#upsert.run(...this.#codec.encode(record));
  }

  delete(key: number): void {
    this.#delete.run(key);
  }

  read(keys: readonly number[]): MirrorRecord[] {
    return this.#read.all(JSON.stringify(keys)).map((row) => this.#codec.decode(row));
  }

  /** The next batch of keys, in ascending order. */
  keysAfter(last: number): number[] {
    return this.#keysAfter.all(last).map((row) => Number(row[this.#key]));
  }

  /** A field that was in `extra` may be documented now, and then has a column. */
  #rewriteExtras(database: SqliteDatabase, name: string, key: string): void {
    const rows = database.prepare(`SELECT ${key} FROM ${name} WHERE ${EXTRA} <> '{}'`).all();
    for (const row of rows) this.read([Number(row[this.#key])]).forEach((record) => void this.upsert(record));
  }
}

/** True if columns were added to an existing table. */
function ensureTable(database: SqliteDatabase, table: Table): boolean {
  const definition = new Map([...columnTypes(table, TYPES), [EXTRA, TYPES.extra + EXTRA_DEFAULT]]);
  const column = (name: string) => `${quoteName(name)} ${definition.get(name)}`;
  const name = quoteName(table.name);
  const found = columnsFound(database, table);
  if (found.size === 0) {
    if (database.prepare("SELECT id FROM stocklot_state").all().length > 0) throw tableMissingError(table.name);
    database.exec(`CREATE TABLE ${name} (${[...definition.keys()].map(column)})`);
    return false;
  }
  const missing = missingColumns(table, TYPES, found);
  for (const missingName of missing) database.exec(`ALTER TABLE ${name} ADD COLUMN ${column(missingName)}`);
  return missing.length > 0;
}

function columnsFound(database: SqliteDatabase, table: Table): Map<string, string> {
  const rows = database.prepare("SELECT name, type, pk FROM pragma_table_info(?)").all(table.name);
  const isOnlyKey = rows.filter(({ pk }) => pk !== 0).length === 1;
  return new Map(
    rows.map(({ name, type, pk }) => [String(name), pk !== 0 && isOnlyKey ? type + PRIMARY_KEY : String(type)]),
  );
}
