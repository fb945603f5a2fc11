import type * as z from "zod";
import { nearestName } from "../../errors/unknown-name.js";
import { WRITES } from "../../service/operations.js";
import { CommandError, EXIT } from "../exit.js";
import { cellValue } from "../import/entries.js";
import { fileRows, formatOf, type Row } from "../rows.js";

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
    const format = formatOf(path);
    for await (const row of fileRows({ path, copy: path, delimiter: this.#source.delimiter, format })) {
      const { line, cells, problem } = row;
      if (problem !== undefined) throw new CommandError(`${path}: line ${line}: ${problem}.`, EXIT.usage);
      if (format === "csv" && this.lines.length === 0) this.#assertColumns(row);
      this.lines.push(line);
      const named = this.#named(cells);
      yield format === "csv" ? this.#typed(named) : named;
    }
  }

  /** Cells as the types of their fields; empty ones are missing. */
  #typed(named: object): object {
    const shape: Readonly<Record<string, z.ZodType>> = WRITES.create.input().shape;
    const cells = Object.entries(named).filter(([, cell]) => cell !== "");
    return Object.fromEntries(
      cells.map(([field, cell]) => [field, typeof cell === "string" ? cellValue(cell, shape[field]) : cell]),
    );
  }

  /** The fields of a row by their own names, with those that are set. */
  #named(row: object): Record<string, unknown> {
    const { map, ignore, set } = this.#source;
    const named = Object.entries(row)
      .filter(([column]) => !ignore.includes(column))
      .map(([column, cell]) => [map.get(column) ?? column, cell]);
    return { ...Object.fromEntries(named), ...Object.fromEntries(set) };
  }

  #assertColumns({ cells }: Row): void {
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
