import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { commandFiles, run, serve } from "./support/run-command.js";

const fileNamed = commandFiles();

const ITEMS = [
  { shortID: "A", description: "item A", category: 12, units: 1 },
  { shortID: "B", description: "item B", category: 12, units: 1 },
  ...Array.from({ length: 40 }, (_, index) => ({ shortID: `K${index}`, category: 12, description: "" })),
];
const REST = ITEMS.slice(2).map(({ shortID }) => `${shortID};;12;\n`);

describe("stocklot plan and apply", () => {
  it("shows the difference of a CSV file, writes a plan, and applies it once", async () => {
    const { env, sandbox } = await serve({ items: ITEMS, lots: [] });
    const file = fileNamed("erp.csv", `SKU;description;category;remark\nA;another;12;x\nD;new;12;y\n${REST.join("")}`);
    const options = ["--map", "SKU=shortID", "--ignore", "remark", "--delimiter", ";", "--set", "putUp=box"];
    const args = ["plan", "items", file, ...options];
    const shown = await run([...args, "--exit-code"], env);
    expect(shown).toMatchObject({ code: 4, err: "" });
    expect(shown.out).toContain("+ 1 create  ~ 41 update  - 0 discontinue  = 0 unchanged  ! 0 blocked");
    expect(shown.out).toMatch(/^ {4}description {2}"item A" → "another"$/m);
    expect(sandbox.requests.every(({ method, path }) => method === "GET" || path === "/Token")).toBe(true);

    const plan = fileNamed("plan.json");
    expect(await run([...args, "--out", plan], env)).toMatchObject({
      code: 0,
      err: expect.stringContaining(`To apply it:\n  stocklot apply ${plan}\n`),
    });
    expect((await run(["plan", "show", plan], {})).out).toBe(shown.out);
    const applied = await run(["apply", plan], env);
    expect(applied).toMatchObject({ code: 0, out: expect.stringMatching(/^42 items applied, \d+ requests/m) });
    const again = await run(["apply", plan, "--json"], env);
    expect(again.code).toBe(0);
    expect(JSON.parse(again.out)).toMatchObject({ applied: 42, stale: [], rejected: [], unknown: [] });
    expect(sandbox.requests.filter(({ method, path }) => method === "POST" && path === "/Item")).toHaveLength(1);
    expect(await run([...args, "--exit-code"], env)).toMatchObject({ code: 0 });
  });

  it("discontinues owned items only, and lists what needs a person", async () => {
    const { env, sandbox } = await serve({ items: ITEMS, lots: [] });
    const rows = ITEMS.slice(1).map(({ shortID }) => JSON.stringify({ shortID }));
    const file = fileNamed("erp.ndjson", rows.join("\n"));
    const absent = ["plan", "items", file, "--absent", "discontinue"];
    expect(await run(absent, env)).toMatchObject({ code: 2, err: expect.stringContaining("needs --owns") });
    const plan = fileNamed("absent.json");
    const owned = await run([...absent, "--owns", "category=12", "--out", plan], env);
    expect(owned.err).toContain("- 1 discontinue");
    sandbox.addFault({ method: "DELETE", path: "/Item/A", fault: 409 });
    const applied = await run(["apply", plan, "--outbox", fileNamed("absent.db")], env);
    expect(applied.code).toBe(1);
    expect(applied.out).toMatch(/^rejected: A: .*409/m);
  });

  it("names wrong lines, and refuses a source that is not complete, and a plan that was changed", async () => {
    const { env, sandbox } = await serve({ items: ITEMS, lots: [] });
    const wrong = fileNamed("wrong.csv", "shortID,category\nA,x\n\nB,1\na,2\n");
    const { code, err } = await run(["plan", "items", wrong], env);
    expect(code).toBe(2);
    expect(err).toContain("line 2: category: Invalid input");
    expect(err).toContain('line 5: shortID: "a" is the same item as in line 2');
    const unknown = fileNamed("unknown.csv", "shortID,descripton\nA,x\n");
    expect((await run(["plan", "items", unknown], env)).err).toContain('did you mean "description"?');
    const named = await run(["plan", "items", fileNamed("named.csv", "shortID\nA\n"), "--fields", "nosuch"], env);
    expect(named).toMatchObject({
      code: 2,
      err: expect.stringContaining('--fields: "nosuch" is a field that no item has'),
    });
    const half = fileNamed("half.csv", "shortID\nA\n");
    const removed = await run(["plan", "items", half, "--absent", "discontinue", "--owns", "category=12"], env);
    expect(removed).toMatchObject({ code: 1, err: expect.stringContaining("--max-discontinued-share") });
    const plan = fileNamed("changed.json");
    await run(["plan", "items", fileNamed("one.csv", "shortID,description\nA,other\n"), "--out", plan], env);
    fileNamed("changed.json", readFileSync(plan, "utf8").replace("other", "Other"));
    const refused = await run(["apply", plan, "--outbox", fileNamed("changed.db")], env);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("was changed") });
    expect(sandbox.requests.every(({ method, path }) => method === "GET" || path === "/Token")).toBe(true);
  });
});
