import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ConfigurationError } from "../../../errors/index.js";
import type { MirrorBatch } from "../../sink.js";
import { type MirrorResource, mapResources, RESOURCES, tableOf } from "../../tables.js";
import { otherMirrorError } from "../sink-errors.js";
import {
  appendIfUnchanged,
  type FileStamp,
  fileStampOf,
  isSameFileStamp,
  type JournalEntry,
  journalCommitLine,
  journalHeaderLine,
  parseJournalEntry,
} from "./journal.js";
import { readLines, removeTemporaryFiles, replaceFiles } from "./line-files.js";
import { RecordLines } from "./record-lines.js";

const JOURNAL_FILE_NAME = "stocklot.journal";

/** The files of a copy whose journal does not name them, as version 0.1 wrote it. */
const REQUIRED_FILE_NAMES: readonly string[] = ["items.ndjson", "lots.ndjson", "stock_levels.ndjson"];

/** Attempts to read the copy while another process writes to it. */
const MAX_LOAD_ATTEMPTS = 5;

const recordFileNameOf = (resource: MirrorResource) => `${tableOf(resource).name}.ndjson`;

/** Files that every copy has. Others exist once they have had records. */
const isRecordFileRequired = (resource: MirrorResource) => REQUIRED_FILE_NAMES.includes(recordFileNameOf(resource));

/**
 * A copy in a directory, and in memory. A commit appends one line to the journal. Compaction replaces the record files, and
 * then the journal by one that has only the state. Applying a journal twice changes nothing, so a compaction may be
 * interrupted anywhere.
 *
 * Other processes are detected by the stamp of the journal, which each commit compares before and after.
 */
export class NdjsonDirectory {
  readonly records: Readonly<Record<MirrorResource, RecordLines>> = mapResources(
    (resource) => new RecordLines(tableOf(resource)),
  );
  readonly #directory: string;
  readonly #journal: string;
  readonly #minJournalBytes: number;
  #journalStamp: FileStamp | undefined;
  #state: string | undefined;
  /** True if the journal has commits that the files lack. */
  #filesAreStale = false;
  /** True if the last line of the journal is not complete. */
  #endsIncomplete = false;
  #fileBytes = 0n;

  private constructor(directory: string, minJournalBytes: number) {
    this.#minJournalBytes = minJournalBytes;
    this.#directory = directory;
    this.#journal = join(directory, JOURNAL_FILE_NAME);
  }

