import { isAscii, isUtf8 } from "node:buffer";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { Big } from "big.js";
import { CsvError, parse } from "csv-parse";
import { isObject, messageOf } from "../../shared/unknown.js";
import { CommandError } from "../exit.js";
import { textOfCell } from "./spreadsheet-text.js";

export const ROW_FORMATS = ["csv", "ndjson"] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

export interface RowFile {
  path: string;
  bytes: Buffer;
  format: RowFormat;
  /** Between two cells of a CSV file. */
  delimiter: string;
  /** Spaces around a SKU are not removed: they are refused. */
  isSku(column: string): boolean;
}

/** A row: a record of a CSV file, whose cells are strings, or an object of an NDJSON file. */
export interface Row {
  /** The line of the file on which it ends. */
  line: number;
  cells: Readonly<Record<string, unknown>>;
  problem?: string | undefined;
}

export const ENCODINGS = ["utf-8", "windows-1252"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/**
 * A file in UTF-8. In windows-1252 every byte is a character, so that a file in another encoding would be read as another text. It is
 * refused.
 */
export function asUtf8(bytes: Buffer, encoding: Encoding, path: string): Buffer {
  if (encoding === "utf-8") return bytes;
  if (/^(\xff\xfe|\xfe\xff)/.test(bytes.toString("latin1", 0, 2)))
    throw new CommandError(`${path}: this is UTF-16. Leave out --encoding.`);
  if (!isAscii(bytes) && isUtf8(bytes)) throw new CommandError(`${path}: this is UTF-8. Leave out --encoding.`);
  return Buffer.from(new TextDecoder(encoding).decode(bytes));
}

export const rowFormatOf = (path: string): RowFormat => (/\.(ndjson|jsonl)$/i.test(path) ? "ndjson" : "csv");

export const fileRows = (file: RowFile): AsyncGenerator<Row> =>
  file.format === "ndjson" ? ndjsonRows(file) : csvRows(file);

const CHUNK_BYTES = 65_536;

/** Reads in chunks, so that signals are handled in between. */
async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    yield bytes.subarray(start, start + CHUNK_BYTES);
    await setImmediate();
  }
}

async function* ndjsonRows({ path, bytes }: RowFile): AsyncGenerator<Row> {
  if (bytes.includes("\r\n") && /(?<!\r)\n/.test(bytes.toString("latin1")))
    throw new CommandError(`${path}: the lines end in different ways. Save the file again.`);
  let line = 0;
  for await (const text of createInterface({ input: Readable.from(chunksOf(bytes)), crlfDelay: Infinity })) {
    line += 1;
    if (text.trim() !== "") yield { line, ...parseLine(text.replace(/^\uFEFF/, "")) };
  }
}

function parseLine(text: string): Omit<Row, "line"> {
  try {
    const cells: unknown = JSON.parse(text);
    if (!isObject(cells) || Array.isArray(cells)) return { cells: {}, problem: "is not a JSON object" };
    const problem = text.includes(REPLACEMENT_CHARACTER) ? NOT_UTF_8 : lossOf(text);
    return { cells: problem === undefined ? { ...cells } : {}, problem };
  } catch (error) {
    return { cells: {}, problem: `is not a JSON object: ${messageOf(error)}` };
  }
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\],:]/g;

/** Describes what JSON.parse would drop silently: digits of a number, or the first value of a name that occurs twice. */
function lossOf(text: string): string | undefined {
  const tokens = text.match(JSON_TOKENS) ?? [];
  const names = new Set<string>();
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    if (/^[{[]$/.test(token)) depth += 1;
    else if (/^[}\]]$/.test(token)) depth -= 1;
    else if (/^[-\d]/.test(token) && losesDigits(token))
      return `the number ${token} has more digits than a number keeps`;
    else if (depth === 1 && token.startsWith('"') && tokens[index + 1] === ":") {
      const name: unknown = JSON.parse(token);
      if (names.size === names.add(String(name)).size) return `${token} occurs twice`;
    }
  }
  return undefined;
}

/** Whether a number that is written so has more digits than a `number` keeps. */
export const losesDigits = (text: string): boolean =>
  !Number.isFinite(Number(text)) || !new Big(text).eq(new Big(Number(text)));

const REPLACEMENT_CHARACTER = "\uFFFD";
const NOT_UTF_8 = "is not UTF-8; save the file as UTF-8, or add --encoding windows-1252 if it is that";

