import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox, SandboxOptions } from "stocklot/sandbox";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { findPostgres } from "../support/postgres-server.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { waitUntil } from "../support/with-server.js";
import { run, serve, start } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-corrections-"));
afterAll(() => rmSync(directory, { recursive: true }));
const postgres = await findPostgres();
afterAll(() => postgres?.close());
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

const HEADER = "itemID,units,wid,reasonCode";
let folders = 0;

/** A file with a constant name, and its outbox. */
async function delivery(options: SandboxOptions = {}, outbox = join(directory, `outbox-${++folders}.db`)) {
  const { sandbox, env } = await serve(options);
  const folder = mkdtempSync(join(directory, "day-"));
  const file = join(folder, "day.csv");
  const args = (path: string, ...more: string[]) => [
    "import",
    path,
    "--operation",
    "receive",
    "--outbox",
    outbox,
    "--mark",
    "remark",
    "--settle",
    "300ms",
    ...more,
  ];
  return {
    sandbox,
    env,
    file,
    outbox,
    folder,
    write: (...lines: string[]) => writeFileSync(file, `${[HEADER, ...lines].join("\n")}\n`),
    import: (...more: string[]) => run(args(file, ...more), env),
    importFile: (path: string, ...more: string[]) => run(args(path, ...more), env),
    start: (...more: string[]) => start(args(file, ...more), env),
    ask: async (...words: string[]) => JSON.parse((await run(["outbox", outbox, ...words, "--json"], {})).out),
  };
}

const receiptsOf = (sandbox: Sandbox) => sandbox.requests.filter(({ path }) => path === "/Inventory/Receive");
const unitsOf = (sandbox: Sandbox) =>
  receiptsOf(sandbox)
    .filter(({ status }) => status === 201)
    .map(({ body }) => Object(body).units);

