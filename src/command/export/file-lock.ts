import { constants, copyFileSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { fieldOf } from "../../shared/unknown.js";
import { isFileMissingError } from "../../storage/storage-failure.js";
import { CommandError, EXIT } from "../exit.js";

interface Owner {
  pid: number;
  host: string;
}

/**
 * Creates a file that exists while this process writes another file. It contains who writes, so that a killed process blocks
 * nobody. Returns a function that removes it.
 *
 * @param target the file that the lock protects, for the message
 * @throws CommandError if another process has the lock
 */
export function acquireLock(path: string, target: string): () => void {
  if (!createOwned(path) && !takeOver(path)) throw lockedError(path, target);
  return () => {
    if (readContents(path) === OWN_CONTENTS) rmSync(path, { force: true });
  };
}

const OWN_CONTENTS = `${process.pid} ${hostname()}\n`;

/** Creates the file with its contents at once: nobody finds it empty, wherever a process is killed. Returns false if it exists. */
function createOwned(path: string): boolean {
  const own = `${path}.${process.pid}.new`;
  try {
    writeFileSync(own, OWN_CONTENTS);
    linkOrCopy(own, path);
    return true;
  } catch (error) {
    if (fieldOf(error, "code") === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

function linkOrCopy(own: string, path: string): void {
  try {
    linkSync(own, path);
  } catch (error) {
    if (fieldOf(error, "code") === "EEXIST") throw error;
    // Some file systems have no links. There a kill may leave an empty file.
    copyFileSync(own, path, constants.COPYFILE_EXCL);
  }
}

/** Takes the lock of a process that has ended. Returns false if the process runs, or if another one takes the lock. */
function takeOver(path: string): boolean {
  const contents = readContents(path);
  if (contents === undefined) return createOwned(path);
  const owner = parseOwner(contents);
  if (!owner || isRunning(owner)) return false;
  // Of several processes that find the same owner, one has this lock. Only that one may replace the lock of the owner.
  const claim = `${path}.${owner.pid}`;
  if (!createOwned(claim) && !takeOver(claim)) return false;
  if (readContents(path) === contents) {
    renameSync(claim, path);
    return true;
  }
  rmSync(claim);
  return false;
}

function lockedError(path: string, target: string): CommandError {
  const owner = parseOwner(readContents(path) ?? "");
  const by = owner ? ` (process ${owner.pid} on ${owner.host})` : "";
  return new CommandError(
    `${target} is being written by another export${by}. Wait until it ends. If it is not running, remove ${path}.`,
    EXIT.failure,
  );
}

function readContents(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isFileMissingError(error)) return undefined;
    throw error;
  }
}

function parseOwner(contents: string): Owner | undefined {
  const [, pid, host] = /^([1-9]\d*) (\S+)\n$/.exec(contents) ?? [];
  return pid && host ? { pid: Number(pid), host } : undefined;
}

/** Processes of other computers and containers cannot be seen: they count as running. */
function isRunning({ pid, host }: Owner): boolean {
  if (host !== hostname()) return true;
  // A container often starts its command with the same ID each time.
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return fieldOf(error, "code") === "EPERM";
  }
}
