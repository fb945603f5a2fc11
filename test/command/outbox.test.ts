import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxOptions } from "stocklot/sandbox";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { commandLine, outboxCommandLine, shellWord } from "../../src/command/shell.js";
import { findPostgres } from "../support/postgres-server.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-outbox-command-"));
afterAll(() => rmSync(directory, { recursive: true }));
const postgres = await findPostgres();
afterAll(() => postgres?.close());

describe("a command to paste", () => {
  it.each([
    ["day.csv:2", "day.csv:2"],
    ["delivery/ä", "'delivery/ä'"],
    ["it's", "'it'\\''s'"],
    ["$(reboot)", "'$(reboot)'"],
    ["", "''"],
    ["\u001b[31m'\\", "$'\\x1b\\x5b31m\\x27\\x5c'"],
  ])("quotes %s", (word, quoted) => {
    expect(shellWord(word)).toBe(quoted);
  });

  it("separates keys that look like options, and begins as the command was started", () => {
    vi.stubEnv("npm_command", undefined);
    expect(outboxCommandLine("resolve", "a b.db", "-k", "applied")).toBe(
      "stocklot outbox resolve -- 'a b.db' -k applied",
    );
    vi.stubEnv("npm_command", "exec");
    expect(commandLine("outbox", "list", "o.db", "--item", "day 1")).toBe(
      "npx stocklot outbox list o.db --item 'day 1'",
    );
    vi.unstubAllEnvs();
  });
});

