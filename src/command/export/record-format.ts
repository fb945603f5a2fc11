import { stringify } from "csv-stringify/sync";
import { fieldOf } from "../../shared/unknown.js";

export const FORMATS = ["csv", "ndjson", "json"] as const;
export type Format = (typeof FORMATS)[number];

/** Turns records into the text of a file, some at a time. */
export interface RecordFormat {
  /** @param written how many records were written before these */
  encode(records: readonly object[], written: number): string;
  end(written: number): string;
}

/** @param columns which fields, in which order; all that a record has if not given (CSV needs them) */
export function recordFormat(
  format: Format,
  columns: readonly string[] | undefined,
  csvColumns: readonly string[],
): RecordFormat {
  const select = columns ? (record: object) => pick(record, columns) : (record: object) => record;
  if (format === "csv") return csvFormat(columns ?? csvColumns);
  if (format === "ndjson") {
    return {
      encode: (records) => records.map((record) => `${JSON.stringify(select(record))}\n`).join(""),
      end: () => "",
    };
  }
  return {
    encode: (records, written) =>
      records
        .map((record, index) => `${written + index === 0 ? "[\n" : ",\n"}${JSON.stringify(select(record))}`)
        .join(""),
    end: (written) => (written === 0 ? "[]\n" : "\n]\n"),
  };
}

/** Without this, only CR LF is quoted, and readers take a single CR or LF as the end of a record. They trim what is not quoted. */
export const QUOTED_CELLS = /[\r\n]|^\s|\s$/;

/** RFC 4180: a header, lines that end with CR LF, quotes where they are needed. */
function csvFormat(columns: readonly string[]): RecordFormat {
  const options = {
    columns: [...columns],
    record_delimiter: "windows",
    quoted_match: QUOTED_CELLS,
    cast: { boolean: String, object: (value: object) => JSON.stringify(value) },
  } as const;
  const header = stringify([], { ...options, header: true });
  return {
    encode: (records, written) =>
      records.length === 0 ? "" : (written === 0 ? header : "") + stringify([...records], options),
    end: (written) => (written === 0 ? header : ""),
  };
}

const pick = (record: object, columns: readonly string[]) =>
  Object.fromEntries(columns.map((column) => [column, fieldOf(record, column) ?? null]));
