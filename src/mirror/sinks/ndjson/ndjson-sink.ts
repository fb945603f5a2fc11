import * as z from "zod";
import { checkConfiguration } from "../../../core/request/check-options.js";
import { withFileFailures } from "../../../storage/file-failure.js";
import type { MirrorBatch, MirrorSink } from "../../sink.js";
import type { MirrorKey, MirrorRecord, MirrorResource } from "../../tables.js";
import { otherMirrorError, throwSinkNotOpen } from "../sink-errors.js";
import { NdjsonDirectory } from "./ndjson-directory.js";

/** Options of {@link ndjsonSink}. */
export interface NdjsonSinkOptions {
  /** The directory of the files; created if there is none. */
  directory: string;
}

/** Keys per batch. */
const KEY_BATCH_SIZE = 10_000;

/** The journal is not compacted before it has this many bytes. */
const MIN_JOURNAL_BYTES = 8 * 1024 * 1024;

/**
 * A copy in files: `items.ndjson`, `lots.ndjson` and `stock_levels.ndjson`, with one JSON record per line, in no order. Each
 * file is complete at any time: it is replaced atomically, with the same permissions. That happens when the sink is opened and
 * closed, and whenever the commits since then are larger than the files, at least 8 MiB. Until then they are in
 * `stocklot.journal`, with the state of the mirror. The four files belong together.
 *
 * All records are in memory while the sink is open: the size of the files, twice that if they contain characters that
 * are not Latin, and about 100 bytes per record. For more than a million lots, use a database.
 *
 * Only one process may write. The next commit of a second one is rejected, unless both write within the same
 * microseconds. A power failure may undo the last commits, each as a whole.
 *
 * `open()` rejects with a `ConfigurationError` if the directory has files of these names that no mirror created, or if
 * one of the four is missing. Every method rejects with a `StorageError` if a file cannot be read or written.
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
  #directory: NdjsonDirectory | undefined;

  constructor(
    readonly path: string,
    readonly minJournalBytes: number,
  ) {}

  async open(): Promise<string | undefined> {
    await this.#withFailures(async () => {
      if (this.#directory?.isCurrent()) await this.#directory.compact();
      else this.#directory = await this.#load();
    });
    return this.#opened.state;
  }

  async *keys(resource: MirrorResource): AsyncGenerator<readonly MirrorKey[]> {
    const keys = this.#opened.records[resource].keys();
    for (let start = 0; start < keys.length; start += KEY_BATCH_SIZE) yield keys.slice(start, start + KEY_BATCH_SIZE);
  }

  async read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    return this.#opened.records[resource].read(keys);
  }

  async commit(batch: MirrorBatch): Promise<void> {
    await this.#withFailures(() => this.#commit(batch));
  }

  async #commit(batch: MirrorBatch): Promise<void> {
    // Another process may have opened the copy and compacted it. That does not matter if the state is the same.
    if (!this.#opened.isCurrent()) this.#directory = await this.#load();
    const directory = this.#opened;
    if (directory.state !== batch.previousState || !directory.isCurrent()) throw otherMirrorError(this.path);
    directory.commit(batch);
    if (!directory.isCurrent()) await this.#checkFirst(batch);
    if (this.#opened.needsCompaction) await this.#opened.compact();
  }

  /** Of two commits that were appended at the same moment, the first one counts. */
  async #checkFirst({ state }: MirrorBatch): Promise<void> {
    this.#directory = await this.#load();
    if (this.#directory.state !== state) throw otherMirrorError(this.path);
  }

  #load(): Promise<NdjsonDirectory> {
    return NdjsonDirectory.load(this.path, this.minJournalBytes);
  }

  async readState(): Promise<string | undefined> {
    return this.#directory?.state ?? (await this.#withFailures(() => NdjsonDirectory.readState(this.path)));
  }

  async close(): Promise<void> {
    const directory = this.#directory;
    this.#directory = undefined;
    await this.#withFailures(async () => directory?.compact());
  }

  #withFailures<T>(action: () => Promise<T>): Promise<T> {
    return withFileFailures("ndjson", this.path, action);
  }

  get #opened(): NdjsonDirectory {
    return this.#directory ?? throwSinkNotOpen("ndjsonSink");
  }
}
