import { Big } from "big.js";
import * as z from "zod";
import { uncheckedAs } from "../../core/response/decode.js";
import { InputValidationError } from "../../errors/index.js";
import { nearestName } from "../../errors/unknown-name.js";
import { fieldOf } from "../../errors/unknown-value.js";
import type { NewOutboxEntry } from "../../outbox/entry.js";
import type { MarkField } from "../../outbox/index.js";
import { newEntry } from "../../outbox/new-entries.js";
import { WRITES } from "../../service/operations.js";
import type { CsvFile, CsvRow } from "./csv-rows.js";

/** The operations that a CSV file can contain. */
const { discontinue: _, ...IMPORTABLE } = WRITES;
export type ImportOperation = keyof typeof IMPORTABLE;
export const OPERATIONS = Object.keys(IMPORTABLE);

const fieldsOf = (operation: ImportOperation): Readonly<Record<string, z.ZodType>> =>
  IMPORTABLE[operation].input().shape;

export interface ImportSettings extends CsvFile {
  operation: ImportOperation;
  /** Field by column, where they differ. */
  map: ReadonlyMap<string, string>;
  /** The name of the delivery, which keys begin with; `undefined` if keys come from a column alone. */
  delivery: string | undefined;
  /** The column with the key; by default the number of the line. */
  keyColumn: string | undefined;
  /** The field of each receipt that will contain a mark. */
  mark: MarkField | undefined;
}

/** What is wrong with the columns: values would be lost, or every line would lack a required field. */
export function columnProblem({ cells }: CsvRow, settings: ImportSettings): string | undefined {
  const { operation, map, keyColumn } = settings;
  const shape = fieldsOf(operation);
  const fields = Object.keys(shape);
  const columns = Object.keys(cells);
  const hasNo = (name: string) => !columns.includes(name);
  const unmapped = [...map.keys()].find(hasNo);
  if (unmapped !== undefined) return `--map: there is no column "${unmapped}".`;
  if (keyColumn !== undefined && hasNo(keyColumn)) return `--key: there is no column "${keyColumn}".`;

  const columnOf = new Map<string, string>();
  const unknown: string[] = [];
  for (const column of columns) {
    const field = fieldOfColumn(column, settings);
    if (field === undefined) continue;
    const other = columnOf.get(field);
    if (other !== undefined) return `the columns "${other}" and "${column}" are both ${field}.`;
    columnOf.set(field, column);
    if (fields.includes(field)) continue;
    const nearest = nearestName(field, fields);
    if (map.has(column)) {
      const question = nearest === undefined ? "." : `, did you mean "${nearest}"?`;
      return `--map ${column}=${field}: ${operation} has no field "${field}"${question}`;
    }
    unknown.push(`"${column}"${nearest === undefined ? "" : ` (did you mean "${nearest}"?)`}`);
  }
  if (unknown.length > 0) return `unknown columns: ${unknown.join(", ")}. Use --map column=field, or remove them.`;
  const missing = fields.filter((field) => !columnOf.has(field) && !(shape[field] instanceof z.ZodOptional));
  return missing.length === 0 ? undefined : `no column for ${missing.join(", ")}, which ${operation} requires.`;
}

/** The field that a column contains; undefined for a column that contains nothing but the key. */
function fieldOfColumn(column: string, { operation, map, keyColumn }: ImportSettings): string | undefined {
  const field = map.get(column) ?? column;
  return column === keyColumn && !Object.hasOwn(fieldsOf(operation), field) ? undefined : field;
}

/** A row as an entry of the outbox, or what is wrong with it. */
export type ImportedRow =
  | { line: number; entry: NewOutboxEntry; inputHash: string }
  | { line: number; problems: string[] };

export function importedRow({ line, cells, problem }: CsvRow, settings: ImportSettings): ImportedRow {
  if (problem !== undefined) return { line, problems: [problem] };
  const { operation } = settings;
  const shape = fieldsOf(operation);
  const key = keyOf(line, cells, settings);
  const input = Object.fromEntries(
    Object.entries(cells).flatMap(([column, cell]) => {
      const field = fieldOfColumn(column, settings);
      return field === undefined || cell === "" ? [] : [[field, cellValue(cell, shape[field])]];
    }),
  );
  try {
    const entry = { key, operation, input };
    const { inputHash } = newEntry("import", entry, settings.mark, []);
    // It was validated just now.
    return { line, inputHash, entry: uncheckedAs<NewOutboxEntry>(entry) };
  } catch (error) {
    if (!(error instanceof InputValidationError)) throw error;
    return { line, problems: error.issues.map((issue) => describeIssueOfLine(issue, input, shape)) };
  }
}

/** A key that is missing stays empty, so that validation reports it. */
function keyOf(line: number, cells: CsvRow["cells"], { delivery, keyColumn }: ImportSettings): string {
  if (keyColumn === undefined) return `${delivery}:${line}`;
  const key = cells[keyColumn] ?? "";
  return delivery === undefined || key === "" ? key : `${delivery}/${key}`;
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

const withoutOptional = (schema: z.ZodType | undefined) => (schema instanceof z.ZodOptional ? schema.unwrap() : schema);

/** `.5` and `1.` are numbers, too: many programs write them so. */
const NUMBER_PATTERN = /^[+-]?(\d+\.?\d*|\.\d+)$/;

/** A cell as the field's type; the text itself if it is none, or has digits that a number loses, so that validation reports it. */
export function cellValue(cell: string, schema: z.ZodType | undefined): string | number | boolean {
  const inner = withoutOptional(schema);
  if (inner instanceof z.ZodNumber && NUMBER_PATTERN.test(cell)) {
    return new Big(cell.replace("+", "")).eq(new Big(Number(cell))) ? Number(cell) : cell;
  }
  if (inner instanceof z.ZodBoolean && /^(true|false)$/i.test(cell)) return /^true$/i.test(cell);
  return cell;
}
