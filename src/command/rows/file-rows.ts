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

/** Reads a file row by row, in constant memory. */
export const fileRows = (file: RowFile): AsyncGenerator<Row> =>
  file.format === "ndjson" ? ndjsonRows(file) : csvRows(file);

async function* ndjsonRows({ open }: RowFile): AsyncGenerator<Row> {
  const input = open();
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  let failure: unknown;
  input.once("error", (error) => {
    failure = error;
    lines.close();
  });
  let line = 0;
  try {
    for await (const text of lines) {
      line += 1;
      if (text.trim() !== "") yield { line, ...parseLine(text.replace(/^\uFEFF/, "")) };
    }
  } finally {
    input.destroy();
  }
  if (failure !== undefined) throw failure;
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
