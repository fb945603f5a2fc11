import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve, start } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-mirror-command-"));
afterAll(() => rmSync(directory, { recursive: true }));
const database = (name: string) => join(directory, `${name}.db`);

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

describe("stocklot mirror", () => {
  it("copies once, then only changes, and reports the state of the copy", async () => {
    const { sandbox, env } = await serve({ items: 30, lots: 100 });
    const args = ["mirror", "--sqlite", database("once")];
    expect(await run([...args, "--status"], env)).toMatchObject({
      code: 1,
      out: expect.stringContaining("not complete"),
    });
    const first = await run(args, env);
    expect(first).toMatchObject({ code: 0, out: expect.stringMatching(/^lots +100 +0 +0 +100$/m) });
    const sent = sandbox.requests.length;
    const status = await run([...args, "--status"], env);
    expect(status).toMatchObject({ code: 0, out: expect.stringMatching(/^lots +100 +\d{4}-\d\d-\d\dT/m) });
    expect(sandbox.requests.length).toBe(sent);
    const second = await run([...args, "--json"], env);
    expect(JSON.parse(second.out)).toMatchObject({ added: 0, removed: 0 });
  });

  it("copies stock levels of warehouses", async () => {
    const { env } = await serve({ items: 5, lots: 20 });
    const { code, out } = await run(["mirror", "--sqlite", database("warehouses"), "--warehouses", "1,3"], env);
    expect(code).toBe(0);
    expect(out).toContain("warehouseStockLevels");
  });

  it("runs again and again until Ctrl-C", async () => {
    const { env } = await serve({ items: 5, lots: 20 });
    const { child, output, ended } = start(
      ["mirror", "--sqlite", database("watch"), "--watch", "200ms", "--json"],
      env,
    );
    while (output.out.split("\n").length < 4) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    const { code, err } = await ended;
    expect(code).toBe(0);
    expect(err).not.toContain("    at ");
  });

  it.each([
    [["mirror"], 2, /--sqlite or --postgres is required/],
    [["mirror", "--sqlite", "a", "--postgres", "b"], 2, /cannot be used with/],
    [["mirror", "--sqlite", "a", "--watch", "often"], 2, /duration/],
    [["mirror", "--sqlite", "a", "--warehouses", "x"], 2, /integer/],
  ])("refuses %j", async (args, exitCode, message) => {
    const { env } = await serve();
    const { code, err } = await run(args, env, directory);
    expect(code).toBe(exitCode);
    expect(err).toMatch(message);
    expect(err).not.toContain("    at ");
  });

  it("says why a database cannot be opened", async () => {
    const { env } = await serve();
    const { code, err } = await run(["mirror", "--sqlite", join(directory, "missing", "stock.db")], env);
    expect(code).toBe(1);
    expect(err).toMatch(/^stocklot: .*missing/);
    expect(err).not.toContain("    at ");
  });
});
