import { randomUUID } from "node:crypto";
import { closeSync, createReadStream, fsyncSync, openSync, renameSync, statSync } from "node:fs";
import { open, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A file that is to be replaced. */
export interface Replacement {
  name: string;
  lines: Iterable<string>;
}

/** Earlier versions named them by process and number. */
const TEMPORARY = /^(?:items|lots|stock_levels|stocklot)\.(?:ndjson|journal)\.(?:\d+-\d+|[\da-f-]{36})\.tmp$/;

/**
 * Puts new files in the place of others, each at once, and the last only when all others are on the disk. Gives whether it
 * was done: not when `isStillValid` says no after they were written, nor when another process has cleaned up.
 */
export async function replaceFiles(
  directory: string,
  replacements: readonly Replacement[],
  isStillValid: () => boolean,
): Promise<boolean> {
  const written: { from: string; to: string }[] = [];
  for (const { name, lines } of replacements) {
    // Nobody else can know the name beforehand.
    const from = join(directory, `${name}.${randomUUID()}.tmp`);
    const to = join(directory, name);
    await writeLines(from, lines, permissionsOf(to));
    written.push({ from, to });
  }
  const isDone = isStillValid() && renameAll(directory, written);
  if (!isDone) for (const { from } of written) await rm(from, { force: true });
  return isDone;
}

/** `undefined` where there is no such file. */
function permissionsOf(path: string): number | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? undefined : mode & 0o777;
}

/** Without a pause: nothing else of this process comes between the last look and the last name. */
function renameAll(directory: string, files: readonly { from: string; to: string }[]): boolean {
  try {
    for (const { from, to } of files) {
      renameSync(from, to);
      syncDirectory(directory);
    }
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** The names are on the disk then. */
function syncDirectory(directory: string): void {
  if (process.platform === "win32") return; // It has no such thing, and its names are in a log of their own.
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Removes what a killed process did not get to put in place. */
export async function removeTemporaryFiles(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (TEMPORARY.test(name)) await rm(join(directory, name), { force: true });
  }
}

/** Text that is written to a file at once. */
const CHUNK_LENGTH = 1 << 20;

/** The lines of a file, without their ends; not the last one if it has no end. Nothing where there is no file. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: CHUNK_LENGTH })) {
      // Not the readline module: to it other characters end a line too, and JSON may hold them.
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Creates a file of lines that is on the disk when this ends.
 *
 * @param mode The permissions of the file; what the process gives to new files where it is `undefined`.
 * @throws when there is a file or a link of that name already: nothing is written through a link.
 */
async function writeLines(path: string, lines: Iterable<string>, mode: number | undefined): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    // The process's umask may have removed some. Not all file systems have permissions that can be changed.
    const given = (await file.stat()).mode & 0o777;
    if (mode !== undefined && mode !== given) await file.chmod(mode);
    await writeFile(file, chunksOf(lines));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** `writeFile` takes each text that it is given to the disk by itself; a line is too little. */
function* chunksOf(lines: Iterable<string>): Generator<string> {
  let chunk = "";
  for (const line of lines) {
    chunk += `${line}\n`;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = "";
  }
  yield chunk;
}

export const isMissing = (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT";
