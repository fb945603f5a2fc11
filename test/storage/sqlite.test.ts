import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "stocklot";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SqlDatabase, SqlQuery } from "../../src/storage/database.js";
import { openSqlite, type SqliteOptions } from "../../src/storage/sqlite.js";
import { loadNodeDriver, loadPackageDriver } from "../../src/storage/sqlite-driver.js";
import { builtProgram } from "../support/built-program.js";
import { turnsOf } from "../support/loop-time.js";
import { ownFolder } from "../support/own-folder.js";

/** Returns the delay of the event loop in half a second, in ms: the 90th percentile, as other programs may stop this one. */
async function eventLoopDelayMs(): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  await sleep(500);
  delays.disable();
  return delays.percentile(90) / 1e6;
}

const directory = ownFolder()();
chmodSync(directory, 0o777);

describe.each(["package", "node"] as const)("an SQLite connection, driver: %s", (name) => {
  const driver = name === "node" ? loadNodeDriver() : undefined;
  if (name === "node" && !driver) return it.skip(`Node.js ${process.versions.node} has no node:sqlite`);
  const loadDriver = async () => driver ?? (await loadPackageDriver());

  let files = 0;
  let path: string;
  const opened: { close(): unknown }[] = [];
  const open = async (options: Partial<SqliteOptions> = {}) => {
    const connection = await openSqlite({ path, loadDriver, ...options });
    opened.push(connection);
    return connection;
  };
  /** Opens a second connection, as another process would. */
  const openOther = async () => {
    const database = new (await loadDriver()).DatabaseSync(path);
    opened.push(database);
    return database;
  };
  const insert = (value: number) => (query: SqlQuery) => query("INSERT INTO t VALUES ($1)", [value]);
  const values = async (connection: SqlDatabase) =>
    (await connection.transaction((query) => query("SELECT a FROM t"))).map(({ a }) => a);

  beforeEach(() => {
    path = join(directory, `${name}-${++files}.db`);
  });

  afterEach(async () => {
    for (const connection of opened.splice(0)) {
      try {
        await connection.close();
      } catch {
        // The test has already closed the connection.
      }
    }
  });

  const withTable = async (options: Partial<SqliteOptions> = {}) => {
    const connection = await open(options);
    await connection.transaction((query) => query("CREATE TABLE t (a)"));
    return connection;
  };

  it("leaves no descriptor and no second file when it is closed", async () => {
    const descriptors = () => readdirSync("/proc/self/fd").length;
    await (await withTable()).close();
    const before = existsSync("/proc/self/fd") ? descriptors() : 0;
    for (let run = 0; run < 50; run += 1) {
      const connection = await open();
      await connection.transaction(insert(run));
      await values(connection);
      await connection.close();
      expect(existsSync(`${path}-wal`)).toBe(false);
    }
    if (existsSync("/proc/self/fd")) expect(descriptors()).toBeLessThanOrEqual(before);
    expect(await values(await open())).toHaveLength(50);
  });

  it("ends what is under way before it is closed", async () => {
    const connection = await withTable();
    const written = connection.transaction(insert(1));
    await connection.close();
    await written;
    expect(await values(await open())).toEqual([1]);
  });

  it("waits for the disk at each commit", async () => {
    const connection = await open();
    const read = (pragma: string) => connection.transaction((query) => query(`PRAGMA ${pragma}`));
    expect(await read("synchronous")).toMatchObject([{ synchronous: 2 }]);
    expect(await read("journal_mode")).toMatchObject([{ journal_mode: "wal" }]);
  });

  it("leaves an empty log when it is closed before others are", async () => {
    const connection = await withTable();
    const other = await openOther();
    other.prepare("SELECT * FROM t").all();
    await connection.close();
    expect(readdirSync(directory).filter((file) => file.startsWith(`${name}-${files}.db`))).toHaveLength(3);
    // The file without the log must contain everything.
    rmSync(`${path}-wal`);
    expect(await values(await open())).toEqual([]);
  });

  it("rolls a failed transaction back, and passes the error of the action on", async () => {
    const connection = await withTable();
    const failing = connection.transaction(async (query) => {
      await insert(1)(query);
      throw new RangeError("mine");
    });
    await expect(failing).rejects.toThrow(new RangeError("mine"));
    expect(await values(connection)).toEqual([]);
  });

  it("runs transactions in the order in which they were requested, also after a wait", async () => {
    const connection = await withTable();
    const other = await openOther();
    other.exec("BEGIN IMMEDIATE");
    const all = Array.from({ length: 1_000 }, (_, value) => connection.transaction(insert(value)));
    await sleep(100);
    other.exec("ROLLBACK");
    await Promise.all(all);
    expect(await values(connection)).toEqual(all.map((_, value) => value));
  });

  it("waits for a lock without blocking the event loop", async () => {
    const connection = await withTable();
    const other = await openOther();
    other.exec("BEGIN IMMEDIATE");
    const usualDelayMs = await eventLoopDelayMs();
    const waiting = connection.transaction(insert(1));
    const delayMs = await eventLoopDelayMs();
    other.exec("ROLLBACK");
    await waiting;
    expect(delayMs).toBeLessThan(5 * Math.max(usualDelayMs, 5));
  });

  it("gives up a lock after a time, all waiting transactions at once", async () => {
    const connection = await withTable({ lockWaitMs: 200 });
    (await openOther()).exec("BEGIN IMMEDIATE");
    const settled = Promise.allSettled([1, 2, 3].map((value) => connection.transaction(insert(value))));
    expect(await turnsOf(settled)).toBeLessThan(1_000);
    const failures = await settled;
    for (const failure of failures) {
      expect(failure).toMatchObject({
        reason: { name: "StorageError", message: expect.stringContaining("database is locked"), mayBeStored: false },
      });
    }
    await expect(connection.transaction(insert(4))).rejects.toThrow(
      `sqlite ${path}: database is locked. The change was not stored. Check`,
    );
  });

  it("waits for a lock when it is opened, and gives up", async () => {
    (await openOther()).exec("PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (a)");
    await expect(open({ lockWaitMs: 100 })).rejects.toMatchObject({
      name: "StorageError",
      message: expect.stringContaining("database is locked"),
    });
  });

  it("reports a full disk, and works again when there is space", async () => {
    const connection = await withTable();
    await connection.transaction((query) => query("PRAGMA max_page_count = 4"));
    const large = (query: SqlQuery) => query("INSERT INTO t VALUES ($1)", ["x".repeat(50_000)]);
    const full = connection.transaction(large);
    await expect(full).rejects.toThrow(StorageError);
    await expect(full).rejects.toThrow("database or disk is full. The change was not stored. Check");
    await expect(full).rejects.toMatchObject({
      location: path,
      mayBeStored: false,
    });
    await connection.transaction(insert(1));
    expect(await values(connection)).toEqual([1]);
    await connection.transaction((query) => query("PRAGMA max_page_count = 1000"));
    await connection.transaction(large);
  });

  it.each([
    ["a directory that does not exist", () => join(directory, "no", "such.db"), "Check that the path is right"],
    ["a directory in place of the file", () => directory, "unable to open database file"],
    [
      "a file that is no database",
      () => {
        writeFileSync(path, "x".repeat(5_000));
        return path;
      },
      "file is not a database",
    ],
  ])("reports %s", async (_, place, text) => {
    const location = place();
    const failing = open({ path: location });
    await expect(failing).rejects.toMatchObject({ name: "StorageError", location });
    await expect(failing).rejects.toThrow(text);
  });

  it("reports a directory and a file that it may not write to", async () => {
    const folder = join(directory, `${name}-read-only`);
    mkdirSync(folder, { mode: 0o555 });
    expect(openAsOrdinaryUser(join(folder, "new.db"))).toMatchObject({
      mayBeStored: false,
      message: expect.stringMatching(/new\.db: .*unable to open database file.*that the file may be written/),
    });
    await (await withTable()).close();
    chmodSync(path, 0o444);
    expect(openAsOrdinaryUser(path)).toMatchObject({
      mayBeStored: false,
      message: expect.stringMatching(/attempt to write a readonly database.*that the file may be written/),
    });
  });
});

