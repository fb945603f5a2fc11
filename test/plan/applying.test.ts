import { ConfigurationError, InventoryClient, type Item } from "stocklot";
import { createOutbox } from "stocklot/outbox";
import { type Plan, type PlanReport, planItems } from "stocklot/plan";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { emptyData, memoryStore } from "../../src/outbox/stores/memory-store.js";
import { createRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { item, readItemPlan, type World, world } from "./support.js";

const bySku = (items: readonly Item[]) => new Map(items.map((one) => [one.shortID, one]));
const reported = ({ stale, rejected, unknown }: PlanReport) => ({ stale, rejected, unknown });
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
): Promise<Plan<"items">> {
  return planItems({ client, desired });
}

describe("plan.apply with an outbox", () => {
  it("that has no client stores nothing", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one);
    const store = memoryStore();
    const outbox = createOutbox({ store });
    await expect(plan.apply({ client: one.client, outbox })).rejects.toThrow(ConfigurationError);
    expect(await outbox.summary()).toMatchObject({ pending: 0 });
  });

  it("ends when that is closed, also while it reads", async () => {
    for (const request of [1, 2]) {
      const one = world(CATALOG);
      const plan = await planOf(one);
      const outbox = one.outbox();
      let closed: Promise<void> | undefined;
      let requests = 0;
      const client = new InventoryClient({
        baseUrl: one.sandbox.baseUrl,
        ...one.sandbox.credentials,
        rateLimit: false,
        async fetch(url: string, init: RequestInit) {
          requests += 1;
          if (requests === request) closed = outbox.close();
          return one.sandbox.fetch(url, init);
        },
      });
      await expect(plan.apply({ client, outbox })).rejects.toThrow("The outbox was closed.");
      await closed;
      expect(one.writes()).toEqual([]);
    }
  });

  it("reports a refusal whose reason was pruned", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one, [item("A", { description: "x" })]);
    one.sandbox.addFault({ method: "PUT", path: "/Item", fault: 400 });
    const outbox = one.outbox();
    const rejected = async () => (await plan.apply({ client: one.client, outbox })).rejected[0]?.reason;
    expect(await rejected()).toContain("400");
    await outbox.prune({ olderThanMs: 0 });
    expect(await rejected()).toBe("why is not known any more: the entry was pruned");
  });
});

describe.each(["through an outbox", "directly"] as const)("plan.apply, %s,", (way) => {
  const outboxOf = (one: World) => (way === "directly" ? {} : { outbox: one.outbox() });

  it("makes the catalog as desired; the second plan is empty", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one);
    const progress: unknown[] = [];
    const report = await plan.apply({
      client: one.client,
      ...outboxOf(one),
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
    const report = await plan.apply({ client: one.client, ...outboxOf(one) });
    expect(report.applied).toBe(2);
    expect(report.stale.map(({ shortID }) => shortID).sort()).toEqual(["A", "C", "E"]);
    expect(report.stale.find(({ shortID }) => shortID === "A")?.reason).toBe("changed meanwhile: description");
    expect(one.writes().length).toBe(before);
  });

  it("reports what the service refuses, and applies the rest", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one);
    one.sandbox.addFault({ method: "PUT", path: "/Item", times: 1, fault: 409 });
    const report = await plan.apply({ client: one.client, ...outboxOf(one) });
    expect(report.applied).toBe(4);
    expect(report.rejected).toHaveLength(1);
    expect(report.rejected[0]?.reason).toContain("409");
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
    await expect(plan.apply({ client, ...outboxOf(other) })).rejects.toBeInstanceOf(ConfigurationError);
    expect(other.sandbox.requests).toEqual([]);
  });
});

