import { createHash } from "node:crypto";
import * as z from "zod";
import type { NewLine } from "../../outbox/delivery-store.js";
import type { MarkField } from "../../outbox/index.js";
import { newEntry } from "../../outbox/new-entries.js";
import { WRITES } from "../../service/operations.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { nearestName, nearestNameHint } from "../../shared/unknown-name.js";
import { CommandError, failureOrInterruption } from "../exit.js";
import { type ColumnSettings, fieldsOfRow, NUMBER_PATTERN, withoutOptional } from "../rows/columns.js";
import { fileRows, type Row, type RowFile } from "../rows/file-rows.js";
import { tell } from "../terminal.js";

export type ImportOperation = keyof typeof WRITES;
export const OPERATIONS = Object.keys(WRITES);

const fieldsOf = (operation: ImportOperation): Readonly<Record<string, z.ZodType>> => WRITES[operation].input().shape;

/** The columns that a file of rejected lines has, beside those of the file that was imported. */
export const REJECT_COLUMNS = { reason: "stocklot:reason", replaces: "stocklot:replaces" } as const;
const RESERVED: readonly string[] = Object.values(REJECT_COLUMNS);

export interface ImportSettings extends RowFile, ColumnSettings {
  operation: ImportOperation;
  isStandardInput: boolean;
  /** The name of the delivery, which keys begin with; `undefined` if keys come from a column alone. */
  deliveryName: string | undefined;
  /** The column with the key; by default the number of the line. */
  keyColumn: string | undefined;
  /** The field of each receipt that will contain a mark. */
  mark: MarkField | undefined;
  /** Whether the file is a corrected version of an earlier one. */
  corrects: boolean;
  /** The file or address of the outbox. */
  outboxFile: string;
}

/** What is wrong with the columns of a CSV file: values would be lost, or every line would lack a required field. */
function columnProblem(row: Row, settings: ImportSettings): string | undefined {
  const { operation, map, keyColumn, deliveryName, ignore, set } = settings;
  const shape = fieldsOf(operation);
  const columns = Object.keys(row.cells);
  const hasNo = (name: string) => !columns.includes(name);
  const unmapped = [...map.keys()].find(hasNo);
  if (unmapped !== undefined) return `--map: there is no column "${unmapped}".`;
  const ignored = ignore.find(hasNo);
  if (ignored !== undefined) return `--ignore: there is no column "${ignored}".`;
  if (keyColumn !== undefined && hasNo(keyColumn)) return `--key: there is no column "${keyColumn}".`;
  if (deliveryName === undefined && columns.includes(REJECT_COLUMNS.replaces))
    return `a file with the column "${REJECT_COLUMNS.replaces}" is a delivery. Name it with --delivery.`;
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
  if (ignore.includes(column) || RESERVED.includes(column)) return undefined;
  const field = map.get(column) ?? column;
  return column === keyColumn && !Object.hasOwn(fieldsOf(operation), field) ? undefined : field;
}

/** A row as an entry of the outbox, or what is wrong with it. */
type ImportedRow = ValidRow | { line: number; problems: string[] };

export interface ValidRow {
  line: number;
  cells: Row["cells"];
  entry: NewLine;
  /** The key of the rejected entry that it replaces, if any. */
  replacesKey: string | undefined;
}

function importedRow(row: Row, settings: ImportSettings): ImportedRow {
  const { line, cells, problem } = row;
  // Each object has its own fields, and a CSV file the columns of its header.
  const wrong = problem ?? (settings.format === "ndjson" ? fieldProblem(row, settings) : undefined);
  if (wrong !== undefined) return { line, problems: [wrong] };
  const { operation, deliveryName: delivery, mark } = settings;
  const shape = fieldsOf(operation);
  const key = keyOf(line, cells, settings);
  const filled = Object.fromEntries(Object.entries(cells).filter(([, cell]) => cell !== "" && cell !== null));
  const input = fieldsOfRow(filled, settings, shape, (column) => fieldOfColumn(column, settings));
  try {
    const entry = { ...newEntry("import", { key, operation, input }, mark, []), delivery };
    return { line, cells, entry, replacesKey: String(cells[REJECT_COLUMNS.replaces] ?? "") || undefined };
  } catch (error) {
    if (!(error instanceof InputValidationError)) throw error;
    return { line, problems: error.issues.map((issue) => describeIssueOfLine(issue, input, shape)) };
  }
}

