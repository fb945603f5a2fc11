import { stringify } from "csv-stringify/sync";
import { fieldOf } from "../../shared/unknown.js";
import type { RowFormat } from "../rows/file-rows.js";

/** Turns records into the text of a file, some at a time. */
export interface RecordFormat {
  /** In front of the first record. */
  header: string;
  encode(records: readonly object[]): string;
}

/** Without this, only CR LF is quoted, and readers take a single CR or LF as the end of a record. They trim what is not quoted. */
const QUOTED_CELLS = /[\r\n]|^\s|\s$/;

/** RFC 4180: a header, lines that end with CR LF, quotes where they are needed. */
export function csvFormat(columns: readonly string[]): RecordFormat {
  const options = {
    columns: [...columns],
    record_delimiter: "windows",
    quoted_match: QUOTED_CELLS,
    cast: { boolean: String, object: (value: object) => JSON.stringify(value) },
  } as const;
  return {
    header: stringify([], { ...options, header: true }),
    encode: (records) => stringify([...records], options),
  };
}

/** @param columns which fields, in which order; all that a record has if not given (CSV needs them) */
export function recordFormat(
  format: RowFormat,
  columns: readonly string[] | undefined,
  csvColumns: readonly string[],
): RecordFormat {
  if (format === "csv") return csvFormat(columns ?? csvColumns);
  const select = (record: object) =>
    columns ? Object.fromEntries(columns.map((column) => [column, fieldOf(record, column) ?? null])) : record;
  return {
    header: "",
    encode: (records) => records.map((record) => `${JSON.stringify(select(record))}\n`).join(""),
  };
}
