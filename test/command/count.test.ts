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
      "spot,itemID,description,serial,uOM,book,counted",
      ",A,item A,,EA,1,",
      "R-2,B,item B,=1+1,EA,3,",
      "R-10,A,item A,,EA,7.5,",
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
      /^spot,itemID,description,serial,uOM,counted\r\n,A,item A,,EA,\r\n(?!.*7\.5)/s,
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
    expect(refused.err).toContain("line 4: counted: Invalid input: expected number");
    const unknown = file("unknown.csv", "SKU,counted,quantity\nA,7,1\n");
    expect((await run(["count", "plan", before, unknown, ...REASONS], env)).err).toContain("no column for itemID");

    const plan = file("moved-plan.json");
    const counted = file("counted.csv", "SKU,counted,remark\nB,2,x\nA,,not counted\n");
    const options = ["--map", "SKU=itemID", "--ignore", "remark", ...REASONS];
    expect((await run(["count", "plan", before, counted, ...options, "--out", plan], env)).code).toBe(0);
    await client.inventory.issue({ itemID: "B", units: 1, wid: 3, reasonCode: 1 });
    const applied = await run(["apply", plan, "--outbox", file("moved.db")], env);
    expect(applied.code).toBe(1);
    expect(applied.out).toMatch(/^stale: B {2}all bins: moved since the plan \(lot \d+ had 3, now 2\): count again$/m);
  });
});
