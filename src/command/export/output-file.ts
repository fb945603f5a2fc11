import { createHash } from "node:crypto";
import { type FileHandle, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { CommandError } from "../exit.js";

/** What an interrupted export needs to continue. */
interface ResumeState {
  /** Of the arguments: another export must not be continued. */
  fingerprint: string;
  checkpoint: unknown;
  records: number;
  bytes: number;
}

/**
 * A file that appears under its name only when it is complete. Until then `<name>.part` grows, and `<name>.resume.json` says
 * how far it got.
 */
export class OutputFile {
  readonly #path: string;
  readonly #fingerprint: string;
  readonly #file: FileHandle;
  #bytes: number;
  /** Where to continue; undefined at the start. */
  readonly checkpoint: unknown;
  readonly records: number;

  private constructor(path: string, file: FileHandle, { fingerprint, checkpoint, records, bytes }: ResumeState) {
    this.#path = path;
    this.#file = file;
    this.#fingerprint = fingerprint;
    this.#bytes = bytes;
    this.checkpoint = checkpoint;
    this.records = records;
  }

  /** @param description of what is exported, to recognise an export that can be continued */
  static async open(path: string, description: unknown, resume: boolean): Promise<OutputFile> {
    const fingerprint = createHash("sha256").update(JSON.stringify(description)).digest("hex");
    const start: ResumeState = { fingerprint, checkpoint: undefined, records: 0, bytes: 0 };
    const state = (resume && (await readState(path))) || start;
    if (state.fingerprint !== fingerprint)
      throw new CommandError(`${path}.part is an export with other arguments. Remove it, or run without --resume.`);
    const file = await open(`${path}.part`, state.bytes > 0 ? "r+" : "w");
    // What was written after the checkpoint is written again.
    await file.truncate(state.bytes);
    return new OutputFile(path, file, state);
  }

  async append(text: string): Promise<void> {
    const data = Buffer.from(text);
    await this.#file.write(data, 0, data.length, this.#bytes);
    this.#bytes += data.length;
  }

  /** All that was appended so far belongs to this checkpoint. */
  async saveCheckpoint(checkpoint: unknown, records: number): Promise<void> {
    if (checkpoint === null) return;
    await this.#file.datasync();
    const state: ResumeState = { fingerprint: this.#fingerprint, checkpoint, records, bytes: this.#bytes };
    await writeFile(`${stateFile(this.#path)}.new`, JSON.stringify(state));
    await rename(`${stateFile(this.#path)}.new`, stateFile(this.#path));
  }

  /** Renames the complete file to its final name. */
  async complete(): Promise<void> {
    await this.#file.datasync();
    await this.#file.close();
    await rename(`${this.#path}.part`, this.#path);
    await rm(stateFile(this.#path), { force: true });
  }

  async close(): Promise<void> {
    await this.#file.close().catch(() => {});
  }
}

const stateFile = (path: string) => `${path}.resume.json`;

async function readState(path: string): Promise<ResumeState | undefined> {
  const text = await readFile(stateFile(path), "utf8").catch(() => undefined);
  const size = await open(`${path}.part`, "r").then(
    async (file) => {
      const { size } = await file.stat();
      await file.close();
      return size;
    },
    () => 0,
  );
  if (text === undefined) return undefined;
  const state: ResumeState = JSON.parse(text);
  return state.bytes <= size ? state : undefined;
}
