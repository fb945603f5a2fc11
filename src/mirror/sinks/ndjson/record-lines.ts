import { keyOf, type MirrorKey, type MirrorRecord, type Table } from "../../tables.js";
import { stringifyExactly } from "../exact-json.js";

/** The records of one resource in memory: a line of JSON each, by key. */
export class RecordLines {
  readonly #table: Table;
  readonly #nulls: Readonly<Record<string, null>>;
  readonly #lines = new Map<MirrorKey, string>();
  /** True if the file is not up to date. */
  isChanged = false;
  /** True if there is a file, or will be after the next compaction. */
  hasFile = false;

  constructor(table: Table) {
    this.#table = table;
    this.#nulls = Object.fromEntries(Object.keys(table.columns).map((name) => [name, null]));
  }

  /** The line of a record. All documented fields come first. */
  lineOf(record: object): string {
    return stringifyExactly({ ...this.#nulls, ...record });
  }

  /** Adds a line of the file. */
  load(line: string): void {
    this.hasFile = true;
    this.#lines.set(keyOf(this.#table, JSON.parse(line)), line);
  }

  set(record: object, line: string): void {
    this.#lines.set(keyOf(this.#table, record), line);
    this.isChanged = true;
    this.hasFile = true;
  }

  delete(key: MirrorKey): void {
    if (this.#lines.delete(key)) this.isChanged = true;
  }

  read(keys: readonly MirrorKey[]): MirrorRecord[] {
    return keys.flatMap((key) => this.#lines.get(key) ?? []).map((line) => JSON.parse(line));
  }

  keys(): MirrorKey[] {
    return [...this.#lines.keys()];
  }

  lines(): Iterable<string> {
    return this.#lines.values();
  }
}
