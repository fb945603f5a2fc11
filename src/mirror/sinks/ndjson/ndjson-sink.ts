import * as z from "zod";
import { checkConfiguration } from "../../check-options.js";
import type { MirrorBatch, MirrorSink } from "../../sink.js";
import type { MirrorRecord, MirrorResource } from "../../tables.js";
import { notOpen, otherMirror } from "../sink-errors.js";
import { NdjsonCopy } from "./ndjson-directory.js";

/** Where {@link ndjsonSink} keeps a copy. */
export interface NdjsonSinkOptions {
  /** The directory of the files; made where there is none. */
  directory: string;
}

/** How many keys are returned at once. */
const KEYS_AT_ONCE = 10_000;

const SMALL_JOURNAL = 8 * 1024 * 1024;

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
  return ndjsonSinkWith(options, SMALL_JOURNAL);
}

export function ndjsonSinkWith(options: NdjsonSinkOptions, smallJournal: number): MirrorSink {
  checkConfiguration("ndjsonSink", z.strictObject({ directory: z.string().min(1) }), options);
  return new NdjsonSink(options.directory, smallJournal);
}

class NdjsonSink implements MirrorSink {
  #copy: NdjsonCopy | undefined;

  constructor(
    readonly directory: string,
    readonly smallJournal: number,
  ) {}

  async open(): Promise<string | undefined> {
    if (this.#copy?.isCurrent()) await this.#copy.publish();
    else this.#copy = await this.#load();
    return this.#opened.state;
  }

  async *keys(resource: MirrorResource): AsyncGenerator<readonly number[]> {
    const keys = this.#opened.records[resource].keys();
    for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) yield keys.slice(start, start + KEYS_AT_ONCE);
  }

  async read(resource: MirrorResource, keys: readonly number[]): Promise<MirrorRecord[]> {
    return this.#opened.records[resource].read(keys);
  }

  async commit(batch: MirrorBatch): Promise<void> {
    // Somebody may have opened the copy without writing to it; only the state tells.
    if (!this.#opened.isCurrent()) this.#copy = await this.#load();
    const copy = this.#opened;
    if (copy.state !== batch.previousState || !copy.isCurrent()) throw otherMirror(this.directory);
    copy.commit(batch);
    if (!copy.isCurrent()) await this.#checkWon(batch);
    if (this.#opened.isLong) await this.#opened.publish();
  }

  /** When two have appended at the same moment, the first counts. */
  async #checkWon({ state }: MirrorBatch): Promise<void> {
    this.#copy = await this.#load();
    if (this.#copy.state !== state) throw otherMirror(this.directory);
  }

  #load(): Promise<NdjsonCopy> {
    return NdjsonCopy.load(this.directory, this.smallJournal);
  }

  async close(): Promise<void> {
    const copy = this.#copy;
    this.#copy = undefined;
    await copy?.publish();
  }

  get #opened(): NdjsonCopy {
    return this.#copy ?? notOpen("ndjsonSink");
  }
}
