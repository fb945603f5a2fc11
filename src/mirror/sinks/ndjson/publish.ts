import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, statSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isMissing, writeLines } from "./lines.js";

/** A file that is to be replaced. */
export interface Replacement {
  name: string;
  lines: Iterable<string>;
}

/** Earlier versions named them by process and number. */
const TEMPORARY = /^(?:items|lots|stock_levels|stocklot)\.(?:ndjson|journal)\.(?:\d+-\d+|[\da-f-]{36})\.tmp$/;

/**
 * Puts new files in the place of others, each at once, and the last only when all others are on the disk. Gives whether it
 * was done: not when `mayGoOn` says no after they were written, nor when another process has cleaned up.
 */
export async function replaceFiles(
  directory: string,
  replacements: readonly Replacement[],
  mayGoOn: () => boolean,
): Promise<boolean> {
  const written: { from: string; to: string }[] = [];
  for (const { name, lines } of replacements) {
    // Nobody else can know the name beforehand.
    const from = join(directory, `${name}.${randomUUID()}.tmp`);
    const to = join(directory, name);
    await writeLines(from, lines, permissionsOf(to));
    written.push({ from, to });
  }
  const isDone = mayGoOn() && renameAll(directory, written);
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
