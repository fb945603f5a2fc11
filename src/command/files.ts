import { readFileSync, realpathSync, statSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { InvalidArgumentError } from "commander";
import { CommandError, EXIT, failureMessage } from "./exit.js";

/**
 * Returns the contents of a file that an argument names.
 *
 * @param option The beginning of messages, if an option names the file.
 */
export function readInputFile(path: string, option = ""): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CommandError(`${option}${failureMessage(error, path)}`);
  }
}

/** Parses the name of a file that is to be written. */
export function fileOption(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It must be the name of a file.");
}

/**
 * Whether an existing file may be replaced. Without `force`, it may not be: people may have filled it in, or need it
 * later.
 */
export interface Replacing {
  force?: true | undefined;
}

/** @throws CommandError if a file of that name exists, unless it may be replaced. */
export function assertNotReplaced(option: string, name: string, { force }: Replacing): void {
  if (force || !statSync(name, { throwIfNoEntry: false })) return;
  throw new CommandError(
    `${option}: ${name} exists already, and would be lost. Choose another name, or replace it with --force.`,
  );
}

/**
 * Returns the file behind the name, which may be a symbolic link, and the permissions of the file if it exists. Also
 * called before the work whose result will be written, so that a wrong name fails early.
 *
 * @throws CommandError if a file cannot have that name.
 */
export function outputTarget(option: string, name: string): { path: string; mode: number | undefined } {
  const existing = statSync(name, { throwIfNoEntry: false });
  const folder = dirname(name);
  if (!existing && !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandError(`${option}: the folder ${folder} does not exist. Create it, or choose another one.`);
  if (existing === undefined) return { path: name, mode: undefined };
  if (existing.isFile()) return { path: realpathSync(name), mode: existing.mode & 0o777 };
  // Renaming would turn a device or a pipe into a file.
  const advice = existing.isDirectory() ? "Add the name of a file." : `Write to standard output, with > ${name}.`;
  throw new CommandError(`${option}: ${name} is not a regular file. ${advice}`);
}

/**
 * Writes a file that appears under its name, or replaces the present one, only when it is complete. Until then it is
 * `<name>.<process id>.part`.
 *
 * @param work writes the contents
 */
export async function writeFile<T>(
  option: string,
  name: string,
  work: (write: (text: string) => Promise<void>) => Promise<T>,
  replacing: Replacing = { force: true },
): Promise<T> {
  assertNotReplaced(option, name, replacing);
  const { path, mode } = outputTarget(option, name);
  const part = `${path}.${process.pid}.part`;
  const file = await open(part, "w", mode);
  try {
    const result = await work((text) =>
      file.appendFile(text).catch((error: unknown) => {
        throw new CommandError(`${part}: ${failureMessage(error)}`, EXIT.failure);
      }),
    );
    await file.datasync();
    // Some file systems do not allow permissions to be changed.
    if (mode !== undefined && mode !== ((await file.stat()).mode & 0o777)) await file.chmod(mode);
    await file.close();
    assertNotReplaced(option, name, replacing);
    await rename(part, path);
    return result;
  } catch (error) {
    await file.close().catch(() => {});
    await rm(part, { force: true });
    throw error;
  }
}
