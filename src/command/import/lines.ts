import * as z from "zod";
import { newEntry } from "../../outbox/for-rooms.js";
import type { OutboxEntryInput, OutboxOptions } from "../../outbox/index.js";
import { describeSkuSpaces } from "../../service/key.js";
import { WRITES } from "../../service/operations.js";
import { InputValidationError, type Issue } from "../../shared/errors/index.js";
import { castUnchecked, fieldOf } from "../../shared/unknown.js";
import { CommandError, failureOrInterruption } from "../exit.js";
import {
  describeNumber,
  LineProblems,
  MAX_LISTED,
  type RowSource,
  type TypedRow,
  typedRows,
  withoutOptional,
} from "../read-rows/columns.js";
import { tell } from "../terminal.js";
import { keyOfLine, keyOfValue } from "./keys.js";

export type ImportOperation = keyof typeof WRITES;
export const OPERATION_NAMES = Object.keys(WRITES);

const inputShapeOf = (operation: ImportOperation): Readonly<Record<string, z.ZodType>> =>
  WRITES[operation].input().shape;

export interface ImportSettings extends RowSource {
  operation: ImportOperation;
  /** The name of the file in messages. */
  name: string;
  /** The name of the delivery, which keys begin with; `undefined` if keys come from a column alone. */
  deliveryName: string | undefined;
  /** The field of each receipt that will contain its mark. */
  mark: NonNullable<OutboxOptions["mark"]>;
  /** Whether the file is a corrected version of an earlier one. */
  corrects: boolean;
  /** The file or address of the outbox. */
  outboxFile: string;
}

export interface ImportedLine {
  line: number;
  entry: OutboxEntryInput;
  inputHash: string;
  /** The value of the key column; missing if the number of the line is the key. */
  value?: string;
}

/**
 * Returns a line, or what is wrong with the line.
 *
 * @param lineOfKey The lines before, by key. A key identifies a line for ever, so two lines of a file must not have the
 * same key.
 */
function importedLine(
  row: TypedRow,
  settings: ImportSettings,
  lineOfKey: Map<string, number>,
): ImportedLine | string[] {
  const { line, cells, fields, problem } = row;
  if (problem !== undefined) return [problem];
  const { operation, mark } = settings;
  const input = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== "" && value !== null));
  try {
    const { key, value } = keyOfRow(line, cells, settings);
    // The outbox checks the entry again, and marks it.
    const { inputHash } = newEntry("import", { key, operation, input }, mark, []);
    const sku = "itemID" in input ? "itemID" : "shortID";
    const spaces = describeSkuSpaces(String(input[sku]));
    if (spaces !== undefined) return [`${sku} ${spaces}`];
    const earlier = lineOfKey.get(key);
    if (earlier !== undefined) return [`the key "${key}" is that of line ${earlier}, too`];
    // Keys that contain the number of the line always differ.
    if (settings.keyColumn !== undefined) lineOfKey.set(key, line);
    const entry = castUnchecked<OutboxEntryInput>({ key, operation, input });
    return { line, entry, inputHash, ...(value !== undefined && { value }) };
  } catch (error) {
    if (error instanceof CommandError) return [error.message];
    if (!(error instanceof InputValidationError)) throw error;
    return error.issues.map((issue) => describeIssueOfCell(issue, input, settings));
  }
}

/** @throws CommandError if its column has no usable key. */
function keyOfRow(line: number, cells: TypedRow["cells"], settings: ImportSettings): { key: string; value?: string } {
  const { keyColumn, deliveryName } = settings;
  if (keyColumn === undefined) return { key: keyOfLine(deliveryName ?? "", line) };
  const cell = cells[keyColumn] ?? "";
  if (cell === "") throw new CommandError(`the column "${keyColumn}" has no key`);
  if (typeof cell === "number" ? Math.abs(cell) > Number.MAX_SAFE_INTEGER : typeof cell !== "string")
    throw new CommandError(`the key in column "${keyColumn}" must be a string, or a number that is not rounded`);
  const value = String(cell).normalize("NFC");
  if (!value.isWellFormed()) throw new CommandError(`the key in column "${keyColumn}" is not well-formed Unicode`);
  return { key: keyOfValue(deliveryName, keyColumn, value), value };
}

function describeIssueOfCell({ path, message }: Issue, input: object, settings: ImportSettings): string {
  const { operation } = settings;
  const field = String(path.at(-1));
  const cell = fieldOf(input, field);
  const isNumber = withoutOptional(inputShapeOf(operation)[field]) instanceof z.ZodNumber;
  if (typeof cell !== "string" || !isNumber) return [...path.filter((step) => step !== "input"), message].join(": ");
  return `${field} ${describeNumber(cell, settings)}`;
}

interface Validation {
  lines: ImportedLine[];
  count: number;
  invalid: number;
  /** The problems of the first invalid lines. */
  problems: { line: number; problems: string[] }[];
}

/** Reads the whole file before anything is stored or sent. */
export async function readLines(settings: ImportSettings, signal: AbortSignal): Promise<Validation> {
  const { operation } = settings;
  const shape = inputShapeOf(operation);
  const required = Object.keys(shape).filter((field) => !(shape[field] instanceof z.ZodOptional));
  const result: Validation = { lines: [], count: 0, invalid: 0, problems: [] };
  const lineOfKey = new Map<string, number>();
  const problems = new LineProblems();
  for await (const row of typedRows(settings, { shape, required, operation })) {
    if (signal.aborted) throw failureOrInterruption(signal.reason, signal, "nothing was sent");
    result.count += 1;
    const imported = importedLine(row, settings, lineOfKey);
    problems.addLine(`line ${row.line}`, Array.isArray(imported) ? imported : []);
    if (!Array.isArray(imported)) {
      result.lines.push(imported);
      continue;
    }
    result.invalid += 1;
    if (result.invalid > MAX_LISTED) continue;
    result.problems.push({ line: row.line, problems: imported });
  }
  for (const text of problems.describe().slice(0, MAX_LISTED)) tell(text);
  if (result.count === 0) throw new CommandError(`${settings.path} has no lines.`);
  return result;
}