describe("plan.apply", () => {
  it("refuses an outbox of another service", async () => {
    const one = world(CATALOG);
    const other = world(CATALOG);
    const plan = await planOf(one);
    const elsewhere = new InventoryClient({
      baseUrl: "https://other.test/api/v1",
      ...other.sandbox.credentials,
      fetch: other.sandbox.fetch,
    });
    const outbox = createOutbox({ client: elsewhere, store: memoryStore() });
    await expect(plan.apply({ client: one.client, outbox })).rejects.toBeInstanceOf(ConfigurationError);
    expect(other.sandbox.requests).toEqual([]);
  });

  it("counts a write as applied that took effect although every response was lost", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one, [item("A", { description: "another A" })]);
    one.sandbox.addFault({ method: "PUT", path: "/Item", fault: "drop-after" });
    expect(await plan.apply({ client: one.client })).toMatchObject({ applied: 1, ...NOTHING });
  });

  it("names the entry with unknown outcome that an item waits for", async () => {
    const one = world(CATALOG);
    const data = emptyData();
    const outbox = createOutbox({ client: one.client, store: memoryStore(data), settleMs: 0 });
    await outbox.add({ key: "old", operation: "issue", input: { itemID: "A", units: 1, wid: 1, reasonCode: 1 } });
    one.sandbox.addFault({ path: "/Inventory/Issue", fault: "drop-after", times: 1 });
    await outbox.run();
    const plan = await planOf(one, [item("A", { description: "another A" })]);
    const { unknown } = await plan.apply({ client: one.client, outbox });
    expect(unknown).toEqual([{ shortID: "A", reason: expect.stringContaining('waits for the entry "old"') }]);
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
  it("counts the requests of a run that ended because the readings were too old", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const one = world([item("A")]);
    const plan = await planOf(one, [item("A", { category: 5 })]);
    const sent: string[] = [];
    const client = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      fetch: async (input, init) => {
        const request = new Request(input, init);
        if (!request.url.endsWith("/Token")) sent.push(request.method);
        const isFirstWrite = request.method === "PUT" && sent.indexOf("PUT") === sent.length - 1;
        // The pause is longer than ten minutes.
        if (isFirstWrite) return new Response("", { status: 429, headers: { "Retry-After": "900" } });
        return one.sandbox.fetch(request);
      },
    });
    const applied = plan.apply({ client });
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(await applied).toMatchObject({ applied: 1, ...NOTHING, requests: sent.length });
    // It was read before each write, and at the end.
    expect(sent).toEqual(["GET", "PUT", "GET", "PUT", "GET"]);
  });

  it("does not send what it has reported as rejected with the next chunk", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const one = world([item("A"), item("B"), item("C")]);
    const plan = await planOf(
      one,
      ["A", "B", "C"].map((sku) => item(sku, { category: 5 })),
    );
    one.sandbox.addFault({ method: "PUT", path: "/Item", fault: 413, times: 1 });
    const client = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      fetch: one.sandbox.fetch,
      // A chunk has one change.
      rateLimit: { requests: 1, intervalMs: 300_000, reserved: 0 },
    });
    const applied = plan.apply({ client });
    await vi.advanceTimersByTimeAsync(10 * 60 * 60_000);
    expect(reported(await applied)).toEqual({
      ...NOTHING,
      rejected: [{ shortID: "A", reason: expect.stringMatching(/^not applied \(.*413/) }],
    });
    vi.useRealTimers();
    const items = bySku(await one.items());
    expect(["A", "B", "C"].map((sku) => items.get(sku)?.category)).toEqual([1, 5, 5]);
  });

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

