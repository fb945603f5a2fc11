import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { ConnectionError } from "stocklot";
import { afterEach, describe, expect, it, vi } from "vitest";
import { failureMessage } from "../../src/command/exit.js";
import { outboxCommandLine, outboxWord } from "../../src/command/shell.js";
import { print, tell } from "../../src/command/terminal.js";
import { commandFiles, run, serve } from "./support/run-command.js";

const file = commandFiles();

describe("lines on a terminal", () => {
  const streams = [process.stdout, process.stderr];
  const before = streams.map(({ isTTY, columns }) => ({ isTTY, columns }));
  afterEach(() => {
    for (const [index, stream] of streams.entries()) Object.assign(stream, before[index]);
    vi.restoreAllMocks();
  });

  /** Returns what is written to terminals of this width, or to pipes if the width is 0. */
  async function written(columns: number, text: string): Promise<string[]> {
    const lines: string[] = [];
    for (const stream of streams) {
      Object.assign(stream, { isTTY: columns > 0, columns });
      vi.spyOn(stream, "write").mockImplementation((chunk) => lines.push(String(chunk)) > 0);
    }
    await print(text);
    tell(text);
    return lines;
  }

  it("are wrapped between words, never cut, by the one that writes them", async () => {
    const text = `stocklot: ${"many words ".repeat(12)}\n  ${"indented ".repeat(12)}`.trim();
    for (const line of (await written(40, text)).flatMap((one) => one.split("\n")))
      expect(line.length).toBeLessThanOrEqual(40);
    const words = (all: string) => all.split(/\s+/).filter(Boolean);
    for (const shown of await written(40, text)) expect(words(shown)).toEqual(words(text));
    expect((await written(40, `  ${"x ".repeat(30)}`))[0]).toMatch(/^ {2}x .*\n {2}x/);
  });

  it("are wrapped if they are coloured, too: each letter keeps its colour", async () => {
    vi.stubEnv("NO_COLOR", "");
    const line = `  \u001b[32m✓\u001b[0m ${"plain ".repeat(8)}\u001b[31m${"red ".repeat(12).trim()}\u001b[0m end`;
    for (const shown of await written(30, line)) {
      const lines = shown.trimEnd().split("\n");
      expect(lines.length).toBeGreaterThan(3);
      for (const one of lines) expect(stripVTControlCharacters(one).length).toBeLessThanOrEqual(30);
      expect(shown.replace(/\s+/g, "")).toBe(line.replace(/\s+/g, ""));
      expect(lines.slice(1).every((one) => stripVTControlCharacters(one).startsWith("  "))).toBe(true);
    }
    vi.unstubAllEnvs();
  });

  it("are whole in a pipe, as are commands to paste", async () => {
    const long = "word ".repeat(40).trim();
    for (const shown of await written(0, long)) expect(shown).toBe(`${long}\n`);
    for (const command of [`  stocklot outbox list ${long}`, `  npx stocklot apply ${long}`])
      for (const shown of await written(40, command)) expect(shown).toBe(`${command}\n`);
  });
});

it("advice that only a program can follow is left out", () => {
  const advice = "Check the clock, name the file in NODE_EXTRA_CA_CERTS, or pass a dispatcher with connect: { ca }.";
  expect(failureMessage(new ConnectionError(`GET /Item: no. ${advice}`))).toBe(
    "GET /Item: no. Check the clock, name the file in NODE_EXTRA_CA_CERTS.",
  );
  const cookies = "Find out which proxy adds them, or pass a dispatcher with a larger maxHeaderSize.";
  expect(failureMessage(new ConnectionError(cookies))).toBe("Find out which proxy adds them.");
});

it("the doctor reports no difference of clocks within the seconds of the header", async () => {
  const { env } = await serve({ items: 3, lots: 3 });
  expect((await run(["doctor"], env)).out).toContain("the service's clock and this machine's agree");
});

describe("an outbox in advice", () => {
  it.each([
    ["postgres://user:secret@host/db"],
    ["postgresql://host/db?password=secret"],
    ["postgres://u:p%40w@h/db"],
    ["socket:/var/run?password=x"],
  ])("is a blank if its address has a password: %s", (address) => {
    expect(outboxWord(address)).toEqual({ blank: "your outbox" });
    expect(outboxCommandLine("show", address, "k")).toMatch(/^(npx )?stocklot outbox show <your outbox> k$/);
  });

  it.each([
    ["outbox.db"],
    ["postgres://user@host/db"],
    ["a:b@c.db"],
    ["postgres://host:5432/db"],
  ])("is what was given: %s", (name) => {
    expect(outboxWord(name)).toBe(name);
  });
});

