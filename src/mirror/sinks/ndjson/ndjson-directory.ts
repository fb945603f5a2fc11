import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ConfigurationError } from "../../../errors/index.js";
import type { MirrorBatch } from "../../sink.js";
import { type MirrorResource, mapResources, RESOURCES, tableOf } from "../../tables.js";
import { otherMirrorError } from "../sink-errors.js";
import {
  append,
  commitLine,
  type FileStamp,
  headerLine,
  isSameStamp,
  type JournalEntry,
  parseEntry,
  stampOf,
} from "./journal.js";
import { linesOf, removeTemporaryFiles, replaceFiles } from "./line-files.js";
import { RecordLines } from "./record-lines.js";

const JOURNAL = "stocklot.journal";

/** How often the copy is read while somebody else writes to it. */
const ATTEMPTS = 5;

const fileOf = (resource: MirrorResource) => `${tableOf(resource).name}.ndjson`;

/**
 * A copy in a directory, and in memory. A commit is a line at the end of the journal. From time to time files are put in the
 * place of the old ones that have what the journal says, and then a journal that says only the state. A journal that is
 * applied to files which have it already changes nothing, so it does not matter where that was interrupted.
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
  /** Whether the journal says more than the state, so that the files lack something. */
  #filesAreStale = false;
  /** Whether the journal ends in something that was not written to its end. */
  #endsIncomplete = false;
  #fileBytes = 0n;

  private constructor(directory: string, minJournalBytes: number) {
    this.#minJournalBytes = minJournalBytes;
    this.#directory = directory;
    this.#journal = join(directory, JOURNAL);
  }

  /**
   * Reads what is there, or begins, and brings the files up to date.
   *
   * @param minJournalBytes How long a journal may become in any case, in bytes, before the files are written anew.
   * @throws ConfigurationError when there are files of these names that are not the mirror's, or another mirror writes.
   */
  static async load(directory: string, minJournalBytes: number): Promise<NdjsonDirectory> {
    await mkdir(directory, { recursive: true });
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      await removeTemporaryFiles(directory);
      const copy = new NdjsonDirectory(directory, minJournalBytes);
      await copy.#begin();
      await copy.#read();
      await copy.compact();
      // Files and journal belong together, and nothing can be appended to a line that has no end.
      if (!copy.#endsIncomplete && copy.isCurrent()) return copy;
    }
    throw otherMirrorError(directory);
  }

  get state(): string | undefined {
    return this.#state;
  }

  /** Whether nobody else has written since. */
  isCurrent(): boolean {
    return isSameStamp(stampOf(this.#journal), this.#journalStamp);
  }

  /** Appends to the journal. Where it throws, nothing is written. */
  commit(batch: MirrorBatch): void {
    const records = this.records[batch.resource];
    const upsert = batch.upsert.map((record) => records.lineOf(record));
    this.#journalStamp = append(this.#journal, `${commitLine({ ...batch, upsert })}\n`, this.#journalStamp);
    batch.upsert.forEach((record, index) => void records.put(record, upsert[index] ?? ""));
    for (const key of batch.remove) records.drop(key);
    this.#state = batch.state;
    this.#filesAreStale = true;
  }

  /** Whether the journal outgrows the files. */
  get needsCompaction(): boolean {
    const bytes = this.#journalStamp?.bytes ?? 0n;
    return bytes > this.#minJournalBytes && bytes > this.#fileBytes;
  }

  /** Brings the files up to date. Not when another mirror has written; `isCurrent()` tells. */
  async compact(): Promise<void> {
    if (!this.#filesAreStale) return;
    const changed = RESOURCES.filter((resource) => this.records[resource].isChanged);
    const replacements = changed.map((resource) => ({ name: fileOf(resource), lines: this.records[resource].lines() }));
    const journal = { name: JOURNAL, lines: [headerLine(this.#state)] };
    // What another mirror has put into the journal meanwhile must not be lost with it.
    if (!(await replaceFiles(this.#directory, [...replacements, journal], () => this.isCurrent()))) return;
    for (const resource of changed) this.records[resource].isChanged = false;
    this.#filesAreStale = false;
    this.#endsIncomplete = false;
    this.#refreshStamps();
  }

  async #begin(): Promise<void> {
    this.#refreshStamps();
    if (this.#journalStamp) return;
    const foreign = RESOURCES.map(fileOf).find((name) => existsSync(join(this.#directory, name)));
    if (foreign)
      throw new ConfigurationError(`ndjsonSink: ${this.#directory} has a file ${foreign} that no mirror made`);
    const journal = { name: JOURNAL, lines: [headerLine(undefined)] };
    await replaceFiles(this.#directory, [journal], () => stampOf(this.#journal) === undefined);
    this.#refreshStamps();
  }

  async #read(): Promise<void> {
    for (const resource of RESOURCES) {
      const path = join(this.#directory, fileOf(resource));
      const records = this.records[resource];
      for await (const line of linesOf(path)) records.load(line);
      // Readers find all files from the beginning.
      records.isChanged = !existsSync(path);
    }
    let bytes = 0;
    for await (const line of linesOf(this.#journal)) {
      const entry = parseEntry(line);
      if (!entry) break;
      if (bytes === 0) this.#checkHead(entry);
      this.#apply(entry);
      bytes += Buffer.byteLength(line) + 1;
    }
    // It was on the disk before it got its name.
    if (bytes === 0) throw this.#damaged(JOURNAL);
    this.#endsIncomplete = BigInt(bytes) !== this.#journalStamp?.bytes;
    this.#filesAreStale ||= this.#endsIncomplete || RESOURCES.some((resource) => this.records[resource].isChanged);
  }

  /** What the state says is in the copy must be there. */
  #checkHead(head: JournalEntry): void {
    const missing = RESOURCES.find((resource) => this.records[resource].isChanged);
    if (missing && head.state !== undefined) throw this.#damaged(fileOf(missing));
  }

  #damaged(name: string): ConfigurationError {
    const path = join(this.#directory, name);
    return new ConfigurationError(`ndjsonSink: ${path} is damaged or missing; remove the directory to begin anew`);
  }

  #apply(entry: JournalEntry): void {
    if (!("resource" in entry)) {
      this.#state = entry.state;
      return;
    }
    this.#filesAreStale = true;
    // Of two that were appended at the same moment the first counts.
    if (entry.previousState !== this.#state) return;
    const records = this.records[entry.resource];
    for (const record of entry.upsert) records.put(record, records.lineOf(record));
    for (const key of entry.remove) records.drop(key);
    this.#state = entry.state;
  }

  #refreshStamps(): void {
    this.#journalStamp = stampOf(this.#journal);
    const looks = RESOURCES.map((resource) => stampOf(join(this.#directory, fileOf(resource))));
    this.#fileBytes = looks.reduce((sum, look) => sum + (look?.bytes ?? 0n), 0n);
  }
}
