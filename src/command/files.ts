import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { CommandError } from "./exit.js";

/** Before the work whose result is to be written. */
export function assertFolderExists(option: string, path: string): void {
  const folder = dirname(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new CommandError(`${option}: the folder ${folder} does not exist. Create it, or choose another one.`);
}

/** Writes a file as a whole, or leaves the one that is there: on a full disk, for instance. */
export function replaceFile(path: string, text: string): void {
  const present = statSync(path, { throwIfNoEntry: false });
  // Renaming would turn a device or a pipe into a file.
  if (present && !present.isFile()) {
    writeFileSync(path, text);
    return;
  }
  const target = present ? realpathSync(path) : path;
  const part = `${target}.part`;
  try {
    writeFileSync(part, text, { mode: present && present.mode & 0o777, flush: true });
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}
