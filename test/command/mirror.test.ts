import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { commandFiles, run, serve } from "./support/run-command.js";

const database = commandFiles();

describe("stocklot mirror", () => {
  it("copies once, then only changes, and reports the state of the copy", async () => {
    const { sandbox, env } = await serve({ items: 30, lots: 100 });
    const args = ["mirror", "--sqlite", database("once")];
    expect(await run([...args, "--status"], {})).toEqual({
      code: 1,
      out: "",
      err: `stocklot: --sqlite: ${database("once")} does not exist, so there is no copy yet. Check the path, or run the mirror.\n`,
    });
    expect(existsSync(database("once"))).toBe(false);
    const first = await run(args, env);
    expect(first).toMatchObject({ code: 0, out: expect.stringMatching(/^lots +100 +0 +0 +100$/m) });
    const sent = sandbox.requests.length;
    const status = await run([...args, "--status"], env);
    expect(status).toMatchObject({ code: 0, out: expect.stringMatching(/^lots +100 +\d{4}-\d\d-\d\dT/m) });
    expect(sandbox.requests.length).toBe(sent);
    const second = await run([...args, "--json"], env);
    expect(JSON.parse(second.out)).toMatchObject({ added: 0, removed: 0 });
  });

  it("records changes with --history, which the next runs continue, until --history off", async () => {
    const { env } = await serve({ items: 5, lots: 20 });
    const args = ["mirror", "--sqlite", database("history")];
    const changesFrom = async () => JSON.parse((await run([...args, "--status", "--json"], {})).out)[0].changesFrom;
    expect((await run([...args, "--history", "90"], env)).code).toBe(0);
    const from = await changesFrom();
    expect(from).toEqual(expect.any(Number));
    expect((await run(args, env)).code).toBe(0);
    expect(await changesFrom()).toBe(from);
    expect((await run([...args, "--history", "off"], env)).code).toBe(0);
    expect(await changesFrom()).toBeNull();
  });

  it("confirms unexpected removals with an option of its own", async () => {
    const args = ["mirror", "--sqlite", database("removals"), "--full"];
    const before = await serve({ items: 5, lots: 300 });
    const after = await serve({ items: 5, lots: 20 });
    const env = { ...after.env, STOCKLOT_SERVICE_ID: "one" };
    expect((await run(args, { ...before.env, STOCKLOT_SERVICE_ID: "one" })).code).toBe(0);
    const refused = await run(args, env);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(
      /records of lots\. None of them was removed .* allowRemovals: true \}\)\.\nHere, allowRemovals is set by --allow-removals\.\n$/,
    );
    expect((await run([...args, "--allow-removals"], env)).code).toBe(0);
  });

  it("fails with --status if the last run failed or the copy is too old", async () => {
    const served = await serve({ items: 5, lots: 20 });
    const env = { ...served.env, STOCKLOT_SERVICE_ID: "one" };
    const args = ["mirror", "--sqlite", database("alarm")];
    expect((await run(args, env)).code).toBe(0);
    expect((await run([...args, "--status", "--max-lag", "1h"], {})).code).toBe(0);
    const old = await run([...args, "--status", "--max-lag", "1ms"], {});
    expect(old).toMatchObject({ code: 1, out: expect.stringContaining("The copy is older than 0 s.") });
    expect((await run(args, { ...env, STOCKLOT_BASE_URL: "http://127.0.0.1:1/api/v1" })).code).toBe(1);
    const failed = await run([...args, "--status"], {});
    expect(failed).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^lots: failed since \d{4}-.*: ConnectionError: /m),
    });
  });

  it("copies stock levels of warehouses", async () => {
    const { env } = await serve({ items: 5, lots: 20 });
    const args = ["mirror", "--sqlite", database("warehouses")];
    const { code, out } = await run([...args, "--warehouses", "1,3"], env);
    expect(code).toBe(0);
    expect(out).toContain("warehouseStockLevels");
    const status = await run([...args, "--status"], {});
    expect(status).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^warehouseStockLevels\/3 +[1-9]/m) });
    const other = await run([...args, "--status", "--warehouses", "1,2"], {});
    expect(other).toMatchObject({ code: 1, out: expect.stringMatching(/^warehouseStockLevels\/2 .* never$/m) });
  });

  it("says that its file cannot be opened", async () => {
    const { env } = await serve();
    const { code, err } = await run(["mirror", "--sqlite", database()], env);
    expect(code).toBe(1);
    expect(err).toMatch(/unable to open database file/);
    expect(err).not.toContain("    at ");
  });
});