describe("import --corrects", () => {
  it("sends what is new, and cancels what was rejected and is not in the file any more", async () => {
    const day = await delivery();
    day.write("BOLT-M8,1,1,1", "NO-SUCH,2,1,1", "BOLT-M8,3,1,1");
    expect((await day.import()).code).toBe(1);
    // Another order, a corrected line, and one that repeats another.
    day.write("BOLT-M8,3,1,1", "BOLT-M8,1,1,1", "BOLT-M8,2,1,1", "BOLT-M8,1,1,1");
    expect(await day.import()).toMatchObject({ code: 2, err: expect.stringContaining("add --corrects") });
    const corrected = await day.import("--corrects");
    expect(corrected.err).toMatch(
      /^day\.csv: corrects the import of \S+Z: 2 unchanged, 2 added, 1 canceled\.\n4 lines, of which 2 were sent by an earlier import/,
    );
    expect(corrected.code).toBe(0);
    expect(unitsOf(day.sandbox)).toEqual([1, 3, 2, 1]);
    expect(await day.import("--corrects")).toMatchObject({ code: 3, out: expect.stringMatching(/\n +4 +4 +0 +1\n$/) });
    expect(await day.ask("deliveries")).toMatchObject([
      { lines: 4, complete: true, entries: { applied: 4, canceled: 1 } },
    ]);
  });

  it("refuses a file that lacks a line that was sent, and stores nothing", async () => {
    const day = await delivery();
    day.write("BOLT-M8,1,1,1", "BOLT-M8,1,1,1", "NO-SUCH,2,1,1");
    expect((await day.import()).code).toBe(1);
    const before = await day.ask("list");
    day.write("BOLT-M8,1,1,1", "BOLT-M8,4,1,1");
    const { code, out, err } = await day.import("--corrects");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/the file lacks 1 line of "day\.csv" that were sent\. Nothing was stored or sent\./);
    expect(err).toMatch(/^ {2}day\.csv:3 applied: receive \{.*"units":1/m);
    expect(await day.ask("list")).toEqual(before);
    expect(unitsOf(day.sandbox)).toEqual([1, 1]);
  });

  it("says what becomes of a missing line whose outcome is not known after a kill", async () => {
    const day = await delivery({ faults: [{ path: "/Inventory/Receive", times: 1, fault: "hang" }] });
    day.write("BOLT-M8,1,1,1");
    const { child, ended } = day.start();
    await waitUntil(() => receiptsOf(day.sandbox).length === 1);
    child.kill("SIGKILL");
    await ended;
    day.write("BOLT-M8,2,1,1");
    const { code, err } = await day.import("--corrects");
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^ {2}day\.csv:2 sending: receive /m) });
    expect(err).toContain("A line that is sending may not have been applied: the import then finds that out");
  });

  it.each([
    [["--delivery", "dya"], 'there is no delivery "dya"'],
    [["--key", "itemID"], "--corrects needs a delivery"],
  ])("refuses what is no delivery: %j", async (more, message) => {
    const day = await delivery();
    day.write("BOLT-M8,1,1,1");
    const { code, err } = await day.import("--corrects", ...more);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    expect(unitsOf(day.sandbox)).toEqual([]);
  });

  it.each([
    ["after the correction was stored", 0],
    ["while its lines are sent", 4],
  ])("continues after a kill %s, and sends each line once", async (_, sent) => {
    // Three requests of the first import, then those of the correction, up to one without a response.
    const hanging = { path: "/Inventory/Receive", skip: 3 + sent, times: 1, fault: "hang" } as const;
    const day = await delivery({ faults: [hanging] });
    const lines = Array.from({ length: 20 }, (_, index) => `BOLT-M8,${index + 1},1,1`);
    day.write(...lines.slice(0, 2), "NO-SUCH,7,1,1");
    expect((await day.import()).code).toBe(1);
    day.write(...lines);
    const { child, output, ended } = day.start("--corrects");
    await waitUntil(() => output.err.includes("18 added") && receiptsOf(day.sandbox).length === 4 + sent);
    child.kill("SIGKILL");
    await ended;
    // An earlier version is another delivery now, and does not come back.
    const continued = await day.import("--corrects");
    expect(continued).toMatchObject({ code: 0, err: expect.stringMatching(/^day\.csv: continues the import of /) });
    expect(unitsOf(day.sandbox).sort((one, other) => one - other)).toEqual(lines.map((_, index) => index + 1));
  });

  it("of two processes, one stores the lines and both end successfully", async () => {
    const day = await delivery();
    day.write(...Array.from({ length: 30 }, (_, index) => `BOLT-M8,${index + 1},1,1`));
    const ended = await Promise.all([day.import(), day.import(), day.import()]);
    // One that begins when everything was sent reports just that.
    expect(ended.filter(({ code }) => code !== 0 && code !== 3)).toEqual([]);
    expect(unitsOf(day.sandbox)).toHaveLength(30);
  });

  it("works with an outbox in PostgreSQL", async ({ skip }) => {
    skip(postgres === undefined, "no PostgreSQL");
    const day = await delivery({}, postgres?.url ?? "");
    day.write("BOLT-M8,1,1,1", "NO-SUCH,2,1,1");
    expect((await day.import()).code).toBe(1);
    day.write("BOLT-M8,1,1,1", "BOLT-M8,2,1,1");
    expect(await day.import("--corrects")).toMatchObject({ code: 0 });
    expect(await day.import()).toMatchObject({ code: 3 });
    expect(unitsOf(day.sandbox)).toEqual([1, 2]);
  });
});

