import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { InventoryClient } from "stocklot";
import type { Sandbox, SandboxOptions } from "stocklot/sandbox";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve, start } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-count-"));
afterAll(() => rmSync(directory, { recursive: true }));
const file = (name: string) => join(directory, name);
const write = (name: string, text: string) => {
  writeFileSync(file(name), text);
  return file(name);
};

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

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

async function serveWarehouse() {
  const served = await serve(WAREHOUSES);
  const stock = () => {
    const { requests } = served.sandbox;
    return requests.filter(({ method, path }) => method === "POST" && path.startsWith("/Inventory"));
  };
  return { ...served, transactions: stock };
}

const clientOf = ({ baseUrl, credentials, fetch }: Sandbox) =>
  new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false });

describe("stocklot count", () => {
  it("writes a snapshot and a sheet, plans the filled sheet, and applies the plan", async () => {
    const { env, transactions } = await serveWarehouse();
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
    const counted = write("filled.csv", filled);
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
    const { env } = await serveWarehouse();
    const args = [
      "count",
      "snapshot",
      "--wid",
      "3",
      "--out",
      file("blind.json"),
      "--sheet",
      file("blind.csv"),
      "--blind",
    ];
    expect((await run(args, env)).code).toBe(0);
    const sheet = readFileSync(file("blind.csv"), "utf8");
    expect(sheet).toMatch(/^spot,itemID,description,serial,uOM,counted\r\n,A,item A,,EA,\r\n/);
    expect(sheet).not.toContain("7.5");
  });

  it("reports what moved, and names wrong rows by their lines", async () => {
    const { env, sandbox } = await serveWarehouse();
    const before = file("moved.json");
    await run(["count", "snapshot", "--wid", "3", "--out", before], env);
    const wrong = write("wrong.csv", "itemID;counted\nA;7\na;7\nB;many\n");
    const refused = await run(["count", "plan", before, wrong, ...REASONS, "--delimiter", ";"], env);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain("line 3: counts the same stock as line 2");
    expect(refused.err).toContain("line 4: counted: Invalid input: expected number");
    const unknown = write("unknown.csv", "SKU,counted,quantity\nA,7,1\n");
    expect((await run(["count", "plan", before, unknown, ...REASONS], env)).err).toContain("no column for itemID");

    const plan = file("moved-plan.json");
    const counted = write("counted.csv", "SKU,counted,remark\nB,2,x\nA,,not counted\n");
    const options = ["--map", "SKU=itemID", "--ignore", "remark", ...REASONS];
    expect((await run(["count", "plan", before, counted, ...options, "--out", plan], env)).code).toBe(0);
    await clientOf(sandbox).inventory.issue({ itemID: "B", units: 1, wid: 3, reasonCode: 1 });
    const applied = await run(["apply", plan, "--outbox", file("moved.db")], env);
    expect(applied.code).toBe(1);
    expect(applied.out).toMatch(/^stale: B {2}all bins: moved since the plan \(lot \d+ had 3, now 2\): count again$/m);
  });

  it("books nothing twice if the process is killed", async () => {
    const skus = Array.from({ length: 12 }, (_, index) => `K${index}`);
    const { env, sandbox } = await serve({
      items: skus.map((shortID) => ({ shortID })),
      lots: skus.flatMap((shortID) => [2, 10].map((units) => ({ received: OLD, shortID, units, spot: "A", wID: 3 }))),
      warehouses: [{ wID: 3, name: "Main" }],
      latencyMs: [0, 20],
    });
    const client = clientOf(sandbox);
    const [before, plan, path] = [file("kill.json"), file("kill-plan.json"), file("kill.db")];
    await run(["count", "snapshot", "--wid", "3", "--out", before], env);
    const counted = write("kill.csv", `itemID,counted\n${skus.map((sku, n) => `${sku},${n % 10}\n`).join("")}`);
    await run(["count", "plan", before, counted, ...REASONS, "--out", plan], env);
    const writes = () => sandbox.requests.filter(({ path: at }) => /Receive|Issue/.test(at)).length;
    const args = ["apply", plan, "--outbox", path, "--settle", "300ms", "--timeout", "300ms", "--json"];
    const { child, ended } = start(args, env);
    while (writes() < 4) await sleep(2);
    child.kill("SIGKILL");
    await ended;
    const { code, out } = await run(args, env);
    const { applied, stale, rejected, unknown, canceled } = JSON.parse(out);
    expect([stale, rejected]).toEqual([[], []]);
    expect(applied + unknown.length + canceled.length).toBe(skus.length);
    expect(code).toBe(unknown.length + canceled.length > 0 ? 1 : 0);
    const open = new Set([...unknown, ...canceled].map(({ itemID }) => itemID));
    const counts = new Map(skus.map((sku, n) => [sku, n % 10]));
    const levels = await Promise.all(skus.map((sku) => client.inventory.getStockLevel(sku, { wid: 3 })));
    for (const [index, level] of levels.entries()) {
      const sku = skus[index] ?? "";
      if (!open.has(sku)) expect([sku, level?.inStock]).toEqual([sku, counts.get(sku)]);
      expect(level?.inStock).toBeGreaterThanOrEqual(counts.get(sku) ?? 0);
      expect(level?.inStock).toBeLessThanOrEqual(12);
    }
  });
});
