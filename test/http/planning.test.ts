import { describe, expect, it } from "vitest";
import { type Checkpoint, type ClientOptions, InputValidationError, InventoryClient } from "../../src/index.js";
import { createSandbox, type Sandbox } from "../../src/sandbox/index.js";

const clientOf = (sandbox: Sandbox, options: ClientOptions = {}) =>
  new InventoryClient({ baseUrl: sandbox.baseUrl, ...sandbox.credentials, fetch: sandbox.fetch, ...options });

const listings = (sandbox: Sandbox) => sandbox.requests.filter(({ path }) => !path.endsWith("/Token"));

describe("the estimate of a list", () => {
  it("takes one request for one record, with the same filters", async () => {
    const sandbox = createSandbox({ items: 20, lots: 1_200 });
    const client = clientOf(sandbox, { rateLimit: false });
    const estimate = await client.inventory.listLots({ wid: 1, sort: "recNo" }).estimate();
    const { totalCount } = await client.inventory.listLots({ wid: 1, pageSize: 1 }).page();
    expect(estimate).toMatchObject({ records: totalCount, pages: Math.ceil(totalCount / 250) });
    expect(listings(sandbox)[0]).toMatchObject({ query: { pageSize: "1", page: "1", sort: "recNo" } });
    expect(listings(sandbox)[0]?.path).toMatch(/\/Inventory\/1$/);
    expect(listings(sandbox).length).toBe(2);
  });

  it.each([
    { name: "as it is", params: {}, options: {}, records: 1_200, pages: 5, requests: 5 },
    { name: "gapless", params: {}, options: { gapless: true }, records: 1_200, pages: 5, requests: 6 },
    { name: "with small pages", params: { pageSize: 100 }, options: {}, records: 1_200, pages: 12, requests: 12 },
    {
      name: "with pages beyond the cap",
      params: { pageSize: 999 },
      options: {},
      records: 1_200,
      pages: 5,
      requests: 5,
    },
    {
      name: "gapless, with pages that are too small",
      params: { pageSize: 5 },
      options: { gapless: true },
      records: 1_200,
      pages: 48,
      requests: 64,
    },
    { name: "from a later page", params: { page: 4 }, options: {}, records: 450, pages: 2, requests: 2 },
    { name: "from after the end", params: { page: 40 }, options: {}, records: 0, pages: 1, requests: 1 },
  ])("counts what the options request: $name", async ({ name: _, params, options, ...expected }) => {
    const client = clientOf(createSandbox({ lots: 1_200, rateLimit: false }), { rateLimit: false });
    expect(await client.inventory.listLots(params, options).estimate()).toMatchObject(expected);
  });

  it("reports how long it takes within the limit", async () => {
    const sandbox = createSandbox({ lots: 1_200, rateLimit: false });
    const client = clientOf(sandbox, { rateLimit: { requests: 10, intervalMs: 60_000, reserved: 8 } });
    // 5 pages: the token and the estimate have used two slots of ten, eight are reserved, two return each minute.
    const { durationMs } = await client.inventory.listLots().estimate();
    expect(durationMs).toBeGreaterThanOrEqual(180_000);
    expect(durationMs).toBeLessThan(200_000);
    const soon = await clientOf(sandbox, { rateLimit: false }).inventory.listLots().estimate();
    expect(soon.durationMs).toBeLessThan(20_000);
  });

  it("counts what is left after a checkpoint", async () => {
    const client = clientOf(createSandbox({ lots: 1_200 }));
    const { checkpoint } = await firstPages(client);
    const estimate = await client.inventory.listLots({}, { from: checkpoint }).estimate();
    expect(estimate).toMatchObject({ records: 700, pages: 3, requests: 3 });
  });

  it("rejects wrong arguments with nothing sent", async () => {
    const sandbox = createSandbox();
    await expect(clientOf(sandbox).items.list({ page: 0 }).estimate()).rejects.toThrow(InputValidationError);
    expect(sandbox.requests).toEqual([]);
  });
});

describe("onProgress", () => {
  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("mine");
      },
    ],
    ["rejects", () => Promise.reject(new Error("mine"))],
    ["throws a value that is not an Error", () => Promise.reject(undefined)],
  ])("that %s is logged, and the iteration continues", async (_, onProgress) => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const logged: string[] = [];
      const error = (line: string) => void logged.push(line);
      const logger = { debug() {}, info() {}, warn() {}, error };
      const client = clientOf(createSandbox({ lots: 600 }), { logger });
      for (const gapless of [false, true]) {
        expect(await client.inventory.listLots({}, { gapless, onProgress }).toArray()).toHaveLength(600);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(logged).toHaveLength(6);
      for (const line of logged) expect(line).toContain("onProgress");
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });
});