describe("reports", () => {
  const OLD = "2026-01-01T00:00:00Z";
  const world = () =>
    serve({
      items: [{ shortID: "A" }, { shortID: "B" }],
      lots: [{ shortID: "A", wID: 1, spot: "x", units: 5, received: OLD }],
    });

  it("say what is as planned, and what was written now", async () => {
    const { env } = await world();
    const plan = file("items.json");
    const rows = file("items.csv", "shortID,description\nA,new\nB,new\n");
    expect((await run(["plan", "items", rows, "--out", plan], env)).code).toBe(0);
    expect((await run(["apply", plan], env)).out).toContain("\n2 as planned, 2 written now.\n");
    expect((await run(["apply", plan], env)).out).toContain("\n2 as planned, 0 written now.\n");
  });

  it("are JSON with --json", async () => {
    const { env } = await world();
    const json = async (...args: string[]) => JSON.parse((await run([...args, "--json"], env)).out);
    const rows = file("items.csv", "shortID,description\nA,new\n");
    expect(await json("plan", "items", rows)).toMatchObject({ kind: "items", counts: { update: 1 } });
    const before = file("before.json");
    expect(await json("count", "snapshot", "--wid", "1", "--out", before)).toMatchObject({
      wid: 1,
      lots: 1,
      out: before,
      sheet: null,
    });
    const plan = file("plan.json");
    const counted = file("counted.csv", "itemID,counted\nA,4\n");
    const planned = await run(
      ["count", "plan", before, counted, "--surplus", "1", "--shortage", "2", "--out", plan, "--json"],
      env,
    );
    expect(JSON.parse(planned.out)).toEqual(JSON.parse(readFileSync(plan, "utf8")));
    expect(await json("plan", "show", plan)).toEqual(JSON.parse(planned.out));
    // The advised command can be pasted into a shell once its placeholder is filled in.
    const [, command = ""] = /^ {2}stocklot (apply .*)$/m.exec(planned.err) ?? [];
    expect(command).toBe(`apply ${plan} --outbox <file>`);
    expect(await run(command.replace("<file>", file("count.db")).split(" "), env)).toMatchObject({ code: 0 });
    const outbox = file("o.db");
    const lines = file("l.csv", "itemID,units,wid,reasonCode\nNO-1,1,1,1\nNO-2,1,1,1\n");
    expect(
      (await run(["import", lines, "--operation", "receive", "--outbox", outbox, "--delivery", "l"], env)).code,
    ).toBe(1);
    expect(await json("outbox", "resolve", outbox, "l:2", "not-applied")).toMatchObject({
      key: "l:2",
      state: "pending",
      resolvedFrom: "rejected",
    });
    expect(await json("outbox", "cancel", outbox, "l:2", "l:3")).toMatchObject([
      { state: "canceled" },
      { state: "canceled" },
    ]);
    expect(await json("outbox", "prune", outbox, "--older-than", "1d")).toEqual({ pruned: 0 });
  });

  it("of a plan whose file exists are refused without --force", async () => {
    const { env } = await world();
    const out = file("existing.json", "mine");
    const args = ["plan", "items", file("items.csv", "shortID,description\nA,new\n"), "--out", out];
    expect(await run(args, env)).toMatchObject({ code: 2, err: expect.stringContaining("--force") });
    expect(readFileSync(out, "utf8")).toBe("mine");
    expect(await run([...args, "--force"], env)).toMatchObject({ code: 0 });
  });

  it("of get show lots in stock, or all, and what exists before what does not", async () => {
    const { env } = await serve({
      items: [{ shortID: "A" }],
      lots: [
        { shortID: "A", wID: 1, units: 5 },
        { shortID: "A", wID: 1, units: 3, shipped: OLD },
        { shortID: "A", wID: 1, units: 2, active: false },
      ],
    });
    const shown = await run(["get", "A", "NO-1", "NO-2"], env);
    expect(shown).toMatchObject({ code: 1, err: expect.stringContaining("these items were not found: NO-1, NO-2") });
    expect(shown.out).toMatch(/^1 lot$/m);
    expect(shown.out).toContain("2 lots not in stock: --all shows them, too.");
    expect((await run(["get", "A", "--all"], env)).out).toMatch(/^3 lots$/m);
    expect(JSON.parse((await run(["get", "A", "--json"], env)).out).lots).toHaveLength(1);
    expect(JSON.parse((await run(["get", "A", "NO-1", "--json"], env)).out)).toMatchObject([
      { item: { shortID: "A" } },
    ]);
  });
});
