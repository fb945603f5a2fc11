import { ConfigurationError, type Item } from "stocklot";
import { type ItemPlanReport, planItems } from "stocklot/plan";
import { describe, expect, it, vi } from "vitest";
import { createRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { type Intercept, item, readItemPlan, type World, world } from "./support.js";

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

const planOf = ({ client }: World, desired: Parameters<typeof planItems>[0]["desired"] = DESIRED) =>
  planItems({ client, desired });

describe("plan.apply of items", () => {
  it("makes the catalog as desired; the second plan is empty", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one);
    const progress: unknown[] = [];
    const report = await plan.apply({ client: one.client, onProgress: (step) => progress.push(step) });
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
    const client = one.connect(async ({ method }, send) =>
      method === "DELETE" ? Response.json({ shortID: "C", status: "discontinued" }) : send(),
    );
    const report = await (await planOf(one)).apply({ client });
    expect(report).toMatchObject({ applied: 4, unknown: [{ shortID: "C" }] });
  });

  it("reports values that the service keeps in another form, which can then be ignored", async () => {
    const one = world(CATALOG);
    const client = one.connect(async (request, send) => {
      if (request.method !== "PUT") return send();
      const body = (await request.text()).replace("another A", "ANOTHER A");
      return send(new Request(request.url, { method: "PUT", headers: request.headers, body }));
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
    const requests = one.sandbox.requests.length;
    const client = one.connect(undefined, { baseUrl: "https://other.test/api/v1" });
    await expect(plan.apply({ client })).rejects.toBeInstanceOf(ConfigurationError);
    expect(one.sandbox.requests).toHaveLength(requests);
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
    const client = one.connect(async ({ method }, send) => {
      const response = await send();
      if (method !== "PUT") return response;
      aheadMs = 60_000;
      await one.client.items.update("A", { description: "by hand" });
      return response;
    });
    const known = { shortID: "B", field: "description", sent: "Item B", stored: "item B" };
    const desired = [item("A", { description: "another A" }), item("B", { description: "Item B" })];
    const plan = await planItems({ client, desired, ignoreStoredForms: [known] });
    expect(plan.counts).toMatchObject({ update: 1, unchanged: 1 });
    const report = await readItemPlan(JSON.stringify(plan)).apply({ client });
    expect(report).toMatchObject({ applied: 1, storedDifferently: [known] });
  });

  it("ends with what concerns all writes, after its first writes", async () => {
    const one = world(CATALOG);
    let writes = 0;
    const client = one.connect(
      async ({ method }, send) => {
        if (method === "GET" || method === "POST") return send();
        writes += 1;
        throw new TypeError("fetch failed", {
          cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", syscall: "connect" }),
        });
      },
      { retry: false },
    );
    const desired = CATALOG.map(({ shortID }) => item(shortID, { description: "another" }));
    const plan = await planOf(one, desired);
    await expect(plan.apply({ client })).rejects.toMatchObject({ name: "ConnectionError", applied: "unknown" });
    // Five failures in a row, and up to three more writes that were in flight.
    expect(writes).toBeLessThanOrEqual(5 + 3);
  });

  it("sends nothing more once the caller's own code has failed", async () => {
    const one = world(CATALOG);
    let writes = 0;
    const client = one.connect(async ({ method }, send) => {
      if (method !== "PUT") return send();
      writes += 1;
      if (writes === 1) throw new RangeError("a bug of the fetch function");
      return send();
    });
    const desired = CATALOG.map(({ shortID }) => item(shortID, { description: "another" }));
    const plan = await planOf(one, desired);
    await expect(plan.apply({ client })).rejects.toMatchObject({ name: "RangeError" });
    // Only writes that were already in flight were sent.
    expect(writes).toBeLessThanOrEqual(4);
  });

  it("returns its report although the items cannot be read at the end", async () => {
    const one = world(CATALOG);
    const client = one.connect(async ({ method }, send) => {
      if (method === "PUT") one.sandbox.addFault({ method: "GET", path: "/Item", fault: 500 });
      return send();
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
    const observe: Intercept = async (request, send) => {
      const sku = new URL(request.url).searchParams.get("key");
      if (request.method === "GET") for (const name of sku === null ? names : [sku]) readAt.set(name, Date.now());
      if (request.method === "PUT")
        ages.push(Date.now() - (readAt.get(Object(await request.clone().json()).shortID) ?? 0));
      return send();
    };
    const rateLimit = { requests: 2, intervalMs: 60_000, reserved: 0 };
    const applied = plan.apply({ client: one.connect(observe, { rateLimit, timeoutMs: 30_000 }) });
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(await applied).toMatchObject({ applied: 30, ...NOTHING });
    vi.useRealTimers();
    expect(ages).toHaveLength(30);
    expect(Math.max(...ages)).toBeLessThanOrEqual(600_000);
    // Some values must be old, or the test would prove nothing.
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
      const skus = one.writes().flatMap(({ status, body }) => (status === 201 ? Object(body).shortID : []));
      expect(new Set(skus).size).toBe(skus.length);
    }
  });
});
