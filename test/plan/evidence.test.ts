import { planItems } from "stocklot/plan";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Intercept, item, world } from "./support.js";

const OTHERS = Array.from({ length: 30 }, (_, index) => item(`P-${index}`));
const errorBody = (status: number, error: string) => ({
  statusCode: status,
  error,
  message: `${error}.`,
  details: null,
});

describe("nothing is discontinued for its absence unless every create of the plan was applied:", () => {
  const refused =
    (status: number, error: string): Intercept =>
    async ({ method }, send) =>
      method === "POST" ? Response.json(errorBody(status, error), { status }) : send();
  it.each<[string, Intercept]>([
    ["the item exists under another spelling (400)", refused(400, "bad_request")],
    ["the item exists under another spelling (409)", refused(409, "conflict")],
    ["no permission", refused(403, "forbidden")],
    [
      "the create is lost",
      async ({ method }, send) => {
        if (method === "POST") throw new TypeError("fetch failed");
        return send();
      },
    ],
  ])("%s", async (_, intercept) => {
    const one = world([...OTHERS, item("CAFÉ-1"), item("GONE")]);
    const tokens: Intercept = async (request, send) =>
      request.url.endsWith("/Token") ? send() : intercept(request, send);
    const client = one.connect(tokens);
    const desired = [...OTHERS, item("CAFE-1"), { shortID: "GONE", discontinued: true }];
    const plan = await planItems({ client, desired, absent: "discontinue", owns: () => true });
    expect(plan.counts).toMatchObject({ create: 1, discontinue: 2 });
    const report = await plan.apply({ client });
    expect(report.stale).toEqual([{ shortID: "CAFÉ-1", reason: expect.stringContaining('"CAFE-1" was not created') }]);
    expect(report.rejected.length + report.unknown.length).toBe(1);
    const items = new Map((await one.items()).map((each) => [each.shortID, each.discontinued]));
    expect(items.get("CAFÉ-1")).toBe(false);
    // A row of the desired state discontinues this item, so it does not depend on other changes.
    expect(items.get("GONE")).toBe(true);
    // Once the create is possible, the other item is discontinued, too.
    const again = await planItems({ client: one.client, desired, absent: "discontinue", owns: () => true });
    expect(await again.apply({ client: one.client })).toMatchObject({ applied: 2, stale: [] });
  });
});

describe("a value that is still the old one", () => {
  it.each<[string, (body: object) => object]>([
    ["because the service ignores it", ({ category: _, ...kept }: { category?: unknown }) => kept],
    ["because the service keeps another value", (body) => ({ ...body, category: 1 })],
  ])("is no other form of the new one: the item is stale (%s)", async (_, change) => {
    const one = world([...OTHERS, item("A")]);
    const client = one.connect(async (request, send) => {
      if (request.method !== "PUT") return send();
      const body = JSON.stringify(change(Object(await request.json())));
      return send(new Request(request.url, { method: "PUT", headers: request.headers, body }));
    });
    const desired = [item("A", { category: 3, description: "new" })];
    const report = await (await planItems({ client, desired })).apply({ client });
    expect(report).toMatchObject({
      applied: 0,
      stale: [{ shortID: "A", reason: "the service has confirmed it, but still shows the old category" }],
      storedDifferently: [],
    });
    const { storedDifferently: ignoreStoredForms } = report;
    expect((await planItems({ client, desired, ignoreStoredForms })).counts.update).toBe(1);
  });
});

describe("however slow the service is, plan.apply ends:", () => {
  /** Creates a world whose clock moves on at each slow request. */
  function slowWorld(count: number, perRequestMs: number, isSlow: (request: Request) => boolean) {
    let movedMs = 0;
    const now = performance.now.bind(performance);
    const spy = vi.spyOn(performance, "now").mockImplementation(() => now() + movedMs);
    onTestFinished(() => spy.mockRestore());
    const one = world([...OTHERS, ...Array.from({ length: count }, (_, index) => item(`S-${index}`))]);
    let isOn = false;
    let requests = 0;
    const client = one.connect(
      async (request, send) => {
        requests += 1;
        if (requests > 5_000) throw new Error("it does not end");
        if (isOn && isSlow(request)) movedMs += perRequestMs;
        return send();
      },
      { timeoutMs: Infinity },
    );
    return { one, client, slow: () => (isOn = true) };
  }

  it("an item that cannot be read and written in time twice is stale", async () => {
    const { one, client, slow } = slowWorld(1, 700_000, ({ url }) => url.includes("StockLevels"));
    const plan = await planItems({
      client,
      desired: [{ shortID: "S-0", discontinued: true }, item("P-1", { category: 4 })],
    });
    slow();
    expect(await plan.apply({ client })).toMatchObject({
      applied: 1,
      stale: [{ shortID: "S-0", reason: "it could not be read and written within 10 minutes" }],
    });
    expect(one.writes()).toHaveLength(1);
  });

  it("five such items in a row end the whole apply", async () => {
    const { one, client, slow } = slowWorld(40, 700_000, ({ url }) => url.includes("StockLevels"));
    const desired = Array.from({ length: 40 }, (_, index) => ({ shortID: `S-${index}`, discontinued: true }));
    const plan = await planItems({ client, desired, maxDiscontinuedShare: 1 });
    slow();
    await expect(plan.apply({ client })).rejects.toMatchObject({
      name: "ConnectionError",
      message: expect.stringMatching(/^plan\.apply: 5 items in a row could not be read and written within 10 minutes/),
    });
    expect(one.writes()).toHaveLength(0);
  });

  it("a slow list does not keep items from being read singly", async () => {
    const { client, slow } = slowWorld(300, 650_000, ({ url }) => url.includes("/Item/All"));
    const desired = Array.from({ length: 300 }, (_, index) => item(`S-${index}`, { category: 5 }));
    const plan = await planItems({ client, desired });
    slow();
    expect(await plan.apply({ client })).toMatchObject({ applied: 300, stale: [] });
  });
});
