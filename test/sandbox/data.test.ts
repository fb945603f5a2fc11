import { createSandbox, type SandboxItem, type SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { callerOf } from "./support/caller.js";

async function everything(options: SandboxOptions) {
  const api = callerOf(createSandbox({ rateLimit: false, ...options }));
  const all = async (path: string) => {
    const records = [];
    for (let page = 1; ; page += 1) {
      const { value, hasMore } = (await api.get(`${path}?pageSize=250&page=${page}`)).body;
      records.push(...value);
      if (!hasMore) return records;
    }
  };
  return { items: await all("/Item/All"), lots: await all("/Inventory"), levels: await all("/Inventory/StockLevels") };
}

describe("generated data", () => {
  it("are the same for the same seed, on any day, and others for another seed", async () => {
    const one = await everything({ seed: 7, items: 30, lots: 100 });
    expect(await everything({ seed: 7, items: 30, lots: 100, now: () => 0 })).toEqual(one);
    expect(await everything({ seed: 8, items: 30, lots: 100 })).not.toEqual(one);
  });

  it("can be made for the caller's own items and warehouses", async () => {
    const { lots } = await everything({ items: [{ shortID: "X" }], lots: 10, warehouses: [{ wID: 9, name: "Nine" }] });
    expect(lots).toHaveLength(10);
    for (const lot of lots) expect(lot).toMatchObject({ shortID: "X", wID: 9, warehouse: "Nine" });
  });
});

describe("BOLT-M8, the item of the guides", () => {
  it.each([
    {},
    { seed: 9 },
    { items: 1, lots: 4 },
    { items: 400, lots: 50, seed: 123 },
    { items: 3, lots: 3, warehouses: [3, 5, 7].map((wID) => ({ wID, name: `W${wID}` })) },
  ] satisfies SandboxOptions[])("is active and in stock in every warehouse with %j", async (options) => {
    const sandbox = createSandbox({ ...options, rateLimit: false });
    const api = callerOf(sandbox);
    const { body: bolt } = await api.get("/Item?key=BOLT-M8&type=id");
    expect(bolt).toMatchObject({ shortID: "BOLT-M8", discontinued: false, uOM: "EA" });
    const { items, lots } = await everything(options);
    expect([items.length, lots.length]).toEqual([options.items ?? 250, options.lots ?? 2000]);
    for (const { wID } of options.warehouses ?? [{ wID: 1 }, { wID: 2 }, { wID: 3 }, { wID: 4 }]) {
      const levels = (await api.get(`/Inventory/StockLevels/${wID}?pageSize=250`)).body.value;
      const level = levels.find(({ partNo }: { partNo: number }) => partNo === bolt.partNo);
      expect(level.available, `warehouse ${wID}`).toBeGreaterThan(0);
      const receipt = { itemID: "BOLT-M8", units: 50, wid: wID, reasonCode: 1 };
      expect((await api.post("/Inventory/Receive", receipt)).status).toBe(201);
      expect((await api.post("/Inventory/Issue", receipt)).status).toBe(200);
    }
  });
});

describe("data of the caller's own", () => {
  it("get defaults for what is missing or undefined", async () => {
    const given: SandboxItem[] = [{ shortID: "A", uOM: undefined }];
    const { items, lots } = await everything({ items: given, lots: [{ partNo: 1001, wID: 3 }], now: () => 0 });
    expect(items[0]).toMatchObject({ partNo: 1001, uOM: "EA", created: "1970-01-01T00:00:00.000Z" });
    expect(lots[0]).toMatchObject({ recNo: 100_001, shortID: "A", warehouse: "South", units: 1, shipped: null });
  });

  it("are not changed by what happens to them", async () => {
    const items = Object.freeze([Object.freeze({ shortID: "A", description: "old" })]);
    const lots = Object.freeze([Object.freeze({ shortID: "A", units: 5 })]);
    const api = callerOf(createSandbox({ items, lots }));
    await api.put("/Item", { shortID: "A", description: "new" });
    await api.post("/Inventory/Issue", { itemID: "A", units: 5, wid: 1, reasonCode: 1 });
    expect([items[0], lots[0]]).toEqual([
      { shortID: "A", description: "old" },
      { shortID: "A", units: 5 },
    ]);
  });
});