it.each([
  { what: "the commit", bytes: 100_000, mayBeStored: true, effect: "may or may not have been stored" },
  { what: "a change before the commit", bytes: 10_000_000, mayBeStored: false, effect: "was not stored" },
])("an SQLite connection reports an error of the disk in $what: the change $effect", ({ bytes, ...expected }) => {
  const failure = writeWithSmallFiles(join(directory, `limited-${bytes}.db`), bytes);
  const message = expect.stringContaining(`disk I/O error. The change ${expected.effect}.`);
  expect(failure).toMatchObject({ mayBeStored: expected.mayBeStored, message });
});

const program = await builtProgram(new URL("./support/open-database.ts", import.meta.url));

/** Returns the error of a process that opens the database without the rights of root, which may write everywhere. */
const openAsOrdinaryUser = (path: string): unknown =>
  JSON.parse(execFileSync(process.execPath, [program, path], { encoding: "utf8" }));

/** Returns the error of a process whose files may have at most 64 KiB, which SQLite exceeds in the commit or before it. */
const writeWithSmallFiles = (path: string, bytes: number): unknown => {
  const limited = ["-c", 'ulimit -f 128; exec "$@"', "sh", process.execPath, program, path, String(bytes)];
  return JSON.parse(execFileSync("sh", limited, { encoding: "utf8" }));
};
