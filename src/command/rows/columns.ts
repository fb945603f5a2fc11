import { type Command, InvalidArgumentError } from "commander";
import * as z from "zod";
import { losesDigits, type RowFile } from "./file-rows.js";

/** What the columns of a file of rows mean. */
export interface ColumnSettings {
  /** Field by column, where they differ. */
  map: ReadonlyMap<string, string>;
  /** Columns that are no fields. */
  ignore: readonly string[];
  /** Value by field, for every row. */
  set: ReadonlyMap<string, string>;
}

export interface RowFlags extends Partial<ColumnSettings> {
  delimiter?: string;
}

/** Adds the options for the columns of a file. */
export const withColumns = (command: Command): Command =>
  command
    .option("--map <column=field>", "the field of a column with another name; may be repeated", mapOption)
    .option("--ignore <column>", "a column that is no field; may be repeated", ignoreOption)
    .option("--delimiter <text>", 'between two cells, for instance ";" or tab (default: ",")', delimiterOption);

export const rowSettings = ({
  map = new Map(),
  ignore = [],
  set = new Map(),
  delimiter = ",",
}: RowFlags): ColumnSettings & { delimiter: string } => ({ map, ignore, set, delimiter });

function mapOption(text: string, earlier: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [column, field, ...more] = text.split("=");
  if (!column || !field || more.length > 0) throw new InvalidArgumentError("It must be column=field.");
  return new Map([...earlier, [column.trim(), field.trim()]]);
}

const ignoreOption = (column: string, earlier: string[] = []): string[] => [...earlier, column];

/** A value may contain "=". */
export function setOption(text: string, earlier: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [, field, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (field === undefined || value === undefined) throw new InvalidArgumentError("It must be field=value.");
  return new Map([...earlier, [field.trim(), value]]);
}

function delimiterOption(text: string): string {
  if (text === "tab" || text === "\\t") return "\t";
  if (text.length === 1 && !/["\r\n]/.test(text)) return text;
  throw new InvalidArgumentError("It must be one character other than a quote or a line break, or tab.");
}

/**
 * The fields of a row by their own names, and those that are set. The cells of a CSV file, and values on the command line, are
 * strings: they become values of their fields' types.
 *
 * @param fieldOf the field that a column contains; undefined if it contains none
 */
export function fieldsOfRow(
  cells: Readonly<Record<string, unknown>>,
  { set, format }: Pick<ColumnSettings, "set"> & Pick<RowFile, "format">,
  shape: Readonly<Record<string, z.ZodType>>,
  fieldOf: (column: string) => string | undefined,
): Record<string, unknown> {
  const typed = (field: string, cell: unknown) => (typeof cell === "string" ? cellValue(cell, shape[field]) : cell);
  const read = Object.entries(cells).flatMap(([column, cell]): [string, unknown][] => {
    const field = fieldOf(column);
    return field === undefined ? [] : [[field, format === "csv" ? typed(field, cell) : cell]];
  });
  return Object.fromEntries([...read, ...[...set].map(([field, value]) => [field, typed(field, value)])]);
}

export const withoutOptional = (schema: z.ZodType | undefined) =>
  schema instanceof z.ZodOptional ? schema.unwrap() : schema;

/** `.5` and `1.` are numbers, too: many programs write them so. */
export const NUMBER_PATTERN = /^[+-]?(\d+\.?\d*|\.\d+)$/;

/** A cell as the field's type; the text itself if it is none, or has digits that a number loses, so that validation reports it. */
function cellValue(cell: string, schema: z.ZodType | undefined): string | number | boolean {
  const inner = withoutOptional(schema);
  if (inner instanceof z.ZodNumber && NUMBER_PATTERN.test(cell)) {
    return losesDigits(cell.replace("+", "")) ? cell : Number(cell);
  }
  if (inner instanceof z.ZodBoolean && /^(true|false)$/i.test(cell)) return /^true$/i.test(cell);
  return cell;
}
