import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { Big } from "big.js";
import { CsvError, parse } from "csv-parse";
import { isObject, messageOf } from "../../shared/unknown.js";
import { CommandError } from "../exit.js";

export const ROW_FORMATS = ["csv", "ndjson"] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

/** A file of rows, and how to read it. */
export interface RowFile {
  path: string;
  /** Its contents, if they were read already. */
  bytes?: Buffer;
  format: RowFormat;
  /** Between two cells of a CSV file. */
  delimiter: string;
}

/** A row: a record of a CSV file, whose cells are strings, or an object of an NDJSON file. */
export interface Row {
  /** The line of the file on which it ends. */
  line: number;
  cells: Readonly<Record<string, unknown>>;
  /** Cells of a CSV file that had spaces around them, without quotes, by column: as they were. */
  untrimmed?: Readonly<Record<string, string>>;
  /** What is wrong with its form. */
  problem?: string;
}

/** What the name of a file says about its format. */
export const rowFormatOf = (path: string): RowFormat => (/\.(ndjson|jsonl)$/i.test(path) ? "ndjson" : "csv");

/** Reads a file row by row, in constant memory. */
export const fileRows = (file: RowFile): AsyncGenerator<Row> =>
  file.format === "ndjson" ? ndjsonRows(file) : csvRows(file);

const CHUNK_BYTES = 65_536;

const streamOf = ({ path, bytes }: RowFile): Readable =>
  bytes === undefined ? createReadStream(path) : Readable.from(chunksOf(bytes));

/** As a file is read: signals are handled in between. */
async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    yield bytes.subarray(start, start + CHUNK_BYTES);
    await setImmediate();
  }
}

async function* ndjsonRows(file: RowFile): AsyncGenerator<Row> {
  if (file.bytes && /(?<!\r)\n/.test(file.bytes.toString("latin1")) && file.bytes.includes("\r\n"))
    throw new CommandError(`${file.path}: the lines end in different ways. Save the file again.`);
  const input = streamOf(file);
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
    const problem = text.includes(REPLACEMENT_CHARACTER) ? NOT_UTF_8 : lossOf(text);
    if (problem !== undefined) return { cells: {}, problem };
    return { cells: Object.fromEntries(Object.entries(cells)) };
  } catch (error) {
    return { cells: {}, problem: `is not a JSON object: ${messageOf(error)}` };
  }
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\],:]/g;

/** What JSON.parse would drop of an object: digits of a number, or the first value of a name that occurs twice. */
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
export const losesDigits = (text: string): boolean => !new Big(text).eq(new Big(Number(text)));

const REPLACEMENT_CHARACTER = "\uFFFD";
const NOT_UTF_8 = "is not UTF-8; save the file as UTF-8";

/** Delimiters that a header of one cell may contain, as --delimiter takes them. */
const DELIMITERS = [
  { text: ";", name: '";"', option: '";"' },
  { text: "\t", name: "tabs", option: "tab" },
  { text: "|", name: '"|"', option: '"|"' },
  { text: ",", name: '","', option: '","' },
];
/** A first line that only Excel understands. */
const EXCEL_DELIMITER_PATTERN = /^sep=(.)$/;

/** RFC 4180, with or without a BOM, any line ends. */
async function* csvRows(source: RowFile): AsyncGenerator<Row> {
  const { path, delimiter } = source;
  await assertNotJson(source);
  let columns: string[] | undefined;
  /** By record and column. */
  const untrimmed = new Map<number, Record<number, string>>();
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    cast: (cell, { quoting, lines, records, index }) => {
      if (quoting) return cell;
      // The first line end is that of all lines; another one would be part of a cell.
      if (/[\r\n]/.test(cell))
        throw new CommandError(`${path}: line ${lines}: the lines end in different ways. Save the file again.`);
      const trimmed = cell.trim();
      if (trimmed !== cell) untrimmed.set(records, { ...untrimmed.get(records), [index]: cell });
      return trimmed;
    },
  });
  const file = streamOf(source);
  let crLfsInCells = 0;
  file.once("error", (error) => parser.destroy(error));
  try {
    for await (const { record, info } of file.pipe(parser)) {
      // The parser counts CR LF as two line breaks if it is in a cell.
      crLfsInCells += record.join().split("\r\n").length - 1;
      if (columns) yield csvRow(columns, record, info.lines - crLfsInCells, untrimmed.get(info.records - 1));
      else columns = checkedColumns(path, record, delimiter);
      untrimmed.delete(info.records - 1);
    }
  } catch (error) {
    if (error instanceof CsvError) {
      const advice = `If cells are not separated by "${delimiter}", set --delimiter.`;
      throw new CommandError(`${path}: ${error.message}. ${advice}`);
    }
    throw error;
  } finally {
    file.destroy();
  }
}

/** The first characters of JSON or NDJSON with objects. */
const JSON_PATTERN = /^\uFEFF?\s*(\{|\[\s*\{)/;

/** Otherwise a quote in the first line of JSON would be reported, or a strange column. */
async function assertNotJson({ path, bytes }: RowFile): Promise<void> {
  const head = bytes ?? (await readHead(path));
  if (!JSON_PATTERN.test(head.toString("utf8", 0, HEAD_LENGTH))) return;
  throw new CommandError(
    `${path}: this is JSON. It must be CSV: a first line with the names of the fields, then one line per write.`,
  );
}

const HEAD_LENGTH = 100;

async function readHead(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(HEAD_LENGTH) });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function checkedColumns(path: string, columns: string[], delimiter: string): string[] {
  const [header = "", ...others] = columns;
  if (others.length === 0) assertDelimiterFits(path, header, delimiter);
  const repeated = columns.find((name, index) => columns.indexOf(name) !== index);
  if (repeated !== undefined) throw new CommandError(`${path}: two columns are called "${repeated}".`);
  return columns;
}

/** A header of one cell that contains another delimiter is most likely several cells. */
function assertDelimiterFits(path: string, header: string, delimiter: string): void {
  const [excelLine, excelDelimiter] = EXCEL_DELIMITER_PATTERN.exec(header) ?? [];
  const actual = DELIMITERS.find(({ text }) => text !== delimiter && (excelDelimiter ?? header).includes(text));
  if (excelLine === undefined && actual === undefined) return;
  const problem =
    excelLine === undefined
      ? `the header is one cell, "${header.replaceAll("\t", " ")}".`
      : `Remove the first line, "${excelLine}".`;
  const advice =
    actual === undefined ? "" : ` If cells are separated by ${actual.name}, add --delimiter ${actual.option}.`;
  throw new CommandError(`${path}: ${problem}${advice}`);
}

function csvRow(
  columns: readonly string[],
  values: readonly string[],
  line: number,
  spaced: Readonly<Record<number, string>> = {},
): Row {
  const cells = Object.fromEntries(columns.map((name, index) => [name, values[index] ?? ""]));
  const untrimmed = Object.fromEntries(Object.entries(spaced).map(([index, cell]) => [columns[Number(index)], cell]));
  if (values.length !== columns.length)
    return { line, cells, problem: `${values.length} cells, but the header has ${columns.length}` };
  if (values.some((value) => value.includes(REPLACEMENT_CHARACTER))) return { line, cells, problem: NOT_UTF_8 };
  return { line, cells, untrimmed };
}