  /**
   * Reads the copy, or creates one, and compacts it.
   *
   * @param minJournalBytes A shorter journal is not compacted, in bytes.
   * @throws ConfigurationError when no mirror created the files, or another mirror writes.
   */
  static async load(directory: string, minJournalBytes: number): Promise<NdjsonDirectory> {
    await mkdir(directory, { recursive: true });
    for (let attempt = 1; attempt <= MAX_LOAD_ATTEMPTS; attempt += 1) {
      await removeTemporaryFiles(directory);
      const loaded = new NdjsonDirectory(directory, minJournalBytes);
      await loaded.#createIfMissing();
      await loaded.#load();
      await loaded.compact();
      // The files must belong to the journal, and nothing can be appended to an incomplete line.
      if (!loaded.#endsIncomplete && loaded.isCurrent()) return loaded;
    }
    throw otherMirrorError(directory);
  }

  /** The saved state of a copy, also while another process writes; `undefined` if there is none. Writes nothing. */
  static async readState(directory: string): Promise<string | undefined> {
    let state: string | undefined;
    for await (const line of readLines(join(directory, JOURNAL_FILE_NAME))) {
      const entry = parseJournalEntry(line);
      if (!entry) break;
      if (!("resource" in entry) || entry.previousState === state) ({ state } = entry);
    }
    return state;
  }

  get state(): string | undefined {
    return this.#state;
  }

  /** True if no other process has written since. */
  isCurrent(): boolean {
    return isSameFileStamp(fileStampOf(this.#journal), this.#journalStamp);
  }

  /** Appends to the journal. If it throws, nothing was written. */
  commit({ status, ...batch }: MirrorBatch): void {
    const records = this.records[batch.resource];
    const upsert = batch.upsert.map((record) => records.lineOf(record));
    this.#journalStamp = appendIfUnchanged(
      this.#journal,
      `${journalCommitLine({ ...batch, upsert })}\n`,
      this.#journalStamp,
    );
    batch.upsert.forEach((record, index) => void records.set(record, upsert[index] ?? ""));
    for (const key of batch.remove) records.delete(key);
    this.#state = batch.state;
    this.#filesAreStale = true;
  }

  /** True if the journal has outgrown the files. */
  get needsCompaction(): boolean {
    const bytes = this.#journalStamp?.bytes ?? 0n;
    return bytes > this.#minJournalBytes && bytes > this.#fileBytes;
  }

  /** Writes all commits to the files. Does nothing if another mirror has written, see `isCurrent()`. */
  async compact(): Promise<void> {
    if (!this.#filesAreStale) return;
    const changed = RESOURCES.filter((resource) => this.records[resource].isChanged);
    const replacements = changed.map((resource) => ({
      name: recordFileNameOf(resource),
      lines: this.records[resource].lines(),
    }));
    const journal = {
      name: JOURNAL_FILE_NAME,
      lines: [journalHeaderLine({ state: this.#state, files: this.#files() })],
    };
    // Commits that another mirror has appended meanwhile must not be lost.
    if (!(await replaceFiles(this.#directory, [...replacements, journal], () => this.isCurrent()))) return;
    for (const resource of changed) this.records[resource].isChanged = false;
    this.#filesAreStale = false;
    this.#endsIncomplete = false;
    this.#refreshStamps();
  }

  async #createIfMissing(): Promise<void> {
    this.#refreshStamps();
    if (this.#journalStamp) return;
    const foreign = RESOURCES.map(recordFileNameOf).find((name) => existsSync(join(this.#directory, name)));
    if (foreign)
      throw new ConfigurationError(
        `ndjsonSink: the file ${foreign} in ${this.#directory} was not created by a mirror. Choose another directory.`,
      );
    const journal = { name: JOURNAL_FILE_NAME, lines: [journalHeaderLine({})] };
    await replaceFiles(this.#directory, [journal], () => fileStampOf(this.#journal) === undefined);
    this.#refreshStamps();
  }

  async #load(): Promise<void> {
    for (const resource of RESOURCES) {
      const path = join(this.#directory, recordFileNameOf(resource));
      const records = this.records[resource];
      for await (const line of readLines(path)) records.load(line);
      records.isChanged = isRecordFileRequired(resource) && !existsSync(path);
    }
    let bytes = 0;
    for await (const line of readLines(this.#journal)) {
      const entry = parseJournalEntry(line);
      if (!entry) break;
      if (bytes === 0) this.#checkHeader(entry);
      this.#apply(entry);
      bytes += Buffer.byteLength(line) + 1;
    }
    // The first line was on the disk before the journal got its name.
    if (bytes === 0) throw this.#damaged(JOURNAL_FILE_NAME);
    this.#endsIncomplete = BigInt(bytes) !== this.#journalStamp?.bytes;
    this.#filesAreStale ||= this.#endsIncomplete || RESOURCES.some((resource) => this.records[resource].isChanged);
  }

  /** A saved state requires all files that the copy had. */
  #checkHeader(header: JournalEntry): void {
    if (header.state === undefined || "resource" in header) return;
    const expected = header.files ?? REQUIRED_FILE_NAMES;
    const lost = expected.find((name) => !existsSync(join(this.#directory, name)));
    if (lost !== undefined) throw this.#damaged(lost);
  }

  #damaged(name: string): ConfigurationError {
    const path = join(this.#directory, name);
    return new ConfigurationError(
      `ndjsonSink: ${path} is damaged or missing. Remove the directory; the mirror then starts a new copy.`,
    );
  }

  #apply(entry: JournalEntry): void {
    if (!("resource" in entry)) {
      this.#state = entry.state;
      return;
    }
    this.#filesAreStale = true;
    // Of two commits that were appended at the same moment, the first one counts.
    if (entry.previousState !== this.#state) return;
    const records = this.records[entry.resource];
    for (const record of entry.upsert) records.set(record, records.lineOf(record));
    for (const key of entry.remove) records.delete(key);
    this.#state = entry.state;
  }

  /** Names of the files that a copy with this state has. */
  #files(): string[] {
    return RESOURCES.filter((resource) => isRecordFileRequired(resource) || this.records[resource].hasFile).map(
      recordFileNameOf,
    );
  }

  #refreshStamps(): void {
    this.#journalStamp = fileStampOf(this.#journal);
    const stamps = RESOURCES.map((resource) => fileStampOf(join(this.#directory, recordFileNameOf(resource))));
    this.#fileBytes = stamps.reduce((sum, stamp) => sum + (stamp?.bytes ?? 0n), 0n);
  }
}
