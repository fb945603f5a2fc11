import type { MirrorRecord, Table } from "../../tables.js";
import { exactJson } from "../exact-json.js";

/** The records of one resource in memory: a line of JSON each, by key. */
export class RecordLines {
  readonly #key: string;
  readonly #nulls: Readonly<Record<string, null>>;
  readonly #lines = new Map<number, string>();
  /** True if the file is not up to date. */
  isChanged = false;

  constructor({ key, columns }: Table) {
    this.#key = key;
    this.#nulls = Object.fromEntries(Object.keys(columns).map((name) => [name, null]));
  }

  /** The line of a record. All documented fields come first. */
  lineOf(record: object): string {
    return exactJson({ ...this.#nulls, ...record });
  }

  /** Adds a line of the file. */
  load(line: string): void {
    this.#lines.set(this.#keyOf(JSON.parse(line)), line);
  }

  set(record: object, line: string): void {
    this.#lines.set(this.#keyOf(record), line);
    this.isChanged = true;
  }

  delete(key: number): void {
    if (this.#lines.delete(key)) this.isChanged = true;
  }

  read(keys: readonly number[]): MirrorRecord[] {
    return keys.flatMap((key) => this.#lines.get(key) ?? []).map((line) => JSON.parse(line));
  }

  keys(): number[] {
    return [...this.#lines.keys()];
  }

  lines(): Iterable<string> {
    return this.#lines.values();
  }

  #keyOf(record: object): number {
    return Number(Reflect.get(record, this.#key));
  }
}
