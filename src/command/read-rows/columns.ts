import { type Command, InvalidArgumentError, Option } from "commander";
import * as z from "zod";
import { groupBy } from "../../shared/group-by.js";
import { nearestName, nearestNameHint } from "../../shared/unknown-name.js";
import { CommandError } from "../exit.js";
import {
  asUtf8,
  ENCODINGS,
  type Encoding,
  fileRows,
  losesDigits,
  type Row,
  type RowFile,
  rowFormatOf,
} from "./file-rows.js";

const DECIMALS = [".", ","] as const;
export type Decimal = (typeof DECIMALS)[number];

export interface RowSource extends RowFile {
  /** Field by column, where they differ. */
  map: ReadonlyMap<string, string>;
  /** Columns that are no fields. */
  ignore: readonly string[];
  /** Value by field, for every row. */
  set: ReadonlyMap<string, string>;
  /** The character that separates the decimals of a number in a CSV file. */
  decimal: Decimal;
  /** A column that need not be a field: the keys of an import. */
  keyColumn?: string | undefined;
}

export interface RowFields {
  shape: Readonly<Record<string, z.ZodType>>;
  required: readonly string[];
  /** The noun for messages about unknown fields; `undefined` if unknown fields are checked later. */
  operation?: string;
}

export interface RowFlags extends Partial<Pick<RowSource, "map" | "ignore" | "set" | "delimiter" | "decimal">> {
  format?: RowFile["format"];
  encoding?: Encoding;
}

export const withCsvForm = (command: Command): Command =>
  command
    .option(
      "--delimiter <text>",
      'character between two cells, for instance ";" or tab (default: ",")',
      delimiterOption,
    )
    .addOption(new Option("--decimal <sign>", "decimal sign of numbers (default: .)").choices(DECIMALS));

export const withColumns = (command: Command): Command =>
  withCsvForm(
    command
      .option("--map <column=field>", "the field of a column with another name; may be repeated", mapOption)
      .option("--ignore <column>", "a column that is no field; may be repeated", ignoreOption),
  ).addOption(new Option("--encoding <name>", "encoding of the file (default: utf-8)").choices(ENCODINGS));

export function rowSource(path: string, bytes: Buffer, flags: RowFlags): RowSource {
  const { map = new Map(), ignore = [], set = new Map(), delimiter = ",", format = rowFormatOf(path) } = flags;
  const isSku = (column: string) => ["itemID", "shortID"].includes(map.get(column) ?? column);
  const { decimal = ".", encoding = "utf-8" } = flags;
  return { path, bytes: asUtf8(bytes, encoding, path), format, delimiter, isSku, map, ignore, set, decimal };
}

function mapOption(text: string, earlier: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [column, field, ...more] = text.split("=");
  if (!column || !field || more.length > 0) throw new InvalidArgumentError("It must be column=field.");
  return withOther(earlier, column.trim(), field.trim());
}

const ignoreOption = (column: string, earlier: string[] = []): string[] => [...earlier, column];

