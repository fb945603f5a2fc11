import { createReadStream } from "node:fs";
import { CsvError, parse } from "csv-parse";
import { CommandError, EXIT } from "../exit.js";

/** A record of a CSV file with its cells by column name. */
export interface CsvRow {
  /** The line of the file on which it ends. */
  line: number;
  cells: Readonly<Record<string, string>>;
  /** What is wrong with its form. */
  problem?: string;
}

const REPLACEMENT_CHARACTER = "\uFFFD";

/** Reads a CSV file (RFC 4180, with or without a BOM, any line ends) row by row, in constant memory. */
export async function* csvRows(path: string, delimiter: string): AsyncGenerator<CsvRow> {
  let columns: string[] | undefined;
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
  });
  const file = createReadStream(path);
  file.once("error", (error) => parser.destroy(error));
  try {
    for await (const { record, info } of file.pipe(parser)) {
      if (columns) yield csvRow(columns, record, info.lines);
      else columns = checkedColumns(path, record);
    }
  } catch (error) {
    if (error instanceof CsvError) throw new CommandError(`${path}: ${error.message}`, EXIT.usage);
    throw error;
  } finally {
    file.destroy();
  }
}

function checkedColumns(path: string, columns: string[]): string[] {
  const repeated = columns.find((name, index) => columns.indexOf(name) !== index);
  if (repeated !== undefined) throw new CommandError(`${path}: two columns are called "${repeated}".`, EXIT.usage);
  return columns;
}

function csvRow(columns: readonly string[], values: readonly string[], line: number): CsvRow {
  const cells = Object.fromEntries(columns.map((name, index) => [name, values[index] ?? ""]));
  if (values.length !== columns.length)
    return { line, cells, problem: `${values.length} cells, but the header has ${columns.length}` };
  if (values.some((value) => value.includes(REPLACEMENT_CHARACTER))) return { line, cells, problem: "is not UTF-8" };
  return { line, cells };
}
