import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { type FileHandle, open, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import * as z from "zod";
import { parseJsonOrUndefined } from "../../client/for-add-ons.js";
import { CommandError, EXIT, failureMessage } from "../exit.js";
import { assertFolderExists } from "../files.js";
import { acquireLock } from "./file-lock.js";

/** What an interrupted export needs to continue. */
const resumeStateSchema = z.object({
  /** Of the service, the client ID and the arguments: another export must not be continued. */
  fingerprint: z.string(),
  checkpoint: z.unknown(),
  records: z.int(),
  bytes: z.int(),
});
type ResumeState = z.infer<typeof resumeStateSchema>;

/**
 * A file that appears under its name only when it is complete. Until then `<name>.part` grows, and `<name>.resume.json` says
 * how far it got. A lock file beside them keeps other exports away.
 */
export class OutputFile {
  readonly #target: Target;
  readonly #file: FileHandle;
  readonly #unlock: () => void;
  #bytes: number;
  /** Where an export with `resume` would continue; without a checkpoint at the start. */
  saved: Readonly<ResumeState>;

  private constructor(target: Target, file: FileHandle, unlock: () => void, saved: ResumeState) {
    this.#target = target;
    this.#file = file;
    this.#unlock = unlock;
    this.#bytes = saved.bytes;
    this.saved = saved;
  }

  /** @param description of what is exported, to recognise an export that can be continued */
  static async open(name: string, description: unknown, resume: boolean): Promise<OutputFile> {
    const target = await findTarget(name);
    const unlock = acquireLock(`${partFile(target.path)}.lock`, target.path);
    try {
      return await OutputFile.#openLocked(target, unlock, description, resume);
    } catch (error) {
      unlock();
      throw error;
    }
  }

  static async #openLocked(
    target: Target,
    unlock: () => void,
    description: unknown,
    resume: boolean,
  ): Promise<OutputFile> {
    const { path, mode } = target;
    const fingerprint = createHash("sha256").update(JSON.stringify(description)).digest("hex");
    const start: ResumeState = { fingerprint, checkpoint: undefined, records: 0, bytes: 0 };
    const state = (resume && (await readState(path))) || start;
    if (state.fingerprint !== fingerprint)
      throw new CommandError(`${path}.part is an export with other arguments. Remove it, or run without --resume.`);
    // It must not be continued with the part of this export.
    if (state === start) await rm(stateFile(path), { force: true });
    const file = await open(partFile(path), state.bytes > 0 ? "r+" : "w", partMode(mode));
    await setPermissions(file, partMode(mode));
    // What was written after the checkpoint is written again.
    await file.truncate(state.bytes);
    return new OutputFile(target, file, unlock, state);
  }

  /** True if an export with `resume` would continue this one. */
  get canContinue(): boolean {
    return this.saved.checkpoint !== undefined;
  }

  async append(text: string): Promise<void> {
    const data = Buffer.from(text);
    try {
      // On a full disk a part is written before a write fails.
      for (let offset = 0; offset < data.length; ) {
        const { bytesWritten } = await this.#file.write(data, offset, data.length - offset, this.#bytes);
        offset += bytesWritten;
        this.#bytes += bytesWritten;
      }
    } catch (error) {
      throw new CommandError(`${partFile(this.#target.path)}: ${failureMessage(error)}`, EXIT.failure);
    }
  }

  /** All that was appended so far belongs to this checkpoint. */
  async saveCheckpoint(checkpoint: unknown, records: number): Promise<void> {
    if (checkpoint === null) return;
    await this.#file.datasync();
    const { path, mode } = this.#target;
    const state: ResumeState = { ...this.saved, checkpoint, records, bytes: this.#bytes };
    await writeFile(`${stateFile(path)}.new`, JSON.stringify(state), { mode: partMode(mode) });
    await rename(`${stateFile(path)}.new`, stateFile(path));
    this.saved = state;
  }

  /** Renames the complete file to its final name. */
  async complete(): Promise<void> {
    const { path, mode } = this.#target;
    await this.#file.datasync();
    await setPermissions(this.#file, mode);
    await this.#file.close();
    await rename(partFile(path), path);
    await rm(stateFile(path), { force: true });
  }

  /** Removes the part that was written. Only before `close()`: afterwards another export may write it. */
  async discard(): Promise<void> {
    await this.#file.close().catch(() => {});
    await rm(partFile(this.#target.path), { force: true });
    await rm(stateFile(this.#target.path), { force: true });
  }

  async close(): Promise<void> {
    await this.#file.close().catch(() => {});
    this.#unlock();
  }
}

const partFile = (path: string) => `${path}.part`;
const stateFile = (path: string) => `${path}.resume.json`;

/** The permissions of what is written until the file is complete: `--resume` must be able to read and write it. */
const partMode = (mode: number | undefined) => (mode === undefined ? undefined : mode | 0o600);

async function setPermissions(file: FileHandle, mode: number | undefined): Promise<void> {
  // Not all file systems allow permissions to be changed.
  if (mode !== undefined && mode !== permissionsOf(await file.stat())) await file.chmod(mode);
}

const permissionsOf = ({ mode }: Stats) => mode & 0o777;

interface Target {
  path: string;
  mode: number | undefined;
}

/** The file itself if the name is a symbolic link. Renaming would turn a device or a pipe into a file. */
async function findTarget(name: string): Promise<Target> {
  const path = await realpath(name).catch(() => name);
  const existing = await stat(path).catch(() => undefined);
  if (!existing) assertFolderExists("--output", path);
  if (existing === undefined || existing.isFile()) return { path, mode: existing && permissionsOf(existing) };
  const advice = existing.isDirectory() ? "Add the name of a file." : `Write to standard output, with > ${name}.`;
  throw new CommandError(`--output: ${name} is not a regular file. ${advice}`);
}

async function readState(path: string): Promise<ResumeState | undefined> {
  const text = await readFile(stateFile(path), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const { data } = resumeStateSchema.safeParse(parseJsonOrUndefined(text));
  if (!data) throw new CommandError(`${stateFile(path)} is damaged. Remove it, or run without --resume.`, EXIT.failure);
  const size = await stat(partFile(path)).then(
    (part) => part.size,
    () => 0,
  );
  return data.bytes <= size ? data : undefined;
}
