import { describe, expect, it } from "vitest";
import { commandFiles, run, serve } from "./support/run-command.js";

commandFiles();

const OPTIONS = {
  items: [{ shortID: "BOLT-M8", description: "Hex bolt", uOM: "EA" }, { shortID: "NUT-M8" }],
  lots: [
    { shortID: "BOLT-M8", wID: 1, spot: "A-01", units: 40 },
    {
      shortID: "BOLT-M8",
      wID: 3,
      spot: "B\u001b[2J-07",
      units: 2.5,
      hold: true,
      serial: "a serial number of many letters",
    },
    { shortID: "NUT-M8", wID: 1, spot: "A-02", units: 9 },
  ],
};

describe("stocklot get", () => {
  it("shows the item, its stock level and its lots, without control characters", async () => {
    const { env, sandbox } = await serve(OPTIONS);
    const { code, out, err } = await run(["get", "BOLT-M8"], env);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^BOLT-M8 {2}Hex bolt$/m);
    expect(out).toMatch(/^Stock in all warehouses$/m);
    expect(out).toMatch(/^ *40 +42\.5 +0 +2\.5 /m);
    expect(out).toMatch(/^2 lots$/m);
    expect(out).toMatch(/A-01 +40 /);
    expect(out).toMatch(/B\ufffd\[2J-07 +2\.5 .*on hold$/m);
    expect(out).not.toContain("\u001b");
    expect(out).not.toContain("A-02");
    expect(sandbox.requests.length).toBeLessThan(8);
  });

  it("prints JSON, of one warehouse", async () => {
    const { env } = await serve(OPTIONS);
    const { code, out } = await run(["get", "BOLT-M8", "--wid", "3", "--json"], env);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      item: { shortID: "BOLT-M8" },
      stockLevel: { inStock: 2.5, onHold: 2.5, available: 0 },
      lots: [{ wID: 3, units: 2.5 }],
    });
  });

  it("shows several items, whose stock levels share their pages", async () => {
    const { env, sandbox } = await serve(OPTIONS);
    const { code, out } = await run(["get", "NUT-M8", "BOLT-M8"], env);
    expect(code).toBe(0);
    expect(out.indexOf("NUT-M8")).toBeLessThan(out.indexOf("BOLT-M8"));
    expect(out).toMatch(/^1 lot$/m);
    expect(out).toMatch(/^2 lots$/m);
    expect(sandbox.requests.filter(({ path }) => path === "/Inventory/StockLevels").length).toBeLessThan(3);
    const json = await run(["get", "NUT-M8", "BOLT-M8", "--json"], env);
    expect(JSON.parse(json.out)).toMatchObject([
      { item: { shortID: "NUT-M8" }, stockLevel: { inStock: 9 } },
      { item: { shortID: "BOLT-M8" }, stockLevel: { inStock: 42.5 } },
    ]);
    const missing = await run(["get", "NUT-M8", "NO-1", "NO-2"], env);
    expect(missing).toMatchObject({ code: 1, err: expect.stringMatching(/NO-1.*NO-2/) });
  });

  it("reports that there is no such item", async () => {
    const { env } = await serve(OPTIONS);
    const { code, out, err } = await run(["get", "NO-SUCH"], env);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("404 Item NO-SUCH was not found.");
  });
});
