import { createReadStream } from "node:fs";
import { CsvError, parse } from "csv-parse";
import { CommandError } from "../exit.js";

/** A line of a CSV file with its cells by column name. */
export interface CsvRow {
  line: number;
  cells: Readonly<Record<string, string>>;
}

/** Reads a CSV file (RFC 4180, with or without a BOM, any line ends) row by row, in constant memory. */
export async function* csvRows(path: string, delimiter: string): AsyncGenerator<CsvRow> {
  const parser = parse({
    bom: true,
    columns: (names: string[]) => names.map((name) => name.trim()),
    delimiter,
    info: true,
    skip_empty_lines: true,
    trim: true,
  });
  const file = createReadStream(path);
  file.once("error", (error) => parser.destroy(error));
  try {
    for await (const { record, info } of file.pipe(parser)) yield { line: info.lines, cells: record };
  } catch (error) {
    if (error instanceof CsvError) throw new CommandError(`${path}: ${error.message}`);
    throw error;
  } finally {
    file.destroy();
  }
}
