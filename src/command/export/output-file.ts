import type { Stats } from "node:fs";
import { type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { CommandError, EXIT, failureMessage } from "../exit.js";
import { assertFolderExists } from "../files.js";

/** A file that appears under its name only when it is complete. Until then it is `<name>.<process id>.part`. */
export class OutputFile {
  readonly #target: Target;
  readonly #file: FileHandle;

  private constructor(target: Target, file: FileHandle) {
    this.#target = target;
    this.#file = file;
  }

  static async open(name: string): Promise<OutputFile> {
    const target = await findTarget(name);
    const file = await open(partFile(target.path), "w", target.mode);
    return new OutputFile(target, file);
  }

  async append(text: string): Promise<void> {
    try {
      await this.#file.appendFile(text);
    } catch (error) {
      throw new CommandError(`${partFile(this.#target.path)}: ${failureMessage(error)}`, EXIT.failure);
    }
  }

  /** Renames the complete file to its final name. */
  async complete(): Promise<void> {
    const { path, mode } = this.#target;
    await this.#file.datasync();
    // Not all file systems allow permissions to be changed.
    if (mode !== undefined && mode !== permissionsOf(await this.#file.stat())) await this.#file.chmod(mode);
    await this.#file.close();
    await rename(partFile(path), path);
  }

  /** Removes the part that was written. */
  async discard(): Promise<void> {
    await this.#file.close().catch(() => {});
    await rm(partFile(this.#target.path), { force: true });
  }
}

const partFile = (path: string) => `${path}.${process.pid}.part`;

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
