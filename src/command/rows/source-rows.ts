import type * as z from "zod";
import { describeSkuSpaces } from "../../service/key.js";
import { nearestName } from "../../shared/unknown-name.js";
import { CommandError } from "../exit.js";
import { type ColumnSettings, fieldsOfRow } from "./columns.js";
import { fileRows, type Row, type RowFormat, rowFormatOf } from "./file-rows.js";

/** A file of rows, and what its columns mean. */
interface RowSource extends ColumnSettings {
  path: string;
  delimiter: string;
}

/** What a row consists of. */
export interface RowFields {
  shape: Readonly<Record<string, z.ZodType>>;
  /** What each field means that a CSV file must have, by name. */
  required: Readonly<Record<string, string>>;
  /** A row of these cells, which are of the types of their fields; `undefined` if it is to be left out. */
  rowOf(cells: Record<string, unknown>, format: RowFormat): object | undefined;
}

/** Reads the rows of a CSV or NDJSON file, and remembers the line of each. */
export class SourceRows implements AsyncIterable<object> {
  /** By index. */
  readonly lines: number[] = [];
  readonly path: string;
  readonly #source: RowSource;
  readonly #fields: RowFields;

  constructor(source: RowSource, fields: RowFields) {
    this.path = source.path;
    this.#source = source;
    this.#fields = fields;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<object> {
    const { path, delimiter, map, ignore, set } = this.#source;
    const { shape, rowOf } = this.#fields;
    const format = rowFormatOf(path);
    let isFirst = true;
    for await (const row of fileRows({ path, delimiter, format })) {
      const { line, cells, problem } = row;
      if (problem !== undefined) throw new CommandError(`${path}: line ${line}: ${problem}.`);
      if (format === "csv" && isFirst) this.#assertColumns(row);
      isFirst = false;
      for (const [column, cell] of Object.entries(row.untrimmed ?? {})) {
        const field = map.get(column) ?? column;
        if ((field === "shortID" || field === "itemID") && !ignore.includes(column))
          throw new CommandError(`${path}: line ${line}: ${field} ${describeSkuSpaces(cell)}.`);
      }
      const named = fieldsOfRow(cells, { set, format }, shape, (column) =>
        ignore.includes(column) ? undefined : (map.get(column) ?? column),
      );
      const fields = rowOf(named, format);
      if (!fields) continue;
      this.lines.push(line);
      yield fields;
    }
  }

  #assertColumns({ cells }: Row): void {
    const { path, map, ignore, set } = this.#source;
    const columns = Object.keys(cells);
    const missing = [...map.keys(), ...ignore].find((column) => !columns.includes(column));
    if (missing !== undefined) throw new CommandError(`${path}: there is no column "${missing}".`);
    const fields = columns.filter((column) => !ignore.includes(column)).map((column) => map.get(column) ?? column);
    const repeated = [...fields, ...set.keys()].find((field, index, all) => all.indexOf(field) !== index);
    if (repeated !== undefined) throw new CommandError(`${path}: two columns are ${repeated}.`);
    const absent = Object.entries(this.#fields.required).find(([field]) => !fields.includes(field));
    if (!absent) return;
    const [field, meaning] = absent;
    const nearest = nearestName(field, columns);
    const advice = nearest === undefined ? `Use --map COLUMN=${field}.` : `Use --map "${nearest}=${field}".`;
    throw new CommandError(`${path}: no column is ${field}, ${meaning}. ${advice}`);
  }
}

/** In a CSV file, an empty cell is a missing field. */
export const withoutEmptyCells = (cells: Record<string, unknown>, format: RowFormat): object =>
  format === "csv" ? Object.fromEntries(Object.entries(cells).filter(([, cell]) => cell !== "")) : cells;
