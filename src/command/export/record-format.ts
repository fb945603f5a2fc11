import { stringify } from "csv-stringify/sync";
import { fieldOf } from "../../shared/unknown.js";
import type { Decimal } from "../read-rows/columns.js";
import type { RowFormat } from "../read-rows/file-rows.js";
import { harmlessText, keptText } from "../read-rows/spreadsheet-text.js";

/** Turns records into the text of a file, some at a time. */
export interface RecordFormat {
  /** The text in front of the first record. */
  header: string;
  encode(records: readonly object[]): string;
}

/** Values that are quoted in any case. Readers take a single CR or LF as the end of a record, and trim values that are not quoted. */
const QUOTED_CELLS = /[\r\n]|^\s|\s$/;

export interface CsvOptions {
  /** Between two cells. */
  delimiter?: string | undefined;
  /** Before the decimals of a number. */
  decimal?: Decimal | undefined;
  /** CSV for a spreadsheet: with a byte order mark, and with texts that it neither rewrites nor computes. */
  excel?: boolean | undefined;
}

/** Fields that spreadsheets must not take for numbers or dates: SKUs, bins and serials. */
const KEPT_FIELDS: readonly string[] = ["shortID", "itemID", "spot", "serial", "serial2", "rFIDTag", "putUp"];

/** RFC 4180: a header, lines that end with CR LF, quotes where they are needed. */
export function csvFormat(
  columns: readonly string[],
  { delimiter = ",", decimal = ".", excel = false }: CsvOptions = {},
): RecordFormat {
  const text = (value: string, { column }: { column?: string | number }) =>
    KEPT_FIELDS.includes(String(column)) ? keptText(value) : harmlessText(value);
  const options = {
    columns: [...columns],
    delimiter,
    record_delimiter: "windows",
    quoted_match: QUOTED_CELLS,
    cast: {
      boolean: String,
      number: (value: number) => String(value).replace(".", decimal),
      object: (value: object) => JSON.stringify(value),
      ...(excel && { string: text }),
    },
  } as const;
  const header = stringify([], { ...options, header: true });
  return { header: excel ? `\uFEFF${header}` : header, encode: (records) => stringify([...records], options) };
}

/** @param columns which fields, in which order; all that a record has if not given (CSV needs them) */
export function recordFormat(
  format: RowFormat,
  columns: readonly string[] | undefined,
  csvColumns: readonly string[],
  options: CsvOptions = {},
): RecordFormat {
  if (format === "csv") return csvFormat(columns ?? csvColumns, options);
  const select = (record: object) =>
    columns ? Object.fromEntries(columns.map((column) => [column, fieldOf(record, column) ?? null])) : record;
  return {
    header: "",
    encode: (records) => records.map((record) => `${JSON.stringify(select(record))}\n`).join(""),
  };
}
