import { quoteName } from "./database.js";

/** A type of a column. `json` is stored as it was written, `time` in ISO 8601; `key` compares by code points. */
export type SqlType = "integer" | "decimal" | "text" | "boolean" | "json" | "time" | "key" | "sequence";

/** The differences between the SQL of the two databases. */
export interface Dialect {
  readonly kind: "sqlite" | "postgres";
  readonly types: Readonly<Record<SqlType, string>>;
  /** The name of a table or view. */
  nameOf(name: string): string;
  /** A query, with its values, that returns a row if there is a table of this name. */
  findTable(name: string): readonly [sql: string, values: readonly string[]];
  /** A SKU without surrounding spaces, with ASCII letters in lower case. SQLite lowers no other letters. */
  skuOf(column: string): string;
  /** A set of integers, from a parameter that is a JSON array. */
  numbersOf(parameter: string): string;
}

export const SQLITE_DIALECT: Dialect = {
  kind: "sqlite",
  types: {
    ...{ integer: "INTEGER", decimal: "REAL", text: "TEXT", boolean: "INTEGER", json: "TEXT", time: "TEXT" },
    ...{ key: "TEXT", sequence: "INTEGER PRIMARY KEY AUTOINCREMENT" },
  },
  nameOf: quoteName,
  findTable: (name) => ["SELECT 1 FROM sqlite_schema WHERE name = $1", [name]],
  skuOf: (column) => `lower(trim(${column}))`,
  numbersOf: (parameter) => `(SELECT value FROM json_each(${parameter}))`,
};

export function postgresDialect(schema: string): Dialect {
  const nameOf = (name: string) => `${quoteName(schema)}.${quoteName(name)}`;
  return {
    kind: "postgres",
    types: {
      // `json`, because `jsonb` cannot hold a NUL, not even an escaped NUL.
      ...{ integer: "bigint", decimal: "numeric", text: "text", boolean: "boolean", json: "json", time: "text" },
      ...{ key: 'text COLLATE "C"', sequence: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY" },
    },
    nameOf,
    findTable: (name) => ["SELECT 1 WHERE to_regclass($1) IS NOT NULL", [nameOf(name)]],
    // Other collations may lower more letters, or other letters, than SQLite does.
    skuOf: (column) => `lower(btrim(${column}) COLLATE "C")`,
    numbersOf: (parameter) =>
      `(SELECT value::bigint FROM json_array_elements_text(${parameter}::json) AS numbers(value))`,
  };
}