describe("import --rejects", () => {
  it("is not undone by a later --corrects of the original file, which would book the replaced lines again", async () => {
    const day = await delivery();
    day.write("BOLT-M8,1,1,1", "NO-SUCH,7,1,1");
    const rejects = join(day.folder, "rejects.csv");
    expect((await day.import("--rejects", rejects)).code).toBe(1);
    writeFileSync(rejects, readFileSync(rejects, "utf8").replace("NO-SUCH", "BOLT-M8"));
    expect((await day.importFile(rejects)).code).toBe(0);
    // Which line was replaced is known without its contents, too.
    expect((await run(["outbox", day.outbox, "prune", "--older-than", "1ms"], {})).code).toBe(0);
    day.write("BOLT-M8,1,1,1", "BOLT-M8,7,1,1", "BOLT-M8,9,1,1");
    const refused = await day.import("--corrects");
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining('another import has replaced 1 line of "day.csv"'),
    });
    expect(refused.err).toContain("  day.csv:3");
    expect(unitsOf(day.sandbox)).toEqual([1, 7]);
    expect((await day.import("--delivery", "rest")).code).toBe(0);
  });

  it.each([
    ["csv", ",", []],
    ["csv", ";", ["--delimiter", ";"]],
    ["ndjson", "", []],
  ])("writes the rejected lines, which a corrected file replaces: %s %s", async (format, delimiter, more) => {
    const day = await delivery();
    const [file, rejects] = [join(day.folder, `day.${format}`), join(day.folder, `rejects.${format}`)];
    const rows = [
      { Article: "BOLT-M8", units: 1, remark: "a;b" },
      { Article: "NO-SUCH", units: 2, remark: 'c,"d"' },
    ];
    const csv = () =>
      `Article${delimiter}units${delimiter}remark\nBOLT-M8${delimiter}1${delimiter}"a;b"\nNO-SUCH${delimiter}2${delimiter}"c,""d"""\n`;
    writeFileSync(file, format === "csv" ? csv() : rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const options = ["--map", "Article=itemID", "--set", "wid=1", "--set", "reasonCode=1", ...more];
    const imported = await day.importFile(file, ...options, "--rejects", rejects);
    expect(imported).toMatchObject({ code: 1, err: expect.stringContaining(`1 rejected line written to ${rejects}.`) });
    const text = readFileSync(rejects, "utf8");
    expect(text).toContain("Item NO-SUCH does not exist.");
    expect(text).toContain(`day.${format}:${format === "csv" ? 3 : 2}`);
    expect(text).not.toContain("BOLT-M8");

    writeFileSync(rejects, text.replace("NO-SUCH", "BOLT-M8"));
    const again = await day.importFile(rejects, ...options);
    expect(again).toMatchObject({ code: 0, err: expect.stringMatching(/^1 rejected line replaced\.\n/) });
    expect(day.sandbox.requests.filter(({ status }) => status === 201).map(({ body }) => Object(body))).toMatchObject([
      { itemID: "BOLT-M8", units: 1, remark: expect.stringMatching(/\] a;b$/) },
      { itemID: "BOLT-M8", units: 2, remark: expect.stringMatching(/\] c,"d"$/) },
    ]);
    expect(await day.ask("list", "--state", "rejected")).toEqual([]);
    expect(await day.importFile(rejects, ...options)).toMatchObject({ code: 3 });
    expect(await day.importFile(file, ...options)).toMatchObject({
      code: 3,
      out: expect.stringMatching(/ 2 +1 +0 +1\n$/),
    });
  });

  it("of a delivery without any other line can be its corrected version, and be corrected again", async () => {
    const day = await delivery();
    day.write("NO-SUCH,1,1,1", "NONE,2,1,1");
    const rejects = join(day.folder, "rejects.csv");
    expect((await day.import("--rejects", rejects)).code).toBe(1);
    const correct = async (from: string) => {
      writeFileSync(rejects, readFileSync(rejects, "utf8").replace(from, "BOLT-M8"));
      return day.importFile(rejects, "--delivery", "day.csv", "--corrects");
    };
    expect(await correct("NO-SUCH")).toMatchObject({ code: 1, err: expect.stringContaining("1 added, 1 canceled") });
    expect(await correct("NONE")).toMatchObject({ code: 0, err: expect.stringContaining("1 added, 1 canceled") });
    day.write("BOLT-M8,1,1,1", "BOLT-M8,2,1,1", "BOLT-M8,3,1,1");
    expect(await day.import("--corrects")).toMatchObject({ code: 0 });
    expect(unitsOf(day.sandbox)).toEqual([1, 2, 3]);
  });

  it("refuses a file that replaces what is no longer rejected, and stores nothing", async () => {
    const day = await delivery();
    day.write("NO-SUCH,1,1,1", "NONE,2,1,1");
    const rejects = join(day.folder, "rejects.csv");
    expect((await day.import("--rejects", rejects)).code).toBe(1);
    writeFileSync(rejects, readFileSync(rejects, "utf8").replace(/^NO[-\w]+/gm, "BOLT-M8"));
    await run(["outbox", day.outbox, "cancel", "day.csv:2"], {});
    const before = await day.ask("list");
    const { code, out, err } = await day.importFile(rejects);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/^stocklot: line 2: "day\.csv:2" is canceled, not rejected\nNothing was stored or sent\./);
    expect(await day.ask("list")).toEqual(before);
    expect(unitsOf(day.sandbox)).toEqual([]);
  });

  it("is written from a delivery that was complete before, has a header without lines, and is not the file itself", async () => {
    const day = await delivery();
    const rejects = join(day.folder, "rejects.csv");
    day.write("BOLT-M8,1,1,1");
    expect((await day.import("--rejects", rejects)).code).toBe(0);
    expect(readFileSync(rejects, "utf8")).toBe(`${HEADER},stocklot:reason,stocklot:replaces\n`);
    day.write("BOLT-M8,1,1,1", "NO-SUCH,2,1,1");
    expect((await day.import("--corrects")).code).toBe(1);
    expect((await day.import("--rejects", rejects)).code).toBe(3);
    expect(readFileSync(rejects, "utf8")).toMatch(/\nNO-SUCH,2,1,1,POST .*,day\.csv:3\n$/);
    expect(await day.import("--rejects", day.file)).toMatchObject({
      code: 2,
      err: expect.stringContaining("is the file to import"),
    });
    expect(readFileSync(day.file, "utf8")).toContain("NO-SUCH");
  });

  it("creates no file if nothing is imported", async () => {
    const day = await delivery();
    const rejects = join(day.folder, "rejects.csv");
    day.write("BOLT-M8,1,1,1");
    expect(await day.import("--rejects", rejects, "--dry-run")).toMatchObject({ code: 0 });
    expect(existsSync(rejects)).toBe(false);
    day.write("BOLT-M8,-1,1,1");
    expect(await day.import("--rejects", rejects)).toMatchObject({ code: 2 });
    expect(existsSync(rejects)).toBe(false);
    expect(await day.import("--rejects", join(day.folder, "none", "rejects.csv"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("no such file or folder"),
    });
  });

  it("adds lines to what it wrote before, and overwrites nothing that a person has corrected", async () => {
    const day = await delivery();
    const rejects = join(day.folder, "rejects.csv");
    day.write("NO-SUCH,1,1,1", "NONE,2,1,1");
    expect((await day.import("--rejects", rejects)).code).toBe(1);
    const written = readFileSync(rejects, "utf8");
    writeFileSync(rejects, written.replace(/^NONE.*\n/m, ""));
    expect((await day.import("--rejects", rejects)).code).toBe(3);
    expect(readFileSync(rejects, "utf8")).toBe(written);
    const corrected = written.replace("NO-SUCH", "BOLT-M8");
    writeFileSync(rejects, corrected);
    const again = await day.import("--rejects", rejects);
    expect(again).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^lines .*\n +2 +0 +2 +0\n/),
      err: expect.stringContaining(`--rejects: ${rejects} has lines that this import would not write again`),
    });
    expect(readFileSync(rejects, "utf8")).toBe(corrected);
    expect((await day.importFile(rejects)).code).toBe(1);
    expect(unitsOf(day.sandbox)).toEqual([1]);
  });
});