/** Reads two pages of lots and ends in the third. */
async function firstPages(client: InventoryClient): Promise<{ lots: number[]; checkpoint: Checkpoint }> {
  const list = client.inventory.listLots();
  const lots: number[] = [];
  for await (const { recNo } of list) {
    if (lots.length === 510) break;
    lots.push(recNo);
  }
  const checkpoint = list.checkpoint();
  if (checkpoint === null) throw new Error("two pages were consumed");
  return { lots: lots.slice(0, 500), checkpoint: JSON.parse(JSON.stringify(checkpoint)) };
}

describe("from a checkpoint", () => {
  it.each([
    "items.list",
    "inventory.listLots",
    "inventory.listStockLevels",
    "paginate",
  ])("%s continues", async (name) => {
    const sandbox = createSandbox({ items: 700, lots: 1_000 });
    const client = clientOf(sandbox);
    const list = (from?: Checkpoint) => {
      const options = { gapless: true, from };
      if (name === "items.list") return client.items.list({ includeDiscontinued: true }, options);
      if (name === "inventory.listLots") return client.inventory.listLots({}, options);
      if (name === "paginate") return client.paginate<{ recNo: number }>({ path: "/Inventory", key: "recNo" }, options);
      return client.inventory.listStockLevels({}, options);
    };
    const whole: object[] = await list().toArray();
    const first = list();
    const given: object[] = [];
    for await (const record of first) if (given.push(record) === 260) break;
    const rest: object[] = await list(first.checkpoint() ?? undefined).toArray();
    expect([...given.slice(0, 250), ...rest]).toEqual(whole);
  });

  it("copies it, so that later changes to it have no effect", async () => {
    const client = clientOf(createSandbox({ lots: 1_200 }));
    const { lots, checkpoint } = await firstPages(client);
    const rest = client.inventory.listLots({}, { from: checkpoint });
    checkpoint.end = 0;
    checkpoint.keys.length = 0;
    const all = [...lots, ...(await rest.toArray()).map(({ recNo }) => recNo)];
    expect(all.length).toBe(1_200);
    expect(new Set(all).size).toBe(1_200);
    expect((await rest.toArray()).length, "each time it is used").toBe(700);
  });

  it.each([
    { name: "of another warehouse", params: { wid: 1 } },
    { name: "of another order", params: { sort: "recNo" } },
    { name: "of another direction", params: { direction: "DESC" as const } },
    { name: "of another page size", params: { pageSize: 100 } },
    { name: "of another moment", params: { modifiedSince: "2026-01-01" } },
    { name: "of a list sorted for gapless", params: {}, gapless: true },
  ])("a checkpoint $name is refused at first use", async ({ params, gapless }) => {
    const sandbox = createSandbox({ lots: 1_200 });
    const client = clientOf(sandbox);
    const { checkpoint } = await firstPages(client);
    const before = sandbox.requests.length;
    const list = client.inventory.listLots(params, { from: checkpoint, gapless });
    await expect(list.toArray()).rejects.toThrow(/from: is a checkpoint of another list/);
    await expect(list.estimate()).rejects.toThrow(InputValidationError);
    expect(sandbox.requests.length).toBe(before);
  });

  it.each<[string, (checkpoint: Checkpoint) => unknown]>([
    ["nothing", () => null],
    ["text", () => "250"],
    ["a part of one", ({ end }) => ({ end })],
    ["another version", (checkpoint) => ({ ...checkpoint, version: 2 })],
    ["a position before the list", (checkpoint) => ({ ...checkpoint, end: -1 })],
    ["invalid keys", (checkpoint) => ({ ...checkpoint, keys: [{}] })],
    ["an extra field", (checkpoint) => ({ ...checkpoint, more: 1 })],
  ])("%s is refused at first use", async (_, spoil) => {
    const client = clientOf(createSandbox({ lots: 1_200 }));
    const { checkpoint } = await firstPages(client);
    const from: Checkpoint = JSON.parse(JSON.stringify(spoil(checkpoint)));
    await expect(client.inventory.listLots({}, { from }).pages().next()).rejects.toMatchObject({
      name: "InputValidationError",
      issues: expect.arrayContaining([expect.objectContaining({ path: expect.arrayContaining(["from"]) })]),
    });
  });

  it("accepts the same parameters in any order", async () => {
    const client = clientOf(createSandbox({ lots: 1_200 }));
    const first = client.inventory.listLots({ direction: "DESC", sort: "recNo", wid: undefined });
    await first.toArray();
    const from = first.checkpoint() ?? undefined;
    expect(await client.inventory.listLots({ sort: "recNo", direction: "DESC" }, { from }).toArray()).toEqual([]);
  });
});