/** A value may contain "=". */
export function setOption(text: string, earlier: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [, field, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (field === undefined || value === undefined) throw new InvalidArgumentError("It must be field=value.");
  return withOther(earlier, field.trim(), value);
}

function withOther(earlier: ReadonlyMap<string, string>, name: string, value: string): ReadonlyMap<string, string> {
  if (earlier.has(name)) throw new InvalidArgumentError(`${name} is given twice.`);
  return new Map([...earlier, [name, value]]);
}

function delimiterOption(text: string): string {
  if (text === "tab" || text === "\\t") return "\t";
  if (text.length === 1 && !/["\r\n]/.test(text)) return text;
  throw new InvalidArgumentError("It must be one character other than a quote or a line break, or tab.");
}

/**
 * A row with the names of fields instead of columns. A text that fits the type of its field is a value of that type.
 */
export interface TypedRow extends Row {
  fields: Record<string, unknown>;
}

/**
 * Reads a file row by row. Each object of NDJSON has fields of its own, and a CSV file the columns of its header.
 *
 * @throws CommandError if columns of a CSV file are wrong.
 */
export async function* typedRows(source: RowSource, expected: RowFields): AsyncGenerator<TypedRow> {
  const { format, set, decimal } = source;
  const typed = (field: string, cell: unknown) =>
    typeof cell === "string" ? cellValue(cell, expected.shape[field], decimal) : cell;
  const isCsv = format === "csv";
  let isFirst = true;
  for await (const row of fileRows(source)) {
    const columns = Object.keys(row.cells);
    if (isCsv && isFirst) assertColumns(columns, source, expected);
    isFirst = false;
    const read = Object.entries(row.cells).flatMap(([column, cell]): [string, unknown][] => {
      const field = fieldOfColumn(column, source, expected);
      return field === undefined ? [] : [[field, isCsv ? typed(field, cell) : cell]];
    });
    // An option is written as everywhere else.
    const given = [...set].map(([field, value]) => [field, cellValue(value, expected.shape[field], ".")] as const);
    const problem = row.problem ?? (isCsv ? undefined : fieldProblem(columns, source, expected));
    yield { ...row, problem, fields: Object.fromEntries([...read, ...given]) };
  }
}

/** Throws if values would be lost, or if every row would lack a required field. */
function assertColumns(columns: readonly string[], source: RowSource, expected: RowFields): void {
  const { map, ignore, keyColumn, set } = source;
  const named = { "--map": [...map.keys()], "--ignore": ignore, "--key": keyColumn === undefined ? [] : [keyColumn] };
  for (const [option, names] of Object.entries(named)) {
    const missing = names.find((name) => !columns.includes(name));
    if (missing !== undefined) throw new CommandError(`${option}: there is no column "${missing}".`);
  }
  const problem = fieldProblem(columns, source, expected);
  if (problem !== undefined) throw new CommandError(problem);
  const fields = new Set([...set.keys(), ...columns.map((column) => fieldOfColumn(column, source, expected))]);
  const missing = expected.required.filter((field) => !fields.has(field));
  const [first = ""] = missing;
  if (missing.length > 0)
    throw new CommandError(
      `no column for ${missing.join(", ")}. Use --map "${nearestName(first, columns) ?? "COLUMN"}=${first}".`,
    );
}

/** Describes problems of field names through which values would be lost. */
function fieldProblem(columns: readonly string[], source: RowSource, expected: RowFields): string | undefined {
  const { operation, shape } = expected;
  const known = Object.keys(shape);
  const isUnknown = (field: string) => operation !== undefined && !Object.hasOwn(shape, field);
  const noField = (option: string, field: string) =>
    `${option}: ${operation} has no field "${field}"${nearestNameHint(field, known) || "."}`;
  const unset = [...source.set.keys()].find(isUnknown);
  if (unset !== undefined) return noField(`--set ${unset}`, unset);
  const columnOf = new Map<string, string>();
  for (const column of columns) {
    const field = fieldOfColumn(column, source, expected);
    if (field === undefined) continue;
    if (source.set.has(field))
      return `--set ${field}: the column "${column}" is ${field}, too. Add --ignore "${column}".`;
    const other = columnOf.get(field);
    if (other !== undefined) return `the columns "${other}" and "${column}" are both ${field}.`;
    if (isUnknown(field) && source.map.has(column)) return noField(`--map ${column}=${field}`, field);
    columnOf.set(field, column);
  }
  const unknown = [...columnOf].flatMap(([field, column]) => {
    const nearest = nearestName(field, known);
    return isUnknown(field) ? [`"${column}"${nearest === undefined ? "" : ` (did you mean "${nearest}"?)`}`] : [];
  });
  if (unknown.length === 0) return undefined;
  return `unknown columns: ${unknown.join(", ")}. Use --map column=field or --ignore column, or remove them.`;
}

/** Returns the field of a column; `undefined` for a column that is no field, such as the column of keys. */
function fieldOfColumn(column: string, source: RowSource, { shape }: RowFields): string | undefined {
  if (source.ignore.includes(column)) return undefined;
  const field = source.map.get(column) ?? column;
  return column === source.keyColumn && !Object.hasOwn(shape, field) ? undefined : field;
}

export const withoutOptional = (schema: z.ZodType | undefined) =>
  schema instanceof z.ZodOptional ? schema.unwrap() : schema;

/** `.5` and `1.` are numbers, too: many programs write them so. */
export const NUMBER_PATTERN = /^[+-]?(\d+\.?\d*|\.\d+)$/;

/**
 * Returns a cell as a value of the field's type. If the text does not fit the type, or has more digits than a number
 * keeps, it is returned as it is, so that validation reports it.
 */
function cellValue(cell: string, schema: z.ZodType | undefined, decimal: Decimal): string | number | boolean {
  const inner = withoutOptional(schema);
  if (inner instanceof z.ZodNumber) {
    const number = decimal === "," ? withDecimalPoint(cell) : cell;
    if (number !== undefined && NUMBER_PATTERN.test(number))
      return losesDigits(number.replace("+", "")) ? cell : Number(number);
  }
  if (inner instanceof z.ZodBoolean && /^(true|false)$/i.test(cell)) return /^true$/i.test(cell);
  return cell;
}

/**
 * Returns a number with a decimal comma as one with a point; `undefined` if it has a point, which may separate
 * thousands or decimals.
 */
const withDecimalPoint = (cell: string) => (cell.includes(".") ? undefined : cell.replace(",", "."));

/** Describes what is wrong with a cell that must be a number, and how to write it. */
export const describeNumber = (cell: string, source: RowSource): string =>
  `must be a number, not "${cell}"${numberAdvice(cell, source)}`;

/** How to write a number, without guessing what it is. */
function numberAdvice(text: string, { format, decimal }: RowSource): string {
  if (decimal === "," && format === "csv") return text.includes(".") ? ": with --decimal , it must have no point" : "";
  if (format === "ndjson" && NUMBER_PATTERN.test(text)) return `: write ${Number(text)}, without quotes`;
  // A cell that is a number is only left a string if its digits would be lost.
  if (NUMBER_PATTERN.test(text)) return ": it has more digits than a number keeps";
  const [, whole = "", part = ""] = /^([+-]?\d{1,3}),(\d{3})$/.exec(text) ?? [];
  if (part !== "")
    return `: write ${whole}${part} if the comma separates thousands, ${whole}.${part} if it is a decimal one`;
  if (/^[+-]?\d{1,3}([, ']\d{3})+(\.\d+)?$/.test(text)) return `: write ${text.replace(/[, ']/g, "")}`;
  return /^[+-]?\d+,\d+$/.test(text) ? `: write ${text.replace(",", ".")}, or add --decimal ,` : "";
}

/** Wrong lines that are listed; the rest is only counted. */
export const MAX_LISTED = 50;

/**
 * Collects the problems of lines. A problem that every line has is a problem of a column, and is described only once.
 */
export class LineProblems {
  /** The problems, without values: how often each occurs, and where first. */
  readonly #byKind = new Map<string, { count: number; first: { place: string; problem: string }[] }>();
  #lines = 0;

  /** Adds a line with its problems; an empty array if the line is right. `place`: for example `line 7`. */
  addLine(place: string, problems: readonly string[]): void {
    this.#lines += 1;
    for (const problem of problems) {
      const kind = problem.replace(/"(?:[^"\\]|\\.)*"|[\d.,]+/g, "…");
      const same = this.#byKind.get(kind) ?? { count: 0, first: [] };
      this.#byKind.set(kind, same);
      same.count += 1;
      if (same.first.length < MAX_LISTED) same.first.push({ place, problem });
    }
  }

  /** Returns a text for each line that is wrong, in the order of the lines, and a text for each wrong column. */
  describe(): string[] {
    const isColumn = ({ count }: { count: number }) => count > 1 && count === this.#lines;
    const kinds = [...this.#byKind.values()];
    const ofColumns = kinds
      .filter(isColumn)
      .flatMap(({ first }) => first.slice(0, 1))
      .map(({ place, problem }) => ({ place: `${place}, as in all ${this.#lines} lines`, problem }));
    const ofLines = kinds.filter((kind) => !isColumn(kind)).flatMap(({ first }) => first);
    const byPlace = groupBy([...ofColumns, ...ofLines], ({ place }) => place);
    return [...byPlace].map(([place, all]) => `${place}: ${all.map(({ problem }) => problem).join("; ")}`);
  }
}
