import * as z from "zod";
import { uncheckedAs } from "../../client/for-add-ons.js";
import { newEntry } from "../../outbox/entry.js";
import type { MarkField, OutboxEntryInput } from "../../outbox/index.js";
import { describeSkuSpaces } from "../../service/key.js";
import { WRITES } from "../../service/operations.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { nearestName, nearestNameHint } from "../../shared/unknown-name.js";
import { CommandError, failureOrInterruption } from "../exit.js";
import { type ColumnSettings, fieldsOfRow, NUMBER_PATTERN, withoutOptional } from "../rows/columns.js";
import { fileRows, type Row, type RowFile, type RowFormat } from "../rows/file-rows.js";
import { tell } from "../terminal.js";

export type ImportOperation = keyof typeof WRITES;
export const OPERATIONS = Object.keys(WRITES);

const fieldsOf = (operation: ImportOperation): Readonly<Record<string, z.ZodType>> => WRITES[operation].input().shape;

export interface ImportSettings extends RowFile, ColumnSettings {
  operation: ImportOperation;
  /** What messages call the file. */
  name: string;
  /** The name of the delivery, which keys begin with; `undefined` if keys come from a column alone. */
  deliveryName: string | undefined;
  /** The column with the key; by default the number of the line. */
  keyColumn: string | undefined;
  /** The field of each receipt that will contain its mark. */
  mark: MarkField | false;
  /** Whether the file is a corrected version of an earlier one. */
  corrects: boolean;
  /** The file or address of the outbox. */
  outboxFile: string;
}

/** What is wrong with the columns of a CSV file: values would be lost, or every line would lack a required field. */
function columnProblem(row: Row, settings: ImportSettings): string | undefined {
  const { operation, map, keyColumn, ignore, set } = settings;
  const shape = fieldsOf(operation);
  const columns = Object.keys(row.cells);
  const hasNo = (name: string) => !columns.includes(name);
  const unmapped = [...map.keys()].find(hasNo);
  if (unmapped !== undefined) return `--map: there is no column "${unmapped}".`;
  const ignored = ignore.find(hasNo);
  if (ignored !== undefined) return `--ignore: there is no column "${ignored}".`;
  if (keyColumn !== undefined && hasNo(keyColumn)) return `--key: there is no column "${keyColumn}".`;
  const problem = fieldProblem(row, settings);
  if (problem !== undefined) return problem;
  const named = new Set([...set.keys(), ...columns.map((column) => fieldOfColumn(column, settings))]);
  const missing = Object.keys(shape).filter((field) => !named.has(field) && !(shape[field] instanceof z.ZodOptional));
  return missing.length === 0 ? undefined : `no column for ${missing.join(", ")}, which ${operation} requires.`;
}

/** What is wrong with the names of fields: values would be lost. */
function fieldProblem({ cells }: Row, settings: ImportSettings): string | undefined {
  const { operation, map, set } = settings;
  const fields = Object.keys(fieldsOf(operation));
  const unset = [...set.keys()].find((field) => !fields.includes(field));
  if (unset !== undefined) return `--set ${unset}: ${operation} has no field "${unset}"${didYouMean(unset, fields)}`;
  const columnOf = new Map([...set.keys()].map((field) => [field, "--set"]));
  const unknown: string[] = [];
  for (const column of Object.keys(cells)) {
    const field = fieldOfColumn(column, settings);
    if (field === undefined) continue;
    const other = columnOf.get(field);
    if (other === "--set") return `--set ${field}: the column "${column}" is ${field}, too. Add --ignore "${column}".`;
    if (other !== undefined) return `the columns "${other}" and "${column}" are both ${field}.`;
    columnOf.set(field, column);
    if (fields.includes(field)) continue;
    if (map.has(column))
      return `--map ${column}=${field}: ${operation} has no field "${field}"${didYouMean(field, fields)}`;
    const nearest = nearestName(field, fields);
    unknown.push(`"${column}"${nearest === undefined ? "" : ` (did you mean "${nearest}"?)`}`);
  }
  if (unknown.length === 0) return undefined;
  return `unknown columns: ${unknown.join(", ")}. Use --map column=field or --ignore column, or remove them.`;
}

const didYouMean = (name: string, names: readonly string[]) => nearestNameHint(name, names) || ".";

/** The field that a column contains; undefined for a column that contains none, for instance nothing but the key. */
function fieldOfColumn(column: string, { operation, map, keyColumn, ignore }: ImportSettings): string | undefined {
  if (ignore.includes(column)) return undefined;
  const field = map.get(column) ?? column;
  return column === keyColumn && !Object.hasOwn(fieldsOf(operation), field) ? undefined : field;
}

/** A line as an entry of the outbox, or what is wrong with it. */
type ImportedRow = ImportedLine | { line: number; problems: string[] };

export interface ImportedLine {
  line: number;
  entry: OutboxEntryInput;
  inputHash: string;
}

function importedRow(row: Row, settings: ImportSettings): ImportedRow {
  const { line, cells, problem } = row;
  // Each object has its own fields, and a CSV file the columns of its header.
  const wrong = problem ?? (settings.format === "ndjson" ? fieldProblem(row, settings) : undefined);
  if (wrong !== undefined) return { line, problems: [wrong] };
  const key = keyOf(line, cells, settings);
  if (typeof key !== "string") return { line, problems: [key.problem] };
  const { operation, mark } = settings;
  const shape = fieldsOf(operation);
  const filled = Object.fromEntries(Object.entries(cells).filter(([, cell]) => cell !== "" && cell !== null));
  const input = fieldsOfRow(filled, settings, shape, (column) => fieldOfColumn(column, settings));
  try {
    // The outbox checks it again, and marks it.
    const { inputHash } = newEntry("import", { key, operation, input }, { mark }, []);
    const [name, sku] = "itemID" in input ? ["itemID", input.itemID] : ["shortID", input.shortID];
    const column = Object.keys(cells).find((one) => fieldOfColumn(one, settings) === name) ?? "";
    const spaces = describeSkuSpaces(row.untrimmed?.[column] ?? String(sku));
    if (spaces !== undefined) return { line, problems: [`${name} ${spaces}`] };
    return { line, entry: uncheckedAs<OutboxEntryInput>({ key, operation, input }), inputHash };
  } catch (error) {
    if (!(error instanceof InputValidationError)) throw error;
    return { line, problems: error.issues.map((issue) => describeIssueOfLine(issue, input, shape, settings.format)) };
  }
}

