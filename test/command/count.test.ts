import { readFileSync } from "node:fs";
import type { SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { commandFiles, run, serve } from "./support/run-command.js";

const file = commandFiles();

const ITEMS = ["A", "B", "C"].map((shortID) => ({ shortID, description: `item ${shortID}`, uOM: "EA" }));
/** What was received or modified shortly before a snapshot cannot be counted. */
const OLD = "2026-01-01T00:00:00Z";
const LOTS: SandboxOptions["lots"] = [
  { received: OLD, shortID: "A", spot: "R-10", units: 5, wID: 3 },
  { received: OLD, shortID: "A", spot: "R-10", units: 2.5, wID: 3 },
  { received: OLD, shortID: "A", spot: "", units: 1, wID: 3 },
  { received: OLD, shortID: "B", spot: "R-2", serial: "=1+1", units: 3, wID: 3 },
  { received: OLD, shortID: "C", spot: "R-2", units: 9, wID: 4 },
];
const REASONS = ["--surplus", "21", "--shortage", "22"];

const WAREHOUSES = {
  items: ITEMS,
  lots: LOTS,
  warehouses: [
    { wID: 3, name: "Main" },
    { wID: 4, name: "Other" },
  ],
};

describe("stocklot count", () => {
  it("writes a snapshot and a sheet, plans the filled sheet, and applies the plan", async () => {
    const { env, sandbox } = await serve(WAREHOUSES);
    const transactions = () =>
      sandbox.requests.filter(({ method, path }) => method === "POST" && path.startsWith("/Inventory"));
    const before = file("before.json");
    const taken = await run(["count", "snapshot", "--wid", "3", "--out", before, "--sheet", file("sheet.csv")], env);
    expect(taken.code).toBe(0);
    expect(taken.err).toContain(`${before}: 4 lots in stock in warehouse 3.\n`);
    const sheet = readFileSync(file("sheet.csv"), "utf8");
    expect(sheet.split("\r\n")).toEqual([
      "spot,itemID,description,serial,uOM,book,counted,check",
      ",A,item A,,EA,1,,bhptc",
      "R-2,B,item B,=1+1,EA,3,,fxrcv",
      "R-10,A,item A,,EA,7.5,,xttrp",
      "",
    ]);
    const filled = sheet.replace("EA,1,", "EA,1,0").replace("EA,7.5,", "EA,7.5,9");
    const counted = file("filled.csv", filled);
    const shown = await run(["count", "plan", before, counted, ...REASONS, "--exit-code"], env);
    expect(shown).toMatchObject({ code: 4, err: "" });
    expect(shown.out).toContain("+ 1 receive  - 1 issue  = 0 unchanged  ! 0 blocked");
    expect(shown.out).toContain("+ A  bin R-10, without serial  book 7.5, counted 9 EA: receive 1.5 into bin R-10");
    expect(shown.out).toContain("- A  bin without a name, without serial  book 1, counted 0 EA: issue 1");
    const plan = file("plan.json");
    expect((await run(["count", "plan", before, counted, ...REASONS, "--out", plan], env)).code).toBe(0);
    expect(transactions()).toEqual([]);
    const outbox = file("count.db");
    const applied = await run(["apply", plan, "--outbox", outbox], env);
    expect(applied).toMatchObject({ code: 0, out: expect.stringMatching(/^2 groups applied, \d+ requests/m) });
    expect((await run(["apply", plan, "--outbox", outbox], env)).code).toBe(0);
    expect(transactions()).toHaveLength(2);
  });

  it("leaves the quantities out of a blind sheet", async () => {
    const { env } = await serve(WAREHOUSES);
    const sheet = file("blind.csv");
    const args = ["count", "snapshot", "--wid", "3", "--out", file("blind.json"), "--sheet", sheet, "--blind"];
    expect((await run(args, env)).code).toBe(0);
    expect(readFileSync(sheet, "utf8")).toMatch(
      /^spot,itemID,description,serial,uOM,counted,check\r\n,A,item A,,EA,,bhptc\r\n(?!.*7\.5)/s,
    );
  });

  it("reports what moved, and names wrong rows by their lines", async () => {
    const { env, client } = await serve(WAREHOUSES);
    const before = file("moved.json");
    await run(["count", "snapshot", "--wid", "3", "--out", before], env);
    const wrong = file("wrong.csv", "itemID;counted\nA;7\na;7\nB;many\n");
    const refused = await run(["count", "plan", before, wrong, ...REASONS, "--delimiter", ";"], env);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain("line 3: counts the same stock as line 2");
    expect(refused.err).toContain('line 4: counted: must be a number, not "many"\n');
    const comma = file("comma.csv", 'itemID;counted\nA;"1,5"\nB;"2,25"\nC;"7,0"\n');
    const column = await run(["count", "plan", before, comma, ...REASONS, "--delimiter", ";"], env);
    expect(column.err).toMatch(
      /comma\.csv: line 2, as in all 3 lines: counted: must be a number, not "1,5": write 1\.5, or add --decimal ,\nNothing/,
    );
    const cells = {
      "-3": "must be at least 0, not -3",
      "1,5": 'must be a number, not "1,5": write 1.5, or add --decimal ,',
    };
    for (const [cell, message] of Object.entries(cells)) {
      const file1 = file("cell.csv", `itemID;counted\nA;"${cell}"\n`);
      const { err } = await run(["count", "plan", before, file1, ...REASONS, "--delimiter", ";"], env);
      expect(err).toContain(`cell.csv: line 2: counted: ${message}\n`);
    }
    const unknown = file("unknown.csv", "SKU,counted,quantity\nA,7,1\n");
    expect((await run(["count", "plan", before, unknown, ...REASONS], env)).err).toContain("no column for itemID");

    const plan = file("moved-plan.json");
    const counted = file("counted.csv", "SKU,counted,remark\nB,2,x\nA,,not counted\n");
    const options = ["--map", "SKU=itemID", "--ignore", "remark", ...REASONS];
    expect((await run(["count", "plan", before, counted, ...options, "--out", plan], env)).code).toBe(0);
    await client.inventory.issue({ itemID: "B", units: 1, wid: 3, reasonCode: 1 });
    const applied = await run(["apply", plan, "--outbox", file("moved.db")], env);
    expect(applied.code).toBe(1);
    expect(applied.out).toMatch(
      /^stale: B {2}all bins: moved since the plan \(of 20\S+Z, warehouse 3: lot \d+ in bin R-2 had 3, now 2\): count again$/m,
    );
  });

  it("replaces no file without --force: a filled sheet would be gone", async () => {
    const { env, sandbox } = await serve(WAREHOUSES);
    const [out, sheet] = [file("kept.json", "{}"), file("kept.csv", "filled")];
    const snapshot = (...more: string[]) => run(["count", "snapshot", "--wid", "3", ...more], env);
    for (const args of [
      ["--out", out],
      ["--out", file("new.json"), "--sheet", sheet],
    ])
      expect(await snapshot(...args)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/exists already.* --force/),
      });
    expect([readFileSync(out, "utf8"), readFileSync(sheet, "utf8")]).toEqual(["{}", "filled"]);
    const same = await snapshot("--out", file("one.json"), "--sheet", file("one.json"));
    expect(same).toMatchObject({ code: 2, err: expect.stringContaining("are the same file") });
    expect(sandbox.requests).toEqual([]);
    expect(await snapshot("--out", out, "--sheet", sheet, "--force")).toMatchObject({ code: 0 });
    const counted = file("kept-counted.csv", "itemID,counted\nB,2\n");
    for (const option of ["--out", "--recount"]) {
      const refused = await run(["count", "plan", out, counted, ...REASONS, option, sheet], env);
      expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("--force") });
    }
    expect(readFileSync(sheet, "utf8")).toMatch(/^spot,itemID/);
  });

  it("names line and column of what a spreadsheet has changed, and what it was", async () => {
    const items = ["0017", "17"].map((shortID) => ({ shortID }));
    const lots = [{ received: OLD, shortID: "0017", spot: "1-2", serial: "1E5", units: 5, wID: 3 }];
    const { env } = await serve({ ...WAREHOUSES, items, lots });
    const [before, sheet] = [file("rewritten.json"), file("rewritten.csv")];
    await run(["count", "snapshot", "--wid", "3", "--out", before, "--sheet", sheet], env);
    const printed = readFileSync(sheet, "utf8").replace(",5,,", ",5,4,");
    const plan = (text: string) => run(["count", "plan", before, file("saved.csv", text), ...REASONS], env);
    expect(await plan(printed)).toMatchObject({ code: 0, out: expect.stringContaining("- 1 issue") });
    for (const [column, was, is] of [
      ["itemID", "0017", "17"],
      ["spot", "1-2", "02. Jan"],
      ["serial", "1E5", "100000"],
    ] as const)
      expect(await plan(printed.replace(was, is))).toMatchObject({
        code: 2,
        err: expect.stringContaining(
          `saved.csv: line 2: ${column}: is "${is}", but in the printed sheet ${column} was "${was}"`,
        ),
      });
  });

  it("plans several sheets, and writes a sheet of what has to be counted again, whose commands work", async () => {
    const { env, client } = await serve(WAREHOUSES);
    const [before, recount] = [file("parts.json"), file("recount.csv")];
    await run(["count", "snapshot", "--wid", "3", "--out", before], env);
    const one = file("part-1.csv", "spot,itemID,counted\nR-10,A,9\n,A,1\n");
    const two = file("part-2.csv", "spot,itemID,counted\nR-2,B,2\nR-10,A,8\n");
    const plan = (...more: string[]) => run(["count", "plan", before, one, two, ...REASONS, ...more], env);
    const parts = await plan("--recount", recount);
    expect(parts.out).toContain("+ 0 receive  - 1 issue  = 0 unchanged  ! 3 blocked");
    expect(parts.out).toContain("another group of the item is blocked (bin R-10)");
    expect(parts.out).toContain(`the group was counted twice: 9 in ${one}, 8 in ${two}`);
    expect(readFileSync(recount, "utf8").split("\r\n").slice(1)).toEqual([
      ",A,item A,,EA,1,,bhptc",
      "R-10,A,item A,,EA,7.5,,xttrp",
      "",
    ]);
    const commands = parts.err.split("\n").flatMap((line) => /^ {2}stocklot (.*)$/.exec(line)?.[1] ?? []);
    const again = commands.map((command) => command.replace("<file>", file("again.json")).split(" "));
    expect(again).toHaveLength(2);
    expect(await run(again[0] ?? [], env)).toMatchObject({ code: 0 });
    file("recount.csv", readFileSync(recount, "utf8").replace(",7.5,,", ",7.5,8,"));
    expect(await run(again[1] ?? [], env)).toMatchObject({ code: 0, out: expect.stringContaining("+ 1 receive") });

    expect((await plan("--double")).out).toContain(`not counted in ${two}`);
    const same = file("part-3.csv", "spot,itemID,counted\n,A,1\nR-10,A,9\n");
    const double = await run(["count", "plan", before, one, same, "--double", ...REASONS], env);
    expect(double.out).toContain("+ 1 receive  - 0 issue  = 1 unchanged  ! 0 blocked");
    for (const args of [
      [one, one],
      [one, "--double"],
    ])
      expect(await run(["count", "plan", before, ...args, ...REASONS], env)).toMatchObject({ code: 2 });
    await client.close();
  });
});
