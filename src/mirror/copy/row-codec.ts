import type { ColumnType, MirrorRecord, Table } from "../tables.js";
import { EXTRA_COLUMN } from "./sql.js";

/** A value that a database column can store. Booleans are 0 and 1. */
type ColumnValue = string | number | null;

const EMPTY_EXTRA = "{}";

/**
 * Converts records to rows and back.
 *
 * Each documented field has a column. The column `extra` contains, as JSON, the fields that are not documented, and the
 * fields whose values a database cannot return unchanged, such as a string with a NUL.
 */
export class RowCodec {
  readonly #key: readonly string[];
  readonly #types: ReadonlyMap<string, ColumnType>;

  constructor({ key, columns }: Table) {
    this.#key = key;
    this.#types = new Map(Object.entries(columns));
  }

  /** The values of the columns: one for each documented field, then `extra`. */
  encode(record: object): ColumnValue[] {
    // The service may add fields that the types of records do not have.
    const fields = record as Readonly<Record<string, unknown>>;
    const row: ColumnValue[] = [];
    let stored = 0;
    for (const [name, type] of this.#types) {
      const value = toColumnValue(type, fields[name]);
      if (value !== undefined) stored += 1;
      // A key of negative zero is stored in `extra`, and the row still needs a key.
      row.push(value ?? (this.#key.includes(name) ? 0 : null));
    }
    row.push(stored === Object.keys(fields).length ? EMPTY_EXTRA : this.#encodeExtra(fields));
    return row;
  }

  /** The record of a row, by column name. Values are as `encode` returned them, or strings. */
  decode(row: Readonly<Record<string, unknown>>): MirrorRecord {
    const fields: Record<string, unknown> = {};
    for (const [name, type] of this.#types) fields[name] = fromColumnValue(type, row[name]);
    const extra = row[EXTRA_COLUMN];
    const record: object = extra === EMPTY_EXTRA ? fields : { ...fields, ...decodeExtraFields(String(extra)) };
    // The row was encoded from a record.
    return record as MirrorRecord;
  }

  #encodeExtra(fields: Readonly<Record<string, unknown>>): string {
    const rest = Object.entries(fields).filter(([name, value]) => {
      const type = this.#types.get(name);
      return type === undefined || toColumnValue(type, value) === undefined;
    });
    return stringifyExactly(Object.fromEntries(rest));
  }
}

/** The value of a column; `undefined` if the database would not return it unchanged. */
function toColumnValue(type: ColumnType, value: unknown): ColumnValue | undefined {
  if (value === null) return null;
  switch (type) {
    case "text":
      return typeof value === "string" && value.isWellFormed() && !value.includes("\0") ? value : undefined;
    case "boolean":
      return typeof value === "boolean" ? Number(value) : undefined;
    case "integer":
      return Number.isSafeInteger(value) ? storableNumberOrUndefined(value) : undefined;
    case "decimal":
      return storableNumberOrUndefined(value);
  }
}

/** A number that every database returns unchanged: finite, and no negative zero. */
const storableNumberOrUndefined = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0) ? value : undefined;

function fromColumnValue(type: ColumnType, value: unknown): unknown {
  if (value === null || value === undefined || type === "text") return value ?? null;
  return type === "boolean" ? value === 1 || value === "t" : Number(value);
}

/**
 * Matches characters that PostgreSQL and SQLite cannot read out of JSON, and backslashes that would look like an
 * escaped character.
 */
const NOT_STORABLE_PATTERN = /[\0\p{Surrogate}]|\\(?=u[\da-f]{4})/gu;

const ESCAPED_PATTERN = /\\u([\da-f]{4})/g;

export function decodeExtraFields(extra: string): Record<string, unknown> {
  // JSON escapes the backslash of an escaped character.
  return extra.includes("\\\\u") ? JSON.parse(extra, unescapedWithin) : JSON.parse(extra);
}

const escapeNotStorable = (text: string) =>
  text.replace(NOT_STORABLE_PATTERN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

const unescapeNotStorable = (text: string) =>
  text.replace(ESCAPED_PATTERN, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

function unescapedWithin(_: string, value: unknown): unknown {
  if (typeof value === "string") return unescapeNotStorable(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [unescapeNotStorable(name), member]));
}

/**
 * Returns the JSON of the column `extra`, which SQL can query. It keeps two values that `JSON.stringify` loses: negative
 * zero, and the infinity that `JSON.parse` reads from a number too large for a double. `JSON.parse` reads both back. In
 * strings and names, NUL becomes the six characters `\u0000`, and an unpaired surrogate an escape of the same form.
 */
export function stringifyExactly(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(escapeNotStorable(value));
  if (typeof value === "number") return stringifyNumberExactly(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((member) => stringifyExactly(member))}]`;
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(escapeNotStorable(name))}:${stringifyExactly(member)}`);
  }
  return `{${members}}`;
}

function stringifyNumberExactly(value: number): string {
  if (Object.is(value, -0)) return "-0";
  if (Math.abs(value) === Number.POSITIVE_INFINITY) return value > 0 ? "1e999" : "-1e999";
  return JSON.stringify(value);
}
