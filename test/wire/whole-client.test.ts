import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InventoryClient, type Item, type Lot, type StockLevel } from "../../src/index.js";
import { createSandbox, type SandboxServer } from "../../src/sandbox/index.js";
import { RUN_ALL } from "../support/runs.js";

const KEYS = ["A/B?c=d#e", "100%", "ü ✓", "+", "a b", "%2F", "…/..", "😀", "x".repeat(300)];

const LOTS = RUN_ALL ? 2_000 : 600;
const sandbox = createSandbox({ items: 400, lots: LOTS, seed: 7, rateLimit: false });
let server: SandboxServer;
let client: InventoryClient;

/** All records of the service, read page by page with plain fetch. */
async function held<T>(path: string): Promise<T[]> {
  const response = await fetch(`${server.url}/Token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: sandbox.credentials.clientId,
      client_secret: sandbox.credentials.clientSecret,
    }),
  });
  const { access_token: token } = JSON.parse(await response.text());
  const records: T[] = [];
  for (let page = 1, more = true; more; page += 1) {
    const response = await fetch(`${server.url}${path}?page=${page}&pageSize=100`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { value, hasMore } = JSON.parse(await response.text());
    records.push(...value);
    more = hasMore;
  }
  return records;
}

beforeAll(async () => {
  server = await sandbox.listen({ port: 0 });
  client = new InventoryClient({ baseUrl: server.url, ...sandbox.credentials, rateLimit: false });
});

afterAll(async () => {
  await client.close();
  await server.close();
});

describe("the client returns all records of the service", () => {
  it.each(RUN_ALL ? [1, 25, 250, 1_000] : [25, 1_000])("with a requested page size of %i", async (pageSize) => {
    const items = await held<Item>("/Item/All");
    expect(items).toHaveLength(400);
    expect(await client.items.list({ includeDiscontinued: true, pageSize }).toArray()).toEqual(items);
    expect(await client.items.list({ pageSize }).toArray()).toEqual(items.filter((item) => !item.discontinued));
    const lots = await held<Lot>("/Inventory");
    expect(lots).toHaveLength(LOTS);
    expect(await client.inventory.listLots({ pageSize }).toArray()).toEqual(lots);
    expect(await client.inventory.listLots({ pageSize }, { readAhead: 8 }).toArray()).toEqual(lots);
    const levels = await held<StockLevel>("/Inventory/StockLevels");
    expect(await client.inventory.listStockLevels({ pageSize }).toArray()).toEqual(levels);
  });

  it.each([2, 250])("gapless too, with a page size of %i", async (pageSize) => {
    const lots = await held<Lot>("/Inventory");
    const read = await client.inventory.listLots({ pageSize }, { gapless: true, readAhead: 3 }).toArray();
    expect(read.map((lot) => lot.recNo).sort()).toEqual(lots.map((lot) => lot.recNo).sort());
  });

  it("by SKU, part number, category and warehouse", async () => {
    const items = await held<Item>("/Item/All");
    for (const item of items.slice(0, 20)) {
      expect(await client.items.get(item.shortID)).toEqual(item);
      expect(await client.items.getByPartNo(item.partNo)).toEqual(item);
    }
    const category = items[0]?.category ?? 0;
    const inCategory = await client.items.listByCategory(category);
    expect(inCategory.length).toBeGreaterThan(0);
    for (const item of inCategory) expect(item.category).toBe(category);
    const lots = await held<Lot>("/Inventory");
    const wid = lots[0]?.wID ?? 0;
    expect(await client.inventory.listLots({ wid }).toArray()).toEqual(lots.filter((lot) => lot.wID === wid));
  });

  it.each(KEYS)("under the key %j", async (shortID) => {
    expect(await client.items.create({ shortID, description: "odd" })).toMatchObject({ shortID, status: "created" });
    expect(await client.items.get(shortID)).toMatchObject({ shortID, description: "odd" });
    expect(await client.items.update(shortID, { description: "changed" })).toMatchObject({
      shortID,
      status: "updated",
    });
    expect(await client.items.discontinue(shortID)).toMatchObject({ shortID, status: "discontinued" });
    expect(await client.items.get(shortID)).toMatchObject({ description: "changed", discontinued: true });
    await client.inventory.receive({ itemID: shortID, units: 1.25, wid: 1, reasonCode: 1, spot: shortID.slice(0, 20) });
    const { partNo } = await client.items.get(shortID);
    const lots = await client.inventory.listLots().toArray({ limit: 250 });
    expect(lots.find((lot) => lot.partNo === partNo)).toMatchObject({ shortID, units: 1.25 });
  });
});
