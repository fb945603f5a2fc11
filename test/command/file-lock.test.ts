import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireLock } from "../../src/command/export/file-lock.js";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "stocklot-lock-"));
  path = join(directory, "lots.csv.part.lock");
});
afterEach(() => rmSync(directory, { recursive: true }));

const acquire = () => acquireLock(path, "lots.csv");
const ownedBy = (pid: number) => `${pid} ${hostname()}\n`;
/** The ID of a process that has ended. */
const endedPid = () => spawnSync(process.execPath, ["--version"]).pid;

describe("the lock of a file", () => {
  it("says which process has it, and leaves nothing behind", () => {
    const release = acquire();
    expect(readFileSync(path, "utf8")).toBe(ownedBy(process.pid));
    expect(readdirSync(directory)).toHaveLength(1);
    release();
    expect(readdirSync(directory)).toEqual([]);
  });

  it.each([
    1, 2, 3,
  ])("is taken over if %i processes were killed one after another while they had or took it", (count) => {
    let name = path;
    for (const pid of Array.from({ length: count }, endedPid)) {
      writeFileSync(name, ownedBy(pid));
      name += `.${pid}`;
    }
    const release = acquire();
    expect(readFileSync(path, "utf8")).toBe(ownedBy(process.pid));
    expect(readdirSync(directory)).toHaveLength(1);
    release();
  });

  it("is not taken over while another process does so", () => {
    const ended = endedPid();
    writeFileSync(path, ownedBy(ended));
    writeFileSync(`${path}.${ended}`, ownedBy(process.ppid));
    expect(acquire).toThrow("lots.csv is being written by another export");
    expect(readFileSync(path, "utf8")).toBe(ownedBy(ended));
  });
});
