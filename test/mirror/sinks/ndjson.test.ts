import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { ConfigurationError } from "stocklot";
import { ndjsonSink } from "stocklot/mirror";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { runs } from "../../support/runs.js";
import { describeSink } from "./conformance.js";
import { batch, recordsAfter } from "./support/history.js";
import { asRead, lot } from "./support/records.js";
import { type SinkSpec, sinkAt } from "./support/sink-spec.js";

const root = mkdtempSync(join(tmpdir(), "stocklot-ndjson-"));
let directories = 0;
const newDirectory = () => join(root, `copy-${++directories}`);

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("ndjsonSink", () => {
  describeSink("as every sink", () => ({ kind: "ndjson", directory: newDirectory() }));

  let directory: string;
  beforeEach(() => {
    directory = newDirectory();
  });
  const path = (name: string) => join(directory, name);
  const recordsIn = (name: string): unknown[] =>
    readFileSync(path(name), "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));

  it("rejects with a StorageError if files cannot be written, and works again afterwards", async () => {
    const failure = { name: "StorageError", storage: "ndjson", mayBeStored: false };
    writeFileSync(directory, "in the way");
    const below = ndjsonSink({ directory: join(directory, "below") });
    await expect(below.open()).rejects.toMatchObject({ ...failure, location: join(directory, "below") });
    await expect(below.open()).rejects.toThrow("(ENOTDIR: not a directory");
    rmSync(directory);
    const sink = ndjsonSink({ directory });
    await sink.open();
    const journal = readFileSync(path("stocklot.journal"));
    rmSync(path("stocklot.journal"));
    mkdirSync(path("stocklot.journal"));
    await expect(sink.commit(batch(1))).rejects.toMatchObject(failure);
    rmSync(path("stocklot.journal"), { recursive: true });
    writeFileSync(path("stocklot.journal"), journal);
    await sink.open();
    await sink.commit(batch(1));
    await sink.close();
  });

  it("has files of one record per line, up to date when it is closed", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    expect(["items", "lots", "stock_levels"].map((name) => recordsIn(`${name}.ndjson`))).toEqual([[], [], []]);
    await sink.commit(batch(1));
    expect(recordsIn("lots.ndjson")).toEqual([]);
    await sink.close();
    expect(recordsIn("lots.ndjson")).toEqual([...recordsAfter(1).values()].map((record) => asRead("lots", record)));
    expect(readdirSync(directory).sort()).toEqual([
      "items.ndjson",
      "lots.ndjson",
      "stock_levels.ndjson",
      "stocklot.journal",
    ]);
  });

  it("keeps line separators of Unicode within a line", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    const record = lot(1, { remark: "one\u2028two\u2029three\nfour\r\nfive\u0085six" });
    await sink.commit({ resource: "lots", upsert: [record], remove: [], previousState: undefined, state: "1" });
    await sink.close();
    expect(recordsIn("lots.ndjson")).toEqual([record]);
    await sink.open();
    expect(await sink.read("lots", [1])).toEqual([record]);
    await sink.close();
  });

  it("replaces the files as the journal outgrows them, and whole files only", async () => {
    const spec: SinkSpec = { kind: "ndjson", directory };
    const sink = sinkAt(spec);
    await sink.open();
    const seen = new Set<number>();
    let isCommitting = true;
    const reading = (async () => {
      while (isCommitting) {
        const records = recordsIn("lots.ndjson");
        seen.add(records.length);
        expect(new Set(records.map((record) => Reflect.get(Object(record), "recNo"))).size).toBe(records.length);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    for (let n = 1; n <= 40; n += 1) await sink.commit(batch(n));
    isCommitting = false;
    await reading;
    expect(seen.size).toBeGreaterThan(2);
    await sink.close();
    expect(recordsIn("lots.ndjson")).toHaveLength(recordsAfter(40).size);
  });

  it("returns to the last complete commit, wherever the journal was truncated or damaged", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    for (let n = 1; n <= 5; n += 1) await sink.commit(batch(n));
    // As a killed process leaves it: the files are still empty.
    const journal = readFileSync(path("stocklot.journal"));
    const head = journal.indexOf("\n") + 1;
    const copy = newDirectory();
    const open = () => sinkAt({ kind: "ndjson", directory: copy });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: head, max: journal.length - 1 }),
        fc.constantFrom("cut", "zeros", "one byte"),
        async (at, flaw) => {
          rmSync(copy, { recursive: true, force: true });
          await open().open();
          const damaged = Buffer.from(flaw === "cut" ? journal.subarray(0, at) : journal);
          if (flaw === "zeros") damaged.fill(0, at, Math.min(at + 4_096, damaged.length));
          if (flaw === "one byte") damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
          writeFileSync(join(copy, "stocklot.journal"), damaged);
          const again = open();
          const state = Number((await again.open()) ?? 0);
          const commits = journal.subarray(0, at).toString("latin1").split("\n").length - 2;
          expect(state).toBe(commits);
          const expected = recordsAfter(state);
          expect(await again.read("lots", [...expected.keys()])).toEqual(
            [...expected.values()].map((record) => asRead("lots", record)),
          );
          await again.commit(batch(state + 1));
          await again.close();
          expect(await open().open()).toBe(String(state + 1));
        },
      ),
      { numRuns: runs(60) },
    );
    await sink.close();
  });

  it("removes the temporary files of a killed process, and nothing else", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    await sink.close();
    const left = ["lots.ndjson.4711-1.tmp", "stocklot.journal.4711-2.tmp", `items.ndjson.${randomUUID()}.tmp`];
    for (const name of [...left, "lots.ndjson.tmp", "notes.tmp"]) {
      writeFileSync(path(name), "half of a fi");
    }
    await sink.open();
    await sink.close();
    const names = readdirSync(directory).filter((name) => name.endsWith("tmp"));
    expect(names.sort()).toEqual(["lots.ndjson.tmp", "notes.tmp"]);
  });

  it("does not write through links with the names of temporary files", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    const precious = join(root, "precious.txt");
    writeFileSync(precious, "precious");
    for (const name of ["items.ndjson", "lots.ndjson", "stock_levels.ndjson", "stocklot.journal"]) {
      for (let n = 0; n < 400; n += 1) symlinkSync(precious, path(`${name}.${process.pid}-${n}.tmp`));
    }
    await sink.commit(batch(1));
    await sink.close();
    expect(readFileSync(precious, "utf8")).toBe("precious");
    expect(recordsIn("lots.ndjson")).toHaveLength(recordsAfter(1).size);
    expect(lstatSync(path("lots.ndjson")).isSymbolicLink()).toBe(false);
  });

  it.skipIf(process.platform === "win32")("replaces a file by one with the same permissions", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    const modes = { "items.ndjson": 0o600, "lots.ndjson": 0o640, "stocklot.journal": 0o600 };
    for (const [name, mode] of Object.entries(modes)) chmodSync(path(name), mode);
    await sink.commit(batch(1));
    await sink.commit({ ...batch(2), resource: "items", upsert: [], remove: [], previousState: "1", state: "2" });
    await sink.close();
    await sink.open();
    await sink.commit({ ...batch(3), previousState: "2", state: "3" });
    await sink.close();
    for (const [name, mode] of Object.entries(modes)) expect(statSync(path(name)).mode & 0o777, name).toBe(mode);
  });

  it("leaves files alone that no mirror created", async () => {
    const sink = ndjsonSink({ directory: root });
    writeFileSync(join(root, "items.ndjson"), "precious\n");
    await expect(sink.open()).rejects.toThrow(ConfigurationError);
    await expect(sink.open()).rejects.toThrow("items.ndjson");
    expect(readFileSync(join(root, "items.ndjson"), "utf8")).toBe("precious\n");
    expect(existsSync(join(root, "stocklot.journal"))).toBe(false);
  });

  it("rejects a journal of which nothing can be read", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    await sink.close();
    writeFileSync(path("stocklot.journal"), "0badc0de {}\n");
    await expect(sink.open()).rejects.toThrow("stocklot.journal is damaged or missing");
    expect(readFileSync(path("stocklot.journal"), "utf8")).toBe("0badc0de {}\n");
  });

  it("does not treat a missing file as an empty one", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    rmSync(path("lots.ndjson"));
    // Nothing was saved yet.
    expect(await ndjsonSink({ directory }).open()).toBeUndefined();
    await sink.commit(batch(1));
    await sink.close();
    rmSync(path("lots.ndjson"));
    await expect(sink.open()).rejects.toThrow("lots.ndjson is damaged or missing");
  });

  it("can be opened by others while a mirror writes, with a state and records that agree, or is refused", async () => {
    const spec: SinkSpec = { kind: "ndjson", directory };
    const sink = sinkAt(spec);
    await sink.open();
    let isCommitting = true;
    const states = new Set<number>();
    const reading = (async () => {
      while (isCommitting) {
        const reader = sinkAt(spec);
        const opened = await reader.open().catch((error: Error) => error);
        if (opened instanceof Error) {
          expect(opened.message).toContain("another mirror");
          continue;
        }
        const state = Number(opened ?? 0);
        const expected = recordsAfter(state);
        expect(await reader.read("lots", [...expected.keys()])).toHaveLength(expected.size);
        for await (const keys of reader.keys("lots")) expect(keys).toHaveLength(expected.size);
        states.add(state);
      }
    })();
    for (let n = 1; n <= 40; n += 1) {
      await sink.commit(batch(n));
      await new Promise((resolve) => setTimeout(resolve, n));
    }
    isCommitting = false;
    await reading;
    expect(states.size).toBeGreaterThan(1);
    await sink.close();
    expect(await sinkAt(spec).open()).toBe("40");
  });

  it("counts the first of two commits that were appended at the same moment", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    await sink.commit(batch(1));
    const journal = readFileSync(path("stocklot.journal"), "utf8");
    const [, line] = journal.split("\n");
    // The same again, as a second mirror would have written it that saw the same state.
    appendFileSync(path("stocklot.journal"), `${line}\n`);
    const other = ndjsonSink({ directory });
    expect(await other.open()).toBe("1");
    await other.commit(batch(2));
    await other.close();
    expect(recordsIn("lots.ndjson")).toHaveLength(recordsAfter(2).size);
    await expect(sink.commit(batch(2))).rejects.toThrow("another mirror");
    await sink.close();
  });

  it("continues after an incomplete line of another process", async () => {
    const sink = ndjsonSink({ directory });
    await sink.open();
    await sink.commit(batch(1));
    appendFileSync(path("stocklot.journal"), '0badc0de {"resource":');
    await expect(sink.commit(batch(2))).resolves.toBeUndefined();
    await sink.close();
    expect(await ndjsonSink({ directory }).open()).toBe("2");
  });

  it.each([
    undefined,
    {},
    { directory: "" },
    { directory: 1 },
    { directory: "x", path: "y" },
  ])("refuses the options %j", (options) => {
    expect(() => Reflect.apply(ndjsonSink, undefined, [options])).toThrow(ConfigurationError);
  });
});
