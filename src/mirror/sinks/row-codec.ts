import type { ColumnType, MirrorRecord, Table } from "../tables.js";
import { exactJson } from "./exact-json.js";

/** The column for what no other column takes. */
export const EXTRA = "extra";

/** What a column of a database takes: booleans are 0 and 1. */
export type ColumnValue = string | number | null;

const NO_EXTRA = "{}";

/**
 * Makes rows of records, and records of rows.
 *
 * Each documented field has a column. What remains goes into `extra`, as JSON: the fields that are not documented, and those
 * whose value a database could not give back as it was, such as text with a NUL.
 */
export class RowCodec {
  /** The names of the columns in the order of a row; `extra` is the last. */
  readonly columns: readonly string[];
  readonly #key: string;
  readonly #types: ReadonlyMap<string, ColumnType>;

  constructor({ key, columns }: Table) {
    this.#key = key;
    this.#types = new Map(Object.entries(columns));
    this.columns = [...this.#types.keys(), EXTRA];
  }

  /** The values of the columns, in their order. */
  encode(record: object): ColumnValue[] {
    // The types of records do not tell of fields that the service adds.
    const fields = record as Readonly<Record<string, unknown>>;
    const row: ColumnValue[] = [];
    let held = 0;
    for (const [name, type] of this.#types) {
      const value = columnValue(type, fields[name]);
      if (value !== undefined) held += 1;
      // A negative zero is kept in `extra`, and yet the row must have its key.
      row.push(value ?? (name === this.#key ? 0 : null));
    }
    row.push(held === Object.keys(fields).length ? NO_EXTRA : this.#extraOf(fields));
    return row;
  }

  /** The record, from a row by column: values as `encode` made them, or as text. */
  decode(row: Readonly<Record<string, unknown>>): MirrorRecord {
    const fields: Record<string, unknown> = {};
    for (const [name, type] of this.#types) fields[name] = fieldValue(type, row[name]);
    const extra = row[EXTRA];
    const record: object = extra === NO_EXTRA ? fields : { ...fields, ...fieldsOf(String(extra)) };
    // A row is made of a record, whatever that was.
    return record as MirrorRecord;
  }

  #extraOf(fields: Readonly<Record<string, unknown>>): string {
    const rest = Object.entries(fields).filter(([name, value]) => {
      const type = this.#types.get(name);
      return type === undefined || columnValue(type, value) === undefined;
    });
    return extraOf(Object.fromEntries(rest));
  }
}

/** What stands in a column for a value; `undefined` where the column would not give it back as it was. */
function columnValue(type: ColumnType, value: unknown): ColumnValue | undefined {
  if (value === null) return null;
  switch (type) {
    case "text":
      return typeof value === "string" && value.isWellFormed() && !value.includes("\0") ? value : undefined;
    case "boolean":
      return typeof value === "boolean" ? Number(value) : undefined;
    case "integer":
      return Number.isSafeInteger(value) ? plainNumber(value) : undefined;
    case "decimal":
      return plainNumber(value);
  }
}

/** Smaller ones are rounded to zero by `@photostructure/sqlite` 1.2. */
const SMALLEST_MAGNITUDE = Number.EPSILON;

/** Neither too large nor too small for every driver. None tells a negative zero from a zero. */
function plainNumber(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Math.abs(value) >= SMALLEST_MAGNITUDE || Object.is(value, 0) ? value : undefined;
}

function fieldValue(type: ColumnType, value: unknown): unknown {
  if (value === null || value === undefined || type === "text") return value ?? null;
  return type === "boolean" ? value === 1 || value === "t" : Number(value);
}

/** Neither PostgreSQL nor SQLite can make text of these, not even out of JSON; and what would look like one that was escaped. */
const UNFIT = /[\0\p{Surrogate}]|\\(?=u[\da-f]{4})/gu;

const ESCAPED = /\\u([\da-f]{4})/g;

/**
 * The JSON of the column `extra`, which databases can look into. A NUL in a text or a name, and half of a surrogate pair, are
 * spelled `\u0000` and so on: a backslash and five characters.
 */
export const extraOf = (fields: object): string => exactJson(fields, escaped);

/** The fields that `extra` was made of. */
export function fieldsOf(extra: string): Record<string, unknown> {
  // The backslash of an escape is escaped itself by JSON.
  return extra.includes("\\\\u") ? JSON.parse(extra, unescapedWithin) : JSON.parse(extra);
}

const escaped = (text: string) =>
  text.replace(UNFIT, (unfit) => `\\u${unfit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const unescaped = (text: string) =>
  text.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

function unescapedWithin(_: string, value: unknown): unknown {
  if (typeof value === "string") return unescaped(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [unescaped(name), member]));
}
