import { ConfigurationError, InventoryClient, type Item } from "stocklot";
import { type ItemPlan, type ItemPlanReport, planItems } from "stocklot/plan";
import { describe, expect, it, vi } from "vitest";
import { createRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { item, readItemPlan, type World, world } from "./support.js";

const bySku = (items: readonly Item[]) => new Map(items.map((one) => [one.shortID, one]));
const reported = ({ stale, rejected, unknown }: ItemPlanReport) => ({ stale, rejected, unknown });
const NOTHING = { stale: [], rejected: [], unknown: [] };

const CATALOG = [item("A"), item("B"), item("C"), ...Array.from({ length: 50 }, (_, index) => item(`K${index}`))];
const DESIRED = [
  item("A", { description: "another A" }),
  item("B", { category: 9, units: 2.5 }),
  item("D"),
  item("E"),
  item("C", { discontinued: true }),
];

async function planOf(
  { client }: World,
  desired: Parameters<typeof planItems>[0]["desired"] = DESIRED,
): Promise<ItemPlan> {
  return planItems({ client, desired });
}

describe("plan.apply of items", () => {
  it("makes the catalog as desired; the second plan is empty", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one);
    const progress: unknown[] = [];
    const report = await plan.apply({
      client: one.client,
      onProgress: (step) => progress.push(step),
    });
    expect(reported(report)).toEqual(NOTHING);
    expect(report).toMatchObject({ applied: 5, storedDifferently: [], durationMs: expect.any(Number) });
    const items = bySku(await one.items());
    expect(items.get("A")).toMatchObject({ description: "another A", category: 1 });
    expect(items.get("B")).toMatchObject({ category: 9, units: 2.5 });
    expect(items.get("C")?.discontinued).toBe(true);
    expect(items.get("E")?.description).toBe("item E");
    expect((await planOf(one)).isEmpty).toBe(true);
    expect(one.writes()).toHaveLength(5);
    expect(progress.at(-1)).toEqual({ done: 5, total: 5 });
  });

  it("does not overwrite what somebody changed since, and counts what is as desired already", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one);
    await one.client.items.update("A", { description: "by hand" });
    await one.client.items.update("B", { category: 9, units: 2.5 });
    await one.client.items.update("C", { putUp: "box" });
    await one.client.items.create(item("D"));
    await one.client.items.create(item("E", { description: "by hand" }));
    const before = one.writes().length;
    const report = await plan.apply({ client: one.client });
    expect(report.applied).toBe(2);
    expect(report.stale.map(({ shortID }) => shortID).sort()).toEqual(["A", "C", "E"]);
    expect(report.stale.find(({ shortID }) => shortID === "A")?.reason).toBe("changed meanwhile: description");
    expect(one.writes().length).toBe(before);
  });

  it("reports what the service refuses, and applies the rest", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one);
    one.sandbox.addFault({ method: "PUT", path: "/Item", times: 1, fault: 409 });
    const report = await plan.apply({ client: one.client });
    expect(report.applied).toBe(4);
    expect(report.rejected).toHaveLength(1);
    expect(report.rejected[0]?.reason).toContain("409");
  });

  it("reports as unknown what the service has confirmed, but does not show", async () => {
    const one = world(CATALOG);
    const fetch: typeof globalThis.fetch = async (input, init) =>
      init?.method === "DELETE"
        ? Response.json({ shortID: "C", status: "discontinued" })
        : one.sandbox.fetch(new Request(input, init));
    const client = new InventoryClient({ baseUrl: one.sandbox.baseUrl, ...one.sandbox.credentials, fetch });
    const report = await (await planOf(one)).apply({ client });
    expect(report).toMatchObject({ applied: 4, unknown: [{ shortID: "C" }] });
  });

  it("reports values that the service keeps in another form, which can then be ignored", async () => {
    const one = world(CATALOG);
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      const isWrite = ["POST", "PUT"].includes(request.method) && request.url.endsWith("/Item");
      const body = isWrite ? (await request.text()).replace(/another a/i, "ANOTHER A") : undefined;
      return one.sandbox.fetch(body === undefined ? request : new Request(request.url, { ...init, body }));
    };
    const client = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      fetch,
      rateLimit: false,
    });
    const plan = await planItems({ client, desired: DESIRED });
    const report = await plan.apply({ client });
    expect(report.storedDifferently).toEqual([
      { shortID: "A", field: "description", sent: "another A", stored: "ANOTHER A" },
    ]);
    expect((await planItems({ client, desired: DESIRED })).counts.update).toBe(1);
    const { storedDifferently: ignoreStoredForms } = JSON.parse(JSON.stringify(report));
    expect((await planItems({ client, desired: DESIRED, ignoreStoredForms })).isEmpty).toBe(true);
  });

  it("refuses a plan of another service", async () => {
    const one = world(CATALOG);
    const plan = readItemPlan(JSON.stringify(await planOf(one)));
    const other = world(CATALOG);
    const client = new InventoryClient({
      baseUrl: "https://other.test/api/v1",
      ...other.sandbox.credentials,
      fetch: other.sandbox.fetch,
    });
    await expect(plan.apply({ client })).rejects.toBeInstanceOf(ConfigurationError);
    expect(other.sandbox.requests).toEqual([]);
  });
});