describe("stocklot outbox", () => {
  beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

  const newFile = () => join(directory, `${++files}.db`);
  let files = 0;

  /** Imports lines of receipts as the delivery "day". */
  function importLines(file: string, env: Record<string, string>, ...lines: string[]) {
    const csv = `${directory}/${++files}.csv`;
    writeFileSync(csv, `itemID,units,wid,reasonCode,remark\n${lines.join("\n")}\n`);
    const args = ["import", csv, "--operation", "receive", "--outbox", file, "--delivery", "day", "--mark", "none"];
    return run([...args, "--settle", "300ms", "--timeout", "300ms"], env);
  }

  /** An outbox with a rejected, an unknown and a pending entry, sent one after the other: they are of one item. */
  async function openEntries(file = newFile(), options: SandboxOptions = {}) {
    const { sandbox, env } = await serve({
      faults: [{ path: "/Inventory/Receive", fault: "drop-after", skip: 1, times: 1 }],
      ...options,
    });
    const imported = await importLines(
      file,
      env,
      "BOLT-M8,6,99,1,no such",
      "BOLT-M8,5,1,1,first",
      "BOLT-M8,7,1,1,second",
    );
    expect(imported.code).toBe(1);
    const outbox = (...args: string[]) => run(["outbox", args[0] ?? "", file, ...args.slice(1)], {});
    return { sandbox, env, file, imported, outbox };
  }

  it("shows what a person needs to decide about an unknown entry, and records the decision", async () => {
    const { env, file, imported, outbox } = await openEntries();
    const received = async (remark: string) => {
      const { out } = await run(["get", "BOLT-M8", "--json"], env);
      const { lots } = JSON.parse(out);
      return lots.flatMap((lot: { remark: string; recNo: number }) => (lot.remark === remark ? [lot.recNo] : []));
    };
    const resolve = `stocklot outbox resolve ${file} day:3 applied`;
    expect(imported.out).toContain(`stocklot outbox show ${file} day:3\n`);
    const shown = await outbox("show", "day:3");
    expect(shown).toMatchObject({ code: 0, err: "" });
    expect(shown.out).toMatch(/^state +unknown\n/m);
    expect(shown.out).toMatch(/^sent +\d{4}-\S+Z, 1 attempt\n {2}itemID +BOLT-M8\n {2}units +5\n/m);
    expect(shown.out).toMatch(/^looked for +lots of BOLT-M8, received since \d{4}/m);
    const [, recNo] = /^may be it +lots \(recno\) (\d+)\n/m.exec(shown.out) ?? [];
    expect(await received("first")).toEqual([Number(recNo)]);
    expect(shown.out).toContain(`If it was applied:\n  ${resolve}\n`);
    expect(shown.out).toContain("stocklot get BOLT-M8\n");
    const json = JSON.parse((await outbox("show", "day:3", "--json")).out);
    expect(json).toMatchObject({ key: "day:3", input: { units: 5 }, error: { lots: [Number(recNo)] } });

    expect(await outbox("resolve", "day:3", "applied")).toEqual({ code: 0, out: "day:3 is applied.\n", err: "" });
    expect(await outbox("resolve", "day:3", "applied")).toMatchObject({ code: 2, out: "" });
    const sent = await run(["outbox", "run", file, "--json"], env);
    expect({ code: sent.code, report: JSON.parse(sent.out) }).toMatchObject({ code: 0, report: { applied: 1 } });
    expect(await received("second")).toHaveLength(1);
  });

  it("lists entries without control characters, and as JSON", async () => {
    const { env } = await serve();
    const file = newFile();
    const sku = `\u001b[2J${"X".repeat(90)}`;
    await importLines(file, env, `${sku},5,1,1,"a\u001b]0;title\u0007"`, "BOLT-M8,1,1,1,b");
    for (const args of [["list"], ["show", "day:2"], ["summary"]]) {
      const { code, out } = await run(["outbox", args[0] ?? "", file, ...args.slice(1)], {});
      expect(code).toBe(0);
      expect(out).not.toMatch(/\p{Cc}(?<!\n)/u);
    }
    const listed = async (...args: string[]) => {
      const { out } = await run(["outbox", "list", file, "--json", ...args], {});
      return JSON.parse(out).map(({ key }: { key: string }) => key);
    };
    expect(await listed()).toEqual(["day:2", "day:3"]);
    expect(await listed("--state", "applied")).toEqual(["day:3"]);
    expect(await listed("--item", " bolt-m8")).toEqual(["day:3"]);
  });

  it("counts the entries, and fails if one is unknown or waits for too long", async () => {
    const { file, env, outbox } = await openEntries();
    const counts = { pending: 1, sending: 0, applied: 0, rejected: 1, unknown: 1, canceled: 0 };
    const unknown = await outbox("summary", "--json");
    expect({ ...unknown, out: JSON.parse(unknown.out) }).toMatchObject({ code: 1, out: counts });
    expect((await outbox("summary")).err).toContain(`stocklot outbox list ${file} --state unknown\n`);
    await outbox("resolve", "day:3", "not-applied");
    expect(await outbox("summary", "--max-age", "26h")).toMatchObject({ code: 0, err: "" });
    expect(await outbox("summary", "--max-age", "1ms")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/waits for longer/),
    });
    expect(await run(["outbox", "run", file], env)).toMatchObject({ code: 0 });
    expect(await outbox("summary", "--max-age", "1ms")).toMatchObject({ code: 0, err: "" });
  });

  it("cancels entries, all that were named or none, and prunes what is settled", async () => {
    const { outbox } = await openEntries();
    const err = 'stocklot: "day:3" is unknown, not rejected or pending.\nNothing was canceled.\n';
    expect(await outbox("cancel", "day:2", "day:3")).toEqual({ code: 2, out: "", err });
    expect(await outbox("cancel", "day:2", "day:4")).toMatchObject({ code: 0, out: "2 entries canceled.\n" });
    expect(await outbox("prune", "--older-than", "1d")).toMatchObject({ out: expect.stringContaining("of 0 entries") });
  });

  it("creates nothing by reading, and changes no other database", async () => {
    const missing = newFile();
    for (const args of [["summary"], ["list"], ["show", "a"], ["cancel", "a"], ["run"]]) {
      const ended = await run(["outbox", args[0] ?? "", missing, ...args.slice(1)], {});
      expect(ended).toEqual({ code: 2, out: "", err: `stocklot: ${missing}: no such file. Check the path.\n` });
    }
    expect(existsSync(missing)).toBe(false);
    const { env } = await serve({ items: 5, lots: 20 });
    const mirror = newFile();
    await run(["mirror", "--sqlite", mirror], env);
    const before = readFileSync(mirror);
    for (const args of [["summary"], ["prune", "--older-than", "1d"]]) {
      const ended = await run(["outbox", args[0] ?? "", mirror, ...args.slice(1)], {});
      expect(ended).toMatchObject({
        code: 2,
        out: "",
        err: expect.stringContaining("there is no outbox"),
      });
    }
    expect(readFileSync(mirror).equals(before)).toBe(true);
  });

  it("only run needs the service, and refuses another one", async () => {
    const { file, outbox } = await openEntries();
    expect(await outbox("run")).toMatchObject({ code: 2, err: expect.stringContaining("STOCKLOT_BASE_URL") });
    const other = await serve();
    const refused = await run(["outbox", "run", file], other.env);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("belongs to the service") });
    expect(other.sandbox.requests).toEqual([]);
  });

  it.each([
    [["list", "a"], "too many arguments"],
    [["resolve", "a", "yes"], "the decision must be applied or not-applied, not yes."],
    [["resolve", "a", "applied"], 'there is no entry "a".'],
    [["show", "a", "--state", "unknown"], "unknown option '--state'"],
    [["lst"], "unknown command 'lst'\n(Did you mean list?)"],
  ])("refuses wrong arguments with exit code 2: %j", async (args, message) => {
    const { env } = await serve();
    const file = newFile();
    await importLines(file, env, "BOLT-M8,1,1,1,a");
    const { code, out, err } = await run(["outbox", args[0] ?? "", file, ...args.slice(1)], {});
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });

  it("works with an outbox in PostgreSQL, whose password is no argument", async ({ skip }) => {
    skip(postgres === undefined, "no PostgreSQL");
    const url = postgres?.url ?? "";
    expect(await run(["outbox", "summary", url], {})).toMatchObject({
      code: 2,
      err: expect.stringContaining("schema public: there is no outbox"),
    });
    const { outbox, file, env } = await openEntries(url);
    expect(await outbox("list")).toMatchObject({ code: 0, out: expect.stringMatching(/^day:3 +unknown /m) });
    expect(await outbox("resolve", "day:3", "applied")).toMatchObject({ code: 0 });
    expect((await run(["outbox", "run", file], env)).code).toBe(0);
    const secret = "postgres://stock:canary@db/stock";
    for (const args of [
      ["outbox", "list", secret],
      ["import", "x.csv", "--operation", "receive", "--outbox", secret],
    ]) {
      writeFileSync(join(directory, "x.csv"), "itemID,units,wid,reasonCode\nBOLT-M8,1,1,1\n");
      const { code, err } = await run(args, {}, directory);
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("must not contain a password") });
      expect(err).not.toContain("canary");
    }
  });
});