const JSON_PATTERN = /^\uFEFF?\s*(\{|\[\s*\{)/;

/** RFC 4180, with or without a BOM, any line ends. */
async function* csvRows({ path, bytes, delimiter, isSku }: RowFile): AsyncGenerator<Row> {
  // Otherwise the message would be about a quote in the first line, or about a strange column.
  if (JSON_PATTERN.test(bytes.toString("utf8", 0, 100)))
    throw new CommandError(
      `${path}: this is JSON. It must be CSV: a first line with the names of the fields, then one line per write.`,
    );
  const columns: string[] = [];
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    cast: (cell, { quoting, lines, records, index }) => {
      // All lines must end like the first line. Another line end would become part of a cell.
      if (!quoting && /[\r\n]/.test(cell))
        throw new CommandError(`${path}: line ${lines}: the lines end in different ways. Save the file again.`);
      const isHeader = records === 0;
      const text = quoting || (!isHeader && isSku(columns[index] ?? "")) ? cell : cell.trim();
      if (isHeader) columns.push(text);
      return text;
    },
  });
  let crLfsInCells = 0;
  try {
    for await (const { record, info } of Readable.from(chunksOf(bytes)).pipe(parser)) {
      // The parser counts CR LF as two line breaks if it is in a cell.
      crLfsInCells += record.join().split("\r\n").length - 1;
      if (info.records === 1) assertIsHeader(path, record, delimiter);
      else yield csvRow(columns, record.map(textOfCell), info.lines - crLfsInCells);
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandError(`${path}: ${error.message}. If cells are not separated by "${delimiter}", set --delimiter.`);
  }
}

/** Matches a first line that only Excel understands. */
const EXCEL_DELIMITER_PATTERN = /^sep=(.)$/;

/** A header of one cell that contains another delimiter is most likely several cells. */
function assertIsHeader(path: string, columns: readonly string[], delimiter: string): void {
  const repeated = columns.find((name, index) => name !== "" && columns.indexOf(name) !== index);
  if (repeated !== undefined) throw new CommandError(`${path}: two columns are called "${repeated}".`);
  const [header = "", ...others] = columns;
  if (others.length > 0) return;
  const [excelLine, excelDelimiter = header] = EXCEL_DELIMITER_PATTERN.exec(header) ?? [];
  const other = [";", "\t", "|", ","].find((text) => text !== delimiter && excelDelimiter.includes(text));
  if (excelLine === undefined && other === undefined) return;
  const problem = excelLine === undefined ? "the header is one cell." : `Remove the first line, "${excelLine}".`;
  const [name, option] = other === "\t" ? ["tabs", "tab"] : [`"${other}"`, `"${other}"`];
  const advice = other === undefined ? "" : ` If cells are separated by ${name}, add --delimiter ${option}.`;
  throw new CommandError(`${path}: ${problem}${advice}`);
}

/** Matches what a spreadsheet shows instead of a value that it cannot compute (in any language) or that does not fit its column. */
const SPREADSHEET_ERROR = /^(?:#[\p{Lu}/0¿¡]{2,}[?!]|#N\/A|#NV|Err:\d{3}|#{3,})$/u;

function csvRow(columns: readonly string[], values: readonly string[], line: number): Row {
  // Spreadsheets add columns that are empty, their names included.
  const named = columns.flatMap((name, index) => (name === "" ? [] : [[name, values[index] ?? ""]]));
  const cells = Object.fromEntries(named);
  const unnamed = columns.findIndex((name, index) => name === "" && (values[index] ?? "").trim() !== "");
  if (unnamed >= 0)
    return { line, cells, problem: `column ${unnamed + 1} has no name, but contains "${values[unnamed]}"` };
  const failed = columns.findIndex((_, index) => SPREADSHEET_ERROR.test(values[index] ?? ""));
  if (failed >= 0)
    return {
      line,
      cells,
      problem: `column "${columns[failed]}" contains the error ${values[failed]} of a spreadsheet`,
    };
  if (values.length !== columns.length)
    return { line, cells, problem: `${values.length} cells, but the header has ${columns.length}` };
  const isUtf8 = !values.some((value) => value.includes(REPLACEMENT_CHARACTER));
  return { line, cells, problem: isUtf8 ? undefined : NOT_UTF_8 };
}