describe("plan.apply", () => {
  it("counts a write as applied that took effect although every response was lost", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one, [item("A", { description: "another A" })]);
    one.sandbox.addFault({ method: "PUT", path: "/Item", fault: "drop-after" });
    expect(await plan.apply({ client: one.client })).toMatchObject({ applied: 1, ...NOTHING });
  });

  it("does not take a later change by somebody else for a stored form, and repeats forms that were ignored", async () => {
    let aheadMs = 0;
    const one = world(CATALOG, { now: () => Date.now() + aheadMs });
    const other = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      fetch: one.sandbox.fetch,
    });
    const client = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      fetch: async (input, init) => {
        const { method } = new Request(input, init);
        const response = await one.sandbox.fetch(new Request(input, init));
        if (method !== "PUT") return response;
        aheadMs = 60_000;
        await other.items.update("A", { description: "by hand" });
        return response;
      },
    });
    const known = { shortID: "B", field: "description", sent: "Item B", stored: "item B" };
    const desired = [item("A", { description: "another A" }), item("B", { description: "Item B" })];
    const plan = await planItems({ client, desired, ignoreStoredForms: [known] });
    expect(plan.counts).toMatchObject({ update: 1, unchanged: 1 });
    const report = await readItemPlan(JSON.stringify(plan)).apply({ client });
    expect(report).toMatchObject({ applied: 1, storedDifferently: [known] });
  });

  it("returns its report although the items cannot be read at the end", async () => {
    const one = world(CATALOG);
    const client = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      retry: false,
      fetch: async (input, init) => {
        const request = new Request(input, init);
        if (request.method === "PUT") one.sandbox.addFault({ method: "GET", path: "/Item", fault: 500 });
        return one.sandbox.fetch(request);
      },
    });
    const plan = await planOf(one, [item("A", { description: "another A" })]);
    expect(await plan.apply({ client })).toMatchObject({ applied: 1, ...NOTHING });
  });
});

describe("plan.apply within a limit", () => {
  it("bases no write on data that are older than ten minutes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    const names = Array.from({ length: 30 }, (_, index) => `N${String(index).padStart(2, "0")}`);
    const one = world(names.map((name) => item(name)));
    const plan = await planItems({ client: one.client, desired: names.map((name) => item(name, { category: 5 })) });
    const readAt = new Map<string, number>();
    const ages: number[] = [];
    const applied = plan.apply({
      client: new InventoryClient({
        baseUrl: one.sandbox.baseUrl,
        ...one.sandbox.credentials,
        rateLimit: { requests: 2, intervalMs: 60_000, reserved: 0 },
        fetch: async (input, init) => {
          const request = new Request(input, init);
          const sku = new URL(request.url).searchParams.get("key");
          const isRead = request.method === "GET";
          for (const name of isRead ? (sku === null ? names : [sku]) : []) readAt.set(name, Date.now());
          if (request.method === "PUT") {
            const body: unknown = await request.clone().json();
            ages.push(Date.now() - (readAt.get(String(Reflect.get(Object(body), "shortID"))) ?? 0));
          }
          return one.sandbox.fetch(request);
        },
      }),
    });
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(await applied).toMatchObject({ applied: 30, ...NOTHING });
    vi.useRealTimers();
    expect(ages).toHaveLength(30);
    expect(Math.max(...ages)).toBeLessThanOrEqual(600_000);
    // Otherwise the test would show nothing.
    expect(Math.max(...ages)).toBeGreaterThan(60_000);
  });
});

describe("plan.apply after crashes", () => {
  it("ends the same, and creates nothing twice, wherever the process dies and whatever others change", async () => {
    for (let seed = 1; seed <= runs(24); seed += 1) {
      const random = createRandom(seed);
      const names = Array.from({ length: 12 }, (_, index) => `S${index}`);
      const catalog = names
        .filter(() => random() < 0.6)
        .map((name) => item(name, { category: Math.floor(random() * 3) }));
      const one = world(catalog);
      const desired = names
        .filter(() => random() < 0.8)
        .map((name) => item(name, { category: Math.floor(random() * 3), discontinued: random() < 0.1 }));
      if (desired.length === 0) continue;
      const plan = await planItems({ client: one.client, desired, maxDiscontinuedShare: 1 });
      const byHand = plan.changes.filter(() => random() < 0.2).map(({ shortID }) => shortID);
      for (const shortID of byHand) {
        const exists = bySku(await one.items()).has(shortID);
        if (exists) await one.client.items.update(shortID, { putUp: "by hand", description: "by hand" });
        else await one.client.items.create(item(shortID, { description: "by hand" }));
      }
      const json = JSON.stringify(plan);
      let report: ItemPlanReport | undefined;
      for (let attempt = 0; report === undefined && attempt < 30; attempt += 1) {
        one.sandbox.clearFaults();
        const died = new AbortController();
        const before = one.writes().length;
        const limit = Math.floor(random() * 8);
        const dropped = random() < 0.5;
        if (dropped) one.sandbox.addFault({ path: "/Item", fault: "drop-after", times: 1, probability: 0.5 });
        report = await readItemPlan(json)
          .apply({
            client: one.client,
            signal: died.signal,
            onProgress: () => {
              if (one.writes().length - before > limit) died.abort(new Error("died"));
            },
          })
          .catch(() => undefined);
      }
      one.sandbox.clearFaults();
      expect(report, `seed ${seed}`).toBeDefined();
      const items = bySku(await one.items());
      for (const { operation, shortID, fields } of plan.changes) {
        const present = items.get(shortID);
        if (byHand.includes(shortID)) {
          expect(present?.description, `seed ${seed}, ${shortID}`).toBe("by hand");
          continue;
        }
        if (operation === "discontinue") expect(present?.discontinued).toBe(true);
        else
          for (const [name, { after }] of Object.entries(fields))
            expect(Reflect.get(present ?? {}, name)).toEqual(after);
      }
      const created = one.sandbox.requests.filter(
        ({ method, path, status }) => method === "POST" && path === "/Item" && status === 201,
      );
      const skus = created.map(({ body }) => Reflect.get(Object(body), "shortID"));
      expect(new Set(skus).size).toBe(skus.length);
    }
  });
});
