import { existsSync, readFileSync } from "node:fs";
import { afterAll, describe, expect, it, vi } from "vitest";
import { commandLine, outboxCommandLine, shellWord } from "../../src/command/shell.js";
import { findPostgres } from "../support/postgres-server.js";
import { commandFiles, run, serve } from "./support/run-command.js";

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
  const fileNamed = commandFiles();
  const newFile = () => fileNamed(`${++files}.db`);
  let files = 0;

  const outboxIn =
    (file: string, env: Record<string, string> = {}) =>
    (name: string, ...args: string[]) =>
      run(["outbox", name, file, ...args], env);

  /** Imports lines of receipts as the delivery "day". */
  function importLines(file: string, env: Record<string, string>, ...lines: string[]) {
    const csv = fileNamed(`${++files}.csv`, `itemID,units,wid,reasonCode,remark\n${lines.join("\n")}\n`);
    const args = ["import", csv, "--operation", "receive", "--outbox", file, "--delivery", "day", "--mark", "none"];
    return run([...args, "--settle", "300ms", "--timeout", "300ms"], env);
  }

  /** An outbox with a rejected, an unknown and a pending entry, sent one after the other: they are of one item. */
  async function openEntries(file = newFile()) {
    const { env, client } = await serve({
      faults: [{ path: "/Inventory/Receive", fault: "drop-after", skip: 1, times: 1 }],
    });
    const lines = ["6,99,1,no such", "5,1,1,first", "7,1,1,second"].map((line) => `BOLT-M8,${line}`);
    const imported = await importLines(file, env, ...lines);
    expect(imported.code).toBe(1);
    return { env, client, file, imported, outbox: outboxIn(file) };
  }

  it("shows what a person needs to decide about an unknown entry, and records the decision", async () => {
    const { env, client, file, imported, outbox } = await openEntries();
    const received = async (remark: string) => {
      const lots = await client.inventory.getLots("BOLT-M8");
      return lots.filter((lot) => lot.remark === remark).map(({ recNo }) => recNo);
    };
    const resolve = `stocklot outbox resolve ${file} day:3 applied`;
    expect(imported.out).toContain(`stocklot outbox show ${file} day:3\n`);
    const shown = await outbox("show", "day:3");
    expect(shown).toMatchObject({ code: 0, err: "" });
    expect(shown.out).toMatch(/^state +unknown\n/m);
    expect(shown.out).toMatch(/^sent +\d{4}-\S+Z, 1 attempt\n {2}itemID +BOLT-M8\n {2}units +5\n/m);
    expect(shown.out).toMatch(/^looked for +lots of BOLT-M8, received since \d{4}/m);
    const [, recNo] = /^may match +lots \(recno\) (\d+)\n/m.exec(shown.out) ?? [];
    expect(await received("first")).toEqual([Number(recNo)]);
    expect(shown.out).toContain(`If it was applied:\n  ${resolve}\n`);
    expect(shown.out).toContain("stocklot get BOLT-M8\n");
    const json = JSON.parse((await outbox("show", "day:3", "--json")).out);
    expect(json).toMatchObject({ key: "day:3", input: { units: 5 }, error: { lots: [Number(recNo)] } });

    const undecided = expect.stringContaining("the decision must be applied or not-applied, not yes.");
    expect(await outbox("resolve", "day:3", "yes")).toMatchObject({ code: 2, out: "", err: undecided });
    const missing = expect.stringContaining('there is no entry "day:9".');
    expect(await outbox("resolve", "day:9", "applied")).toMatchObject({ code: 2, out: "", err: missing });
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
    const outbox = outboxIn(file);
    for (const [name, ...args] of [["list"], ["show", "day:2"], ["summary"]] as const) {
      const { code, out } = await outbox(name, ...args);
      expect(code).toBe(name === "summary" ? 1 : 0);
      expect(out).not.toMatch(/\p{Cc}(?<!\n)/u);
    }
    const listed = async (...args: string[]) => {
      const { out } = await outbox("list", "--json", ...args);
      return JSON.parse(out).map(({ key }: { key: string }) => key);
    };
    expect(await listed()).toEqual(["day:2", "day:3"]);
    expect(await listed("--state", "applied")).toEqual(["day:3"]);
    expect(await listed("--item", " bolt-m8")).toEqual(["day:3"]);
  });

  it("records as applied what the service refused only with --force, and keeps the refusal", async () => {
    const { env } = await serve();
    const file = newFile();
    await importLines(file, env, "NO-SUCH,5,1,1,a");
    const outbox = outboxIn(file);
    const refused = await outbox("resolve", "day:2", "applied");
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toMatch(
      /the service refused "day:2": .*400 .*NO-SUCH.*\n.* --force.*\n {2}stocklot outbox cancel/,
    );
    expect(await outbox("resolve", "day:2", "applied", "--force")).toMatchObject({
      code: 0,
      out: "day:2 is applied.\n",
    });
    const { out } = await outbox("show", "day:2");
    expect(out).toMatch(/^resolved +\d{4}\S+Z by a person; it was rejected$/m);
    expect(out).toMatch(/^reason +.* 400 .*NO-SUCH/m);
    expect(await outbox("summary")).toMatchObject({ code: 0, err: "" });
  });

  it("counts the entries, and fails while one is unknown or rejected, or waits for too long", async () => {
    const { file, env, outbox } = await openEntries();
    const counts = { pending: 1, sending: 0, applied: 0, rejected: 1, unknown: 1, canceled: 0 };
    const unknown = await outbox("summary", "--json");
    expect({ ...unknown, out: JSON.parse(unknown.out) }).toMatchObject({ code: 1, out: counts });
    expect((await outbox("summary")).err).toContain(`stocklot outbox list ${file} --state unknown\n`);
    await outbox("resolve", "day:3", "not-applied");
    for (const times of [1, 2])
      expect({ times, ...(await outbox("summary")) }).toMatchObject({
        code: 1,
        err: `1 entry rejected: correct, resolve or cancel what the service refused.\n  stocklot outbox list ${file} --state rejected\n`,
      });
    await outbox("cancel", "day:2");
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
    for (const [name, ...args] of [["summary"], ["list"], ["show", "a"], ["cancel", "a"], ["run"]] as const) {
      const ended = await outboxIn(missing)(name, ...args);
      expect(ended).toEqual({ code: 2, out: "", err: `stocklot: ${missing}: no such file. Check the path.\n` });
    }
    expect(existsSync(missing)).toBe(false);
    const { env } = await serve({ items: 5, lots: 20 });
    const mirror = newFile();
    await run(["mirror", "--sqlite", mirror], env);
    const before = readFileSync(mirror);
    for (const [name, ...args] of [["summary"], ["prune", "--older-than", "1d"]] as const) {
      const err = expect.stringContaining("there is no outbox");
      expect(await outboxIn(mirror)(name, ...args)).toMatchObject({ code: 2, out: "", err });
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

  it("works with an outbox in PostgreSQL", async ({ skip }) => {
    skip(postgres === undefined, "no PostgreSQL");
    const url = postgres?.url ?? "";
    expect(await run(["outbox", "summary", url], {})).toMatchObject({
      code: 2,
      err: expect.stringContaining("schema stocklot: there is no outbox"),
    });
    const { outbox, file, env } = await openEntries(url);
    expect(await outbox("list")).toMatchObject({ code: 0, out: expect.stringMatching(/^day:3 +unknown /m) });
    expect(await outbox("resolve", "day:3", "applied")).toMatchObject({ code: 0 });
    expect((await run(["outbox", "run", file], env)).code).toBe(0);
  });
});
