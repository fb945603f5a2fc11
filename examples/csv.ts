/** Reads CSV as RFC 4180 defines it: quoted cells may contain commas, line breaks and doubled quotes. */

export interface CsvRow {
  /** Line of the file on which the row begins. */
  line: number;
  /** Cells by column name. */
  cells: Record<string, string>;
}

/** Returns the rows below the header. Throws if a row has more or fewer cells than the header. */
export function parseCsv(text: string): CsvRow[] {
  const [header, ...records] = readRecords(text.replace(/^\uFEFF/, ""));
  if (!header) throw new Error("the CSV file is empty");
  return records.map(({ line, cells }) => {
    if (cells.length !== header.cells.length) {
      throw new Error(`line ${line}: ${cells.length} cells, but the header has ${header.cells.length}`);
    }
    return { line, cells: Object.fromEntries(header.cells.map((name, column) => [name.trim(), cells[column] ?? ""])) };
  });
}

/** A cell, quoted or bare, and the character that ends it. */
const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;

function readRecords(text: string): { line: number; cells: string[] }[] {
  const records: { line: number; cells: string[] }[] = [];
  let cells: string[] = [];
  let line = 1;
  let startLine = 1;
  CELL.lastIndex = 0;
  while (CELL.lastIndex < text.length || cells.length > 0) {
    const match = CELL.exec(text);
    if (!match) throw new Error(`line ${line}: a quote is out of place`);
    const [whole, quoted, bare = "", end] = match;
    cells.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
    line += whole.split("\n").length - 1;
    if (end === ",") continue;
    const isBlank = cells.length === 1 && cells[0] === "";
    if (!isBlank) records.push({ line: startLine, cells });
    cells = [];
    startLine = line;
  }
  return records;
}
