import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { findInexactNumbers } from "../../core/response/inexact-numbers.js";
import { isObject, messageOf } from "../../errors/unknown-value.js";
import { type CsvFile, csvRows } from "./csv-rows.js";

export const ROW_FORMATS = ["csv", "ndjson"] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

/** A file of rows, and how to read it. */
export interface RowFile extends CsvFile {
  format: RowFormat;
}

/** A row: a record of a CSV file, whose cells are strings, or an object of an NDJSON file. */
export interface Row {
  /** The line of the file on which it ends. */
  line: number;
  cells: Readonly<Record<string, unknown>>;
  /** What is wrong with its form. */
  problem?: string;
}

/** What the name of a file says about its format. */
export const rowFormatOf = (path: string): RowFormat => (/\.(ndjson|jsonl)$/i.test(path) ? "ndjson" : "csv");

/** Reads a file row by row, in constant memory. Messages name `path`; `copy` is read. */
export const fileRows = (file: RowFile): AsyncGenerator<Row> =>
  file.format === "ndjson" ? ndjsonRows(file.copy) : csvRows(file);

async function* ndjsonRows(path: string): AsyncGenerator<Row> {
  const input = createReadStream(path);
  let line = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1;
      if (text.trim() !== "") yield { line, ...parseLine(text.replace(/^\uFEFF/, "")) };
    }
  } finally {
    input.destroy();
  }
}

function parseLine(text: string): Omit<Row, "line"> {
  try {
    const cells: unknown = JSON.parse(text);
    if (!isObject(cells) || Array.isArray(cells)) return { cells: {}, problem: "is not a JSON object" };
    const [inexact] = findInexactNumbers(text);
    const problem = inexact && `${inexact.path.join(".")} ${inexact.message}`;
    return { cells: Object.fromEntries(Object.entries(cells)), ...(problem !== undefined && { problem }) };
  } catch (error) {
    return { cells: {}, problem: `is not a JSON object: ${messageOf(error)}` };
  }
}