describe("plan.apply with an outbox", () => {
  it("is applied by another process from its document, and again without effect", async () => {
    const one = world(CATALOG);
    const json = JSON.stringify(await planOf(one));
    const report = await readItemPlan(json).apply({ client: one.client, outbox: one.outbox() });
    expect(report.applied).toBe(5);
    const again = await readItemPlan(json).apply({ client: one.client, outbox: one.outbox() });
    expect(again).toMatchObject({ applied: 5, ...NOTHING });
    expect(one.writes()).toHaveLength(5);
  });

  it("may be applied by two at once", async () => {
    for (const shared of [true, false]) {
      const one = world(CATALOG);
      const other = world([], {}, emptyData());
      const json = JSON.stringify(await planOf(one));
      const second = shared
        ? one.outbox()
        : createOutbox({ client: one.client, store: memoryStore(emptyData()), settleMs: 0 });
      const reports = await Promise.all([
        readItemPlan(json).apply({ client: one.client, outbox: one.outbox() }),
        readItemPlan(json).apply({ client: one.client, outbox: second }),
      ]);
      for (const report of reports) expect(report).toMatchObject({ applied: 5, ...NOTHING });
      expect((await planOf(one)).isEmpty).toBe(true);
      expect(one.writes().filter((write) => write === "POST /Item").length).toBeLessThanOrEqual(shared ? 2 : 4);
      other.sandbox.reset();
    }
  });

  it("cancels Monday's unsent entries, so that they do not come back on Tuesday", async () => {
    const one = world(CATALOG);
    const monday = await planOf(one, [item("A", { description: "Monday" }), item("B", { description: "Monday" })]);
    one.sandbox.addFault({ method: "PUT", path: "/Item", fault: 403 });
    const { message } = await monday
      .apply({ client: one.client, outbox: one.outbox() })
      .then(({ rejected }) => ({ message: JSON.stringify(rejected) }))
      .catch((error) => error);
    expect(message).toContain("403");
    one.sandbox.clearFaults();
    const outbox = one.outbox();
    const [old] = monday.changes;
    const key = `plan-items/${"0".repeat(16)}/${old?.shortID}`;
    await outbox.add({ key, operation: "update", input: { shortID: "A", description: "Sunday" } });
    const tuesday = await planOf(one, [item("A", { description: "Tuesday" })]);
    await tuesday.apply({ client: one.client, outbox });
    expect((await outbox.get(key))?.state).toBe("canceled");
    await outbox.run();
    expect(bySku(await one.items()).get("A")?.description).toBe("Tuesday");
  });

  it("cancels yesterday's unsent entries, also of items that need no change today", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const one = world(CATALOG);
    const outbox = one.outbox();
    const [old, recent, own] = ["plan-items/1/A", "plan-items/2/K1", "own"] as const;
    const update = (key: string, shortID: string) =>
      outbox.add({ key, operation: "update", input: { shortID, description: key } });
    // Processes that died after their entries were added, and an entry that belongs to no plan.
    await update(old, "A");
    await update(own, "C");
    vi.setSystemTime(Date.now() + 86_400_000);
    await update(recent, "K1");
    const today = await planOf(one, [item("A"), item("B", { description: "today" })]);
    expect(today.counts).toMatchObject({ update: 1, unchanged: 1 });
    expect(await today.apply({ client: one.client, outbox })).toMatchObject({ applied: 1, ...NOTHING });
    const states = await Promise.all([old, recent, own].map(async (key) => (await outbox.get(key))?.state));
    expect(states).toEqual(["canceled", "applied", "applied"]);
    const before = bySku(CATALOG as Item[]).get("A")?.description;
    expect(bySku(await one.items()).get("A")?.description).toBe(before);
  });

  it("does not resend an uncertain write of an earlier plan, of the same item or of yesterday", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const one = world(CATALOG);
    const outbox = one.outbox();
    const earlier = [item("A", { description: "wrong" }), item("B", { discontinued: true })];
    one.sandbox.addFault({ method: "PUT", path: "/Item", fault: 503 });
    one.sandbox.addFault({ method: "DELETE", path: "/Item/*", fault: 503 });
    const failed = await (await planOf(one, earlier)).apply({ client: one.client, outbox });
    expect(failed.unknown.map(({ shortID }) => shortID)).toEqual(["A", "B"]);
    one.sandbox.clearFaults();
    vi.setSystemTime(Date.now() + 86_400_000);
    // B needs no change, and A another one.
    const later = await planOf(one, [item("A", { category: 5 }), item("B")]);
    expect(later.counts).toMatchObject({ update: 1, unchanged: 1 });
    expect(await later.apply({ client: one.client, outbox })).toMatchObject({ applied: 1, ...NOTHING });
    const items = bySku(await one.items());
    const before = bySku(CATALOG as Item[]);
    expect(items.get("A")).toMatchObject({ description: before.get("A")?.description, category: 5 });
    expect(items.get("B")?.discontinued).toBe(false);
  });

  it("reads an item again before it resends an update whose outcome was uncertain", async () => {
    for (const discontinued of [false, true]) {
      const one = world(CATALOG);
      const outbox = one.outbox();
      const plan = await planOf(one, [item("A", discontinued ? { discontinued } : { description: "another A" })]);
      one.sandbox.addFault({ path: "/Item*", method: discontinued ? "DELETE" : "PUT", fault: 503 });
      const failed = await plan.apply({ client: one.client, outbox });
      expect(failed).toMatchObject({ applied: 0, stale: [], unknown: [{ shortID: "A" }] });
      one.sandbox.clearFaults();
      await one.client.items.update("A", { description: "by hand" });
      const again = await plan.apply({ client: one.client, outbox });
      expect(again).toMatchObject({ applied: 0, rejected: [], unknown: [] });
      expect(again.stale).toEqual([{ shortID: "A", reason: "changed meanwhile: description" }]);
      await outbox.run();
      expect(bySku(await one.items()).get("A")).toMatchObject({ description: "by hand", discontinued: false });
    }
  });

  it("reads an item again before it sends an entry that an earlier process left behind", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one);
    const outbox = one.outbox();
    // The process died after the entries were added.
    await outbox.addMany([
      { key: `plan-items/${plan.id}/A`, operation: "update", input: { shortID: "A", description: "another A" } },
    ]);
    await one.client.items.update("A", { description: "by hand" });
    const report = await plan.apply({ client: one.client, outbox });
    expect(report.stale).toEqual([{ shortID: "A", reason: "changed meanwhile: description" }]);
    expect(bySku(await one.items()).get("A")?.description).toBe("by hand");
  });

  it("reads an item before it resends an update that was under way when an earlier process died", async () => {
    for (const isChanged of [false, true]) {
      const one = world(CATALOG);
      const plan = await planOf(one, [item("A", { description: "another A" })]);
      const data = emptyData();
      const outbox = () => createOutbox({ client: one.client, store: memoryStore(data), settleMs: 0 });
      one.sandbox.addFault({ method: "PUT", path: "/Item", fault: "drop" });
      await plan.apply({ client: one.client, outbox: outbox() });
      one.sandbox.clearFaults();
      for (const entry of data.entries.values()) entry.state = "sending";
      if (isChanged) await one.client.items.update("A", { description: "by hand" });
      const report = await plan.apply({ client: one.client, outbox: outbox() });
      expect(report).toMatchObject(isChanged ? { applied: 0, stale: [{ shortID: "A" }] } : { applied: 1, ...NOTHING });
      expect(bySku(await one.items()).get("A")?.description).toBe(isChanged ? "by hand" : "another A");
    }
  });

  it("reports a write as rejected that another process has sent before it could be canceled", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one, [item("A", { description: "another A" })]);
    const shared = memoryStore();
    const other = createOutbox({ client: one.client, store: shared, settleMs: 0 });
    const key = `plan-items/${plan.id}/A`;
    await other.add({ key, operation: "update", input: { shortID: "A", description: "another A" } });
    await one.client.items.update("A", { description: "by hand" });
    one.sandbox.addFault({ method: "PUT", path: "/Item", fault: 400 });
    let reads = 0;
    const store: typeof shared = {
      ...shared,
      async get(name) {
        reads += 1;
        // The first two read how far the change is, the third one begins to cancel.
        if (reads === 3) await other.run();
        return shared.get(name);
      },
    };
    const report = await plan.apply({ client: one.client, outbox: createOutbox({ client: one.client, store }) });
    expect(reported(report)).toEqual({
      ...NOTHING,
      rejected: [{ shortID: "A", reason: expect.stringContaining("400") }],
    });
  });

  it("counts an item that is as desired as applied, also if its entry was canceled", async () => {
    const one = world(CATALOG);
    const plan = await planOf(one, [item("A", { description: "another A" })]);
    const outbox = one.outbox();
    // The process died after the entry was added. Then somebody did it by hand.
    const input = { shortID: "A", description: "another A" };
    await outbox.add({ key: `plan-items/${plan.id}/A`, operation: "update", input });
    await one.client.items.update("A", { description: "another A" });
    expect(await plan.apply({ client: one.client, outbox })).toMatchObject({ applied: 1, ...NOTHING });
    expect(await plan.apply({ client: one.client, outbox })).toMatchObject({ applied: 1, ...NOTHING });
    await one.client.items.update("A", { description: "by hand" });
    const reason = "its entry in the outbox was canceled";
    expect(reported(await plan.apply({ client: one.client, outbox }))).toEqual({
      ...NOTHING,
      stale: [{ shortID: "A", reason }],
    });
  });

  it("ends the same, and creates nothing twice, wherever the process dies and whatever others change", async () => {
    for (let seed = 1; seed <= runs(60); seed += 1) {
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
      let report: PlanReport | undefined;
      for (let attempt = 0; report === undefined && attempt < 30; attempt += 1) {
        one.sandbox.clearFaults();
        const died = new AbortController();
        const before = one.writes().length;
        const limit = Math.floor(random() * 8);
        const dropped = random() < 0.5;
        if (dropped) one.sandbox.addFault({ path: "/Item", fault: "drop-after", times: 1, probability: 0.5 });
        const outbox = one.outbox();
        report = await readItemPlan(json)
          .apply({
            client: one.client,
            outbox,
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