/** A key that is missing stays empty, so that validation reports it. */
function keyOf(line: number, cells: Row["cells"], { deliveryName, keyColumn }: ImportSettings): string {
  if (keyColumn === undefined) return `${deliveryName}:${line}`;
  const key = String(cells[keyColumn] ?? "");
  return deliveryName === undefined || key === "" ? key : `${deliveryName}/${key}`;
}

function describeIssueOfLine(
  { path, message }: InputValidationError["issues"][number],
  input: object,
  shape: Readonly<Record<string, z.ZodType>>,
): string {
  const field = String(path.at(-1));
  const cell = fieldOf(input, field);
  const isTextForNumber = typeof cell === "string" && withoutOptional(shape[field]) instanceof z.ZodNumber;
  // A cell that is a number is only left a string if its digits would be lost.
  const isTooLong = isTextForNumber && NUMBER_PATTERN.test(cell);
  const isDecimalComma = isTextForNumber && /^[+-]?\d+,\d+$/.test(cell);
  const text = isTooLong ? `must be a number of fewer digits, not "${cell}"` : message;
  return `${path.join(".")} ${text}${isDecimalComma ? " (write a decimal point)" : ""}`.trim();
}

/** Wrong lines that are listed; the rest is only counted. */
const MAX_LISTED = 50;

interface Validation {
  lines: number;
  invalid: number;
  /** Of the first invalid lines. */
  problems: { line: number; problems: string[] }[];
  /** SHA-256 of the writes: operation and input of each line, in order. */
  digest: string;
}

/** Reads the whole file before anything is stored or sent. */
export async function validate(settings: ImportSettings, signal: AbortSignal): Promise<Validation> {
  const result: Omit<Validation, "digest"> = { lines: 0, invalid: 0, problems: [] };
  const digest = createHash("sha256");
  const lineOfKey = new Map<string, number>();
  for await (const row of fileRows(settings)) {
    if (signal.aborted) throw failureOrInterruption(signal.reason, signal, "nothing was sent");
    const columns = result.lines === 0 && settings.format === "csv" ? columnProblem(row, settings) : undefined;
    if (columns !== undefined) throw new CommandError(columns);
    result.lines += 1;
    const imported = importedRow(row, settings);
    if ("entry" in imported) digest.update(imported.entry.inputHash);
    const problems = problemsOf(imported, settings, lineOfKey);
    if (problems.length === 0) continue;
    result.invalid += 1;
    if (result.invalid > MAX_LISTED) continue;
    result.problems.push({ line: row.line, problems });
    tell(`line ${row.line}: ${problems.join("; ")}`);
  }
  if (result.lines === 0) throw new CommandError(`${settings.path} has no lines.`);
  return { ...result, digest: digest.digest("hex") };
}

function problemsOf(imported: ImportedRow, { keyColumn }: ImportSettings, lineOfKey: Map<string, number>): string[] {
  if ("problems" in imported) return imported.problems;
  // Otherwise the key contains the number of the line.
  if (keyColumn === undefined) return [];
  const { line, entry } = imported;
  const earlier = lineOfKey.get(entry.key);
  lineOfKey.set(entry.key, line);
  // Keys identify a line for ever, so two lines of a file must not share one.
  return earlier === undefined ? [] : [`the key "${entry.key}" is that of line ${earlier}, too`];
}

export async function* validRows(settings: ImportSettings): AsyncGenerator<ValidRow> {
  for await (const row of fileRows(settings)) {
    const imported = importedRow(row, settings);
    if ("entry" in imported) yield imported;
  }
}