/**
 * How the keys of all lines of a delivery begin: `NAME:` before the number of a line, `NAME/` before a key of its own. Names
 * and values are encoded, so that no two lines of whatever files share a key. `undefined` for keys of a column alone.
 */
export function keyPrefixOf({ deliveryName, keyColumn }: ImportSettings): string | undefined {
  if (deliveryName === undefined) return undefined;
  return `${encodeURIComponent(deliveryName)}${keyColumn === undefined ? ":" : "/"}`;
}

function keyOf(line: number, cells: Row["cells"], settings: ImportSettings): string | { problem: string } {
  const prefix = keyPrefixOf(settings) ?? "";
  const { keyColumn } = settings;
  if (keyColumn === undefined) return `${prefix}${line}`;
  const cell = cells[keyColumn] ?? "";
  if (cell === "") return { problem: `the column "${keyColumn}" has no key` };
  if (typeof cell === "number" ? Math.abs(cell) > Number.MAX_SAFE_INTEGER : typeof cell !== "string")
    return { problem: `the key in column "${keyColumn}" must be a string, or a number that is not rounded` };
  const value = String(cell);
  if (!value.isWellFormed()) return { problem: `the key in column "${keyColumn}" is not well-formed Unicode` };
  return `${prefix}${encodeURIComponent(keyColumn)}=${encodeURIComponent(value)}`;
}

function describeIssueOfLine(
  { path, message }: InputValidationError["issues"][number],
  input: object,
  shape: Readonly<Record<string, z.ZodType>>,
  format: RowFormat,
): string {
  const field = String(path.at(-1));
  const cell = fieldOf(input, field);
  const isTextForNumber = typeof cell === "string" && withoutOptional(shape[field]) instanceof z.ZodNumber;
  const name = path.filter((step) => step !== "input").join(".");
  if (!isTextForNumber) return `${name} ${message}`.trim();
  return `${field} must be a number, not "${cell}"${numberAdvice(cell, format)}`;
}

/** How to write a number, without guessing what it is. */
function numberAdvice(text: string, format: RowFormat): string {
  if (format === "ndjson" && NUMBER_PATTERN.test(text)) return `: write ${Number(text)}, without quotes`;
  // A cell that is a number is only left a string if its digits would be lost.
  if (NUMBER_PATTERN.test(text)) return ": it has more digits than a number keeps";
  const [, whole = "", part = ""] = /^([+-]?\d{1,3}),(\d{3})$/.exec(text) ?? [];
  if (part !== "")
    return `: write ${whole}${part} if the comma separates thousands, ${whole}.${part} if it is a decimal one`;
  if (/^[+-]?\d{1,3}([, ']\d{3})+(\.\d+)?$/.test(text)) return `: write ${text.replace(/[, ']/g, "")}`;
  return /^[+-]?\d+,\d+$/.test(text) ? `: write ${text.replace(",", ".")}` : "";
}

/** Wrong lines that are listed; the rest is only counted. */
const MAX_LISTED = 50;

interface Validation {
  /** All lines, if none is invalid and they are to be sent. */
  lines: ImportedLine[];
  count: number;
  invalid: number;
  /** Of the first invalid lines. */
  problems: { line: number; problems: string[] }[];
}

/** Reads the whole file before anything is stored or sent. */
export async function readLines(settings: ImportSettings, signal: AbortSignal, isDryRun: boolean): Promise<Validation> {
  const result: Validation = { lines: [], count: 0, invalid: 0, problems: [] };
  // Without a column of keys, the number of the line makes each key unique.
  const lineOfKey = settings.keyColumn === undefined ? undefined : new Map<string, number>();
  for await (const row of fileRows(settings)) {
    if (signal.aborted) throw failureOrInterruption(signal.reason, signal, "nothing was sent");
    const columns = result.count === 0 && settings.format === "csv" ? columnProblem(row, settings) : undefined;
    if (columns !== undefined) throw new CommandError(columns);
    result.count += 1;
    const imported = importedRow(row, settings);
    const problems = problemsOf(imported, lineOfKey);
    if ("entry" in imported && problems.length === 0) {
      if (!isDryRun) result.lines.push(imported);
      continue;
    }
    result.invalid += 1;
    if (result.invalid > MAX_LISTED) continue;
    result.problems.push({ line: row.line, problems });
    tell(`line ${row.line}: ${problems.join("; ")}`);
  }
  if (result.count === 0) throw new CommandError(`${settings.path} has no lines.`);
  return result;
}

function problemsOf(imported: ImportedRow, lineOfKey: Map<string, number> | undefined): string[] {
  if ("problems" in imported) return imported.problems;
  const { line, entry } = imported;
  const earlier = lineOfKey?.get(entry.key);
  lineOfKey?.set(entry.key, line);
  // Keys identify a line for ever, so two lines of a file must not share one.
  return earlier === undefined ? [] : [`the key "${entry.key}" is that of line ${earlier}, too`];
}
