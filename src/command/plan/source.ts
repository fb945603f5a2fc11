import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type * as z from "zod";
import { nearestName } from "../../errors/unknown-name.js";
import { isObject, messageOf } from "../../errors/unknown-value.js";
import { WRITES } from "../../service/operations.js";
import { CommandError, EXIT } from "../exit.js";
import { type CsvRow, csvRows } from "../import/csv-rows.js";
import { cellValue } from "../import/entries.js";

/** A file of rows, and what its columns mean. */
export interface PlanSource {
  path: string;
  delimiter: string;
  /** Field by column, where they differ. */
  map: ReadonlyMap<string, string>;
  ignore: readonly string[];
  /** Value by field, for every row. */
  set: ReadonlyMap<string, string>;
}

/** Reads the rows of a CSV or NDJSON file, and remembers the line of each. */
export class SourceRows implements AsyncIterable<object> {
  /** By index. */
  readonly lines: number[] = [];
  readonly #source: PlanSource;

  constructor(source: PlanSource) {
    this.#source = source;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<object> {
    const { path } = this.#source;
    const rows = /\.(ndjson|jsonl)$/i.test(path) ? this.#ndjsonRows() : this.#csvRows();
    for await (const { line, fields } of rows) {
      this.lines.push(line);
      yield fields;
    }
  }

  async *#ndjsonRows(): AsyncGenerator<{ line: number; fields: object }> {
    const { path } = this.#source;
    const input = createReadStream(path);
    let line = 0;
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1;
      if (text.trim() === "") continue;
      yield { line, fields: this.#named(parseLine(path, line, text)) };
    }
  }

  async *#csvRows(): AsyncGenerator<{ line: number; fields: object }> {
    const { path, delimiter } = this.#source;
    const shape: Readonly<Record<string, z.ZodType>> = WRITES.create.input().shape;
    let isFirst = true;
    for await (const row of csvRows({ path, copy: path, delimiter })) {
      if (row.problem !== undefined) throw new CommandError(`${path}: line ${row.line}: ${row.problem}.`, EXIT.usage);
      if (isFirst) this.#assertColumns(row);
      isFirst = false;
      const cells = Object.entries(this.#named(row.cells)).filter(([, cell]) => cell !== "");
      const fields = cells.map(([field, cell]) => [
        field,
        typeof cell === "string" ? cellValue(cell, shape[field]) : cell,
      ]);
      yield { line: row.line, fields: Object.fromEntries(fields) };
    }
  }

  /** The fields of a row by their own names, with those that are set. */
  #named(row: object): Record<string, unknown> {
    const { map, ignore, set } = this.#source;
    const named = Object.entries(row)
      .filter(([column]) => !ignore.includes(column))
      .map(([column, cell]) => [map.get(column) ?? column, cell]);
    return { ...Object.fromEntries(named), ...Object.fromEntries(set) };
  }

  #assertColumns({ cells }: CsvRow): void {
    const { path, map, ignore, set } = this.#source;
    const columns = Object.keys(cells);
    const missing = [...map.keys(), ...ignore].find((column) => !columns.includes(column));
    if (missing !== undefined) throw new CommandError(`${path}: there is no column "${missing}".`, EXIT.usage);
    const fields = columns.filter((column) => !ignore.includes(column)).map((column) => map.get(column) ?? column);
    const repeated = [...fields, ...set.keys()].find((field, index, all) => all.indexOf(field) !== index);
    if (repeated !== undefined) throw new CommandError(`${path}: two columns are ${repeated}.`, EXIT.usage);
    if (fields.includes("shortID")) return;
    const nearest = nearestName("shortID", columns);
    const advice = nearest === undefined ? "Use --map COLUMN=shortID." : `Use --map "${nearest}=shortID".`;
    throw new CommandError(`${path}: no column is shortID, the SKU. ${advice}`, EXIT.usage);
  }
}

function parseLine(path: string, line: number, text: string): object {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    if (isObject(value) && !Array.isArray(value)) return value;
    throw new TypeError("it must be an object");
  } catch (error) {
    throw new CommandError(`${path}: line ${line} is not a JSON object: ${messageOf(error)}.`, EXIT.usage);
  }
}
