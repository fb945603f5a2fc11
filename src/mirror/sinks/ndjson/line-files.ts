import { randomUUID } from "node:crypto";
import { closeSync, createReadStream, fsyncSync, openSync, renameSync, statSync } from "node:fs";
import { open, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isFileMissingError } from "../../../storage/file-failure.js";

/** A file to replace, and its new lines. */
export interface FileReplacement {
  name: string;
  lines: Iterable<string>;
}

/** Names of temporary files. Version 0.1 used process ID and a number. */
const TEMPORARY_FILE_PATTERN =
  /^(?:items|lots|(?:warehouse_)?stock_levels|stocklot)\.(?:ndjson|journal)\.(?:\d+-\d+|[\da-f-]{36})\.tmp$/;

/**
 * Replaces files, each atomically, and the last one only after all others are on the disk. Returns false, with nothing
 * replaced, if `isStillValid` returns false after the new files were written, or if another process has removed those.
 */
export async function replaceFiles(
  directory: string,
  replacements: readonly FileReplacement[],
  isStillValid: () => boolean,
): Promise<boolean> {
  const written: { from: string; to: string }[] = [];
  for (const { name, lines } of replacements) {
    // A name that nobody can predict.
    const from = join(directory, `${name}.${randomUUID()}.tmp`);
    const to = join(directory, name);
    await writeLines(from, lines, permissionsOf(to));
    written.push({ from, to });
  }
  const isDone = isStillValid() && renameFiles(directory, written);
  if (!isDone) for (const { from } of written) await rm(from, { force: true });
  return isDone;
}

/** `undefined` if there is no such file. */
function permissionsOf(path: string): number | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? undefined : mode & 0o777;
}

/** Synchronous, so that nothing else in this process happens between the last check and the last rename. */
function renameFiles(directory: string, files: readonly { from: string; to: string }[]): boolean {
  try {
    for (const { from, to } of files) {
      renameSync(from, to);
      syncDirectory(directory);
    }
    return true;
  } catch (error) {
    if (isFileMissingError(error)) return false;
    throw error;
  }
}

/** Writes the names in a directory to the disk. */
function syncDirectory(directory: string): void {
  if (process.platform === "win32") return; // Not supported there; NTFS logs names itself.
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Removes the temporary files of a killed process. */
export async function removeTemporaryFiles(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (TEMPORARY_FILE_PATTERN.test(name)) await rm(join(directory, name), { force: true });
  }
}

/** Number of characters per write. */
const WRITE_CHUNK_LENGTH = 1 << 20;

/** The lines of a file, without their line ends. An unterminated last line is left out. A missing file has no lines. */
export async function* readLines(path: string): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: WRITE_CHUNK_LENGTH })) {
      // Not node:readline: it also ends lines at characters that JSON may contain.
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } catch (error) {
    if (!isFileMissingError(error)) throw error;
  }
}

/**
 * Creates a file of lines, and writes it to the disk.
 *
 * @param mode Permissions of the file; the default of the process unless stated.
 * @throws when there is a file or a link of that name already: nothing is written through a link.
 */
async function writeLines(path: string, lines: Iterable<string>, mode: number | undefined): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    // The umask may have cleared some bits. Not all file systems allow permissions to be changed.
    const actual = (await file.stat()).mode & 0o777;
    if (mode !== undefined && mode !== actual) await file.chmod(mode);
    await writeFile(file, chunksOf(lines));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Joins lines: `writeFile` makes one system call per string. */
function* chunksOf(lines: Iterable<string>): Generator<string> {
  let chunk = "";
  for (const line of lines) {
    chunk += `${line}\n`;
    if (chunk.length < WRITE_CHUNK_LENGTH) continue;
    yield chunk;
    chunk = "";
  }
  yield chunk;
}
