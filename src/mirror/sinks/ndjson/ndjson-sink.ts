import * as z from "zod";
import { checkConfiguration } from "../../check-options.js";
import type { MirrorBatch, MirrorSink } from "../../sink.js";
import type { MirrorRecord, MirrorResource } from "../../tables.js";
import { otherMirrorError, throwNotOpen } from "../sink-errors.js";
import { NdjsonDirectory } from "./ndjson-directory.js";

/** Where {@link ndjsonSink} keeps a copy. */
export interface NdjsonSinkOptions {
  /** The directory of the files; made where there is none. */
  directory: string;
}

/** How many keys are returned at once. */
const KEY_BATCH_SIZE = 10_000;

const MIN_JOURNAL_BYTES = 8 * 1024 * 1024;

/**
 * A copy in files: `items.ndjson`, `lots.ndjson` and `stock_levels.ndjson`, with one record of JSON a line, in no order. Each is
 * whole at any time: it is replaced as soon as all of the next one is on the disk. That happens when the sink is closed and
 * opened, and whenever what was committed since is more than the files have, at least 8 MiB. Until then it is in
 * `stocklot.journal`, with the state of the mirror; the four files belong together.
 *
 * All records are held in memory while the sink is open, as text: as much as the files have, twice that for records whose text
 * is not Latin, and about 100 bytes a record besides. For more than a million lots take a database.
 *
 * One process may write. Another is noticed at the next commit, and refused, unless both write at the very same moment. A power
 * failure may undo the last commits, each as a whole.
 *
 * `open()` rejects with a `ConfigurationError` where the directory has files of these names that no mirror made, and where one
 * of the four is missing.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export function ndjsonSink(options: NdjsonSinkOptions): MirrorSink {
  return ndjsonSinkWith(options, MIN_JOURNAL_BYTES);
}

export function ndjsonSinkWith(options: NdjsonSinkOptions, minJournalBytes: number): MirrorSink {
  checkConfiguration("ndjsonSink", z.strictObject({ directory: z.string().min(1) }), options);
  return new NdjsonSink(options.directory, minJournalBytes);
}

class NdjsonSink implements MirrorSink {
  #copy: NdjsonDirectory | undefined;

  constructor(
    readonly directory: string,
    readonly minJournalBytes: number,
  ) {}

  async open(): Promise<string | undefined> {
    if (this.#copy?.isCurrent()) await this.#copy.compact();
    else this.#copy = await this.#load();
    return this.#opened.state;
  }

  async *keys(resource: MirrorResource): AsyncGenerator<readonly number[]> {
    const keys = this.#opened.records[resource].keys();
    for (let start = 0; start < keys.length; start += KEY_BATCH_SIZE) yield keys.slice(start, start + KEY_BATCH_SIZE);
  }

  async read(resource: MirrorResource, keys: readonly number[]): Promise<MirrorRecord[]> {
    return this.#opened.records[resource].read(keys);
  }

  async commit(batch: MirrorBatch): Promise<void> {
    // Somebody may have opened the copy without writing to it; only the state tells.
    if (!this.#opened.isCurrent()) this.#copy = await this.#load();
    const copy = this.#opened;
    if (copy.state !== batch.previousState || !copy.isCurrent()) throw otherMirrorError(this.directory);
    copy.commit(batch);
    if (!copy.isCurrent()) await this.#checkWon(batch);
    if (this.#opened.needsCompaction) await this.#opened.compact();
  }

  /** When two have appended at the same moment, the first counts. */
  async #checkWon({ state }: MirrorBatch): Promise<void> {
    this.#copy = await this.#load();
    if (this.#copy.state !== state) throw otherMirrorError(this.directory);
  }

  #load(): Promise<NdjsonDirectory> {
    return NdjsonDirectory.load(this.directory, this.minJournalBytes);
  }

  async close(): Promise<void> {
    const copy = this.#copy;
    this.#copy = undefined;
    await copy?.compact();
  }

  get #opened(): NdjsonDirectory {
    return this.#copy ?? throwNotOpen("ndjsonSink");
  }
}
