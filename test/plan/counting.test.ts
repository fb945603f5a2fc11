import { setTimeout as sleep } from "node:timers/promises";
import { ConfigurationError, ConnectionError, InventoryClient, type Lot } from "stocklot";
import { createOutbox, type Outbox } from "stocklot/outbox";
import { type CountedRow, type CountGroup, type Plan, planCount, readPlan, takeSnapshot } from "stocklot/plan";
import type { SandboxOptions } from "stocklot/sandbox";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { emptyData, memoryStore } from "../../src/outbox/stores/memory-store.js";
import { createRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { item, type World, world } from "./support.js";

const WID = 3;
const REASONS = { surplus: 21, shortage: 22 };
const ITEMS = ["A", "B", "C", "D", "E"].map((sku) => item(sku, { uOM: sku === "B" ? "KG" : "EA" }));
const WAREHOUSES = [
  { wID: WID, name: "Main" },
  { wID: 4, name: "Other" },
];

let received = 0;
/** A lot in the warehouse, a day younger than the one before. */
const lot = (shortID: string, units: number, fields: Partial<Lot> = {}) => {
  received += 1;
  const day = new Date(Date.UTC(2025, 0, received % 300)).toISOString();
  return { shortID, units, wID: WID, spot: "A-01", received: day, ...fields };
};

const countWorld = (lots: SandboxOptions["lots"], options: SandboxOptions = {}) =>
  world(ITEMS, { warehouses: WAREHOUSES, lots, ...options });

/** Takes a snapshot, lets others act, and plans the count. */
async function planOf(one: World, counted: CountedRow[], between?: () => Promise<unknown>): Promise<Plan<"count">> {
  const snapshot = await takeSnapshot({ client: one.client, wid: WID });
  await between?.();
  return planCount({ client: one.client, snapshot, counted, reasonCodes: REASONS });
}

const stockOf = async ({ client }: World, sku: string): Promise<Lot[]> => {
  const lots = await client.inventory.listLots({ wid: WID }).toArray();
  return lots.filter(({ shortID, active, shipped }) => shortID === sku && active && shipped === null);
};
const unitsOf = async (one: World, sku: string) => (await stockOf(one, sku)).reduce((sum, { units }) => sum + units, 0);

const apply = (one: World, plan: Plan<"count">) => plan.apply({ client: one.client, outbox: one.outbox() });
const transactions = (one: World) =>
  one.sandbox.requests.filter(({ method, path }) => method === "POST" && path.startsWith("/Inventory"));
const bodiesOf = (one: World) =>
  transactions(one).map(({ path, body }) => ({ path, body: body as Record<string, unknown> }));

describe("planCount", () => {
  it.each([
    0, 1, 2, 4, 8, 15, 30,
  ])("two plans of one count, applied at once (the second after %i ms), book a difference once", async (delayMs) => {
    const one = countWorld([lot("A", 100), lot("B", 10)], { latencyMs: 5 });
    const counted = [
      { itemID: "A", spot: "A-01", counted: 70 },
      { itemID: "B", spot: "A-01", counted: 15 },
    ];
    const plans = [await planOf(one, counted), await planOf(one, counted)];
    const reports = await Promise.all(
      plans.map(async (plan, index) => {
        await sleep(index * delayMs);
        return apply(one, plan);
      }),
    );
    for (const { itemID, counted: units } of counted) {
      // Each may have seen the entry of the other, so that neither was sent.
      const isStale = reports.every(({ stale }) => stale.some((group) => group.itemID === itemID));
      expect(await unitsOf(one, itemID)).toBe(isStale ? { A: 100, B: 10 }[itemID] : units);
    }
  });

  it("reports groups that do not equal their count after it was written", async () => {
    const one = countWorld([lot("A", 10), lot("B", 5), lot("C", 7)]);
    // A service that rounds the units of receipts, and ignores the bin of A.
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      const request = new Request(input, init);
      if (!request.url.endsWith("/Receive")) return one.sandbox.fetch(request);
      const body = JSON.parse(await request.text());
      const stored = { ...body, units: Math.round(body.units * 10) / 10, spot: body.itemID === "A" ? "X" : body.spot };
      return one.sandbox.fetch(new Request(request, { body: JSON.stringify(stored) }));
    };
    const client = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      fetch,
      rateLimit: false,
    });
    const plan = await planOf(one, [
      { itemID: "A", spot: "A-01", counted: 12 },
      { itemID: "B", counted: 6.25 },
      { itemID: "C", spot: "A-01", counted: 6.25 },
    ]);
    const outbox = createOutbox({ client, store: memoryStore() });
    const expected = {
      applied: 3,
      storedDifferently: [
        { shortID: "A", spot: "A-01", field: "units", sent: 12, stored: 10 },
        { shortID: "B", field: "units", sent: 6.25, stored: 6.3 },
      ],
    };
    expect(await plan.apply({ client, outbox })).toMatchObject(expected);
    // As if the process had been killed before it could report them.
    expect(await plan.apply({ client, outbox })).toMatchObject(expected);
    expect(transactions(one)).toHaveLength(3);
  });

  it("receives a surplus and issues a shortage; what was not counted stays as it is", async () => {
    const one = countWorld([lot("A", 10), lot("B", 5), lot("B", 2.5), lot("C", 7)]);
    const plan = await planOf(one, [
      { itemID: "A", spot: "A-01", counted: 12 },
      { itemID: "B", counted: 1.5 },
    ]);
    expect(plan.counts).toEqual({ receive: 1, issue: 1, unchanged: 0, blocked: 0 });
    expect(plan.changes[0]).toMatchObject({
      operation: "receive",
      itemID: "A",
      spot: "A-01",
      book: 10,
      counted: 12,
      units: 2,
    });
    expect(plan.changes[1]).toMatchObject({ operation: "issue", itemID: "B", book: 7.5, counted: 1.5, units: 6 });
    expect(plan.changes[1]).not.toHaveProperty("spot");
    expect(transactions(one)).toEqual([]);
    const text = plan.toText();
    expect(text).toContain("+ 1 receive  - 1 issue  = 0 unchanged  ! 0 blocked");
    expect(text).toMatch(/^\+ A {2}bin A-01 {2}book 10, counted 12 EA: receive 2 into bin A-01$/m);
    expect(text).toMatch(/^- B {2}all bins {2}book 7.5, counted 1.5 KG: issue 6$/m);
    expect(text).toMatch(/^ {4}lot \d+, received 2025-\d\d-\d\d, bin A-01: 5, issue 5$/m);
    expect(text).toMatch(/^ {4}lot \d+, received 2025-\d\d-\d\d, bin A-01: 2.5, issue 1$/m);

    const before = one.sandbox.requests.length;
    const report = await apply(one, plan);
    expect(report).toMatchObject({ applied: 2, stale: [], rejected: [], unknown: [], storedDifferently: [] });
    expect(report.requests).toBe(one.sandbox.requests.length - before);
    expect([await unitsOf(one, "A"), await unitsOf(one, "B"), await unitsOf(one, "C")]).toEqual([12, 1.5, 7]);
    const [receipt] = bodiesOf(one).filter(({ path }) => path.endsWith("Receive"));
    expect(receipt?.body).toMatchObject({ itemID: "A", units: 2, wid: WID, spot: "A-01", reasonCode: 21 });
    expect(receipt?.body.remark).toMatch(/^\[sl:[A-Z2-7]{16}\]$/);
    const issues = bodiesOf(one).filter(({ path }) => path.endsWith("Issue"));
    expect(issues.map(({ body }) => body)).toEqual([
      { itemID: "B", units: 5, wid: WID, reasonCode: 22, recno: expect.any(Number) },
      { itemID: "B", units: 1, wid: WID, reasonCode: 22, recno: expect.any(Number) },
    ]);
  });

  it("finds nothing to do in a second count", async () => {
    const one = countWorld([lot("A", 10), lot("A", 4, { spot: "B-02" }), lot("B", 5), lot("B", 2.5)]);
    const counted = [
      { itemID: "A", spot: "A-01", counted: 3 },
      { itemID: "A", spot: "B-02", counted: 9.25 },
      { itemID: "B", counted: 0 },
      { itemID: "C", spot: "C-03", counted: 4 },
    ];
    expect((await apply(one, await planOf(one, counted))).applied).toBe(4);
    const second = await planOf(one, counted);
    expect(second.counts).toEqual({ receive: 0, issue: 0, unchanged: 4, blocked: 0 });
    expect(second.isEmpty).toBe(true);
  });

  it("reports a group whose stock cannot be read afterwards, until it is applied again", async () => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 7 }]);
    one.sandbox.onRequest(({ path }) => {
      if (path === "/Inventory/Issue") one.sandbox.addFault({ method: "GET", fault: 403 });
    });
    const report = await apply(one, plan);
    expect(report).toMatchObject({ applied: 0, storedDifferently: [], unknown: [{ itemID: "A" }] });
    expect(report.unknown[0]?.reason).toMatch(
      /^it was applied, but could not be read again \(.*403.*Apply the plan again$/,
    );
    one.sandbox.clearFaults();
    expect(await apply(one, plan)).toMatchObject({ applied: 1, storedDifferently: [], unknown: [] });
    expect((await stockOf(one, "A")).map(({ units }) => units)).toEqual([7]);
  });

  it("reads the lots again before a receive is resent that was found not to have been applied", async () => {
    const one = countWorld([lot("A", 5, { received: "2020-01-01T00:00:00Z" })]);
    const plan = await planOf(one, [{ itemID: "A", spot: "A-01", counted: 9 }]);
    const outbox = createOutbox({ client: one.client, store: memoryStore(), settleMs: 0 });
    one.sandbox.addFault({ path: "/Inventory/Receive", fault: 503 });
    const failed = await plan.apply({ client: one.client, outbox });
    expect(failed).toMatchObject({ applied: 0, stale: [], rejected: [{ itemID: "A" }], unknown: [] });
    expect(failed.rejected[0]?.reason).toBe("not applied. Apply the plan again");
    one.sandbox.clearFaults();
    await one.client.inventory.receive({ itemID: "A", units: 4, wid: WID, spot: "A-01", reasonCode: 1 });
    const again = await plan.apply({ client: one.client, outbox });
    expect(again).toMatchObject({ applied: 0, stale: [{ itemID: "A" }], rejected: [], unknown: [] });
    expect(await unitsOf(one, "A")).toBe(9);
  });

  it("computes decimals exactly, and accepts a service that adds in floating point", async () => {
    const one = countWorld([lot("A", 0.1), lot("A", 0.2), lot("B", 1.1), lot("B", 2.2)]);
    const plan = await planOf(one, [
      { itemID: "A", counted: 0.3 },
      { itemID: "B", counted: 3 },
    ]);
    expect(plan.counts).toMatchObject({ unchanged: 1, issue: 1 });
    expect(plan.changes[0]?.units).toBe(0.3);
    await apply(one, plan);
    const exact = (lots: Lot[]) => lots.map(({ units }) => units);
    expect(exact(await stockOf(one, "B")).sort()).toEqual([0.8, 2.2]);
  });

  it("counts by bin and by serial; shipped, inactive and other warehouses' lots belong to no group", async () => {
    const one = countWorld([
      lot("A", 5, { spot: "" }),
      lot("A", 7, { spot: "B", serial: "S1" }),
      lot("A", 8, { spot: "B" }),
      lot("A", 100, { shipped: "2025-03-01T00:00:00Z" }),
      lot("A", 100, { active: false }),
      lot("A", 100, { wID: 4 }),
    ]);
    const plan = await planOf(one, [
      { itemID: "A", spot: "", counted: 5 },
      { itemID: "A", spot: "B", serial: "S1", counted: 9 },
      { itemID: "A", spot: "B", serial: "", counted: 6 },
    ]);
    expect(plan.counts).toEqual({ receive: 1, issue: 1, unchanged: 1, blocked: 0 });
    expect(plan.changes.map(({ book, units, serial }) => ({ book, units, serial }))).toEqual([
      { book: 7, units: 2, serial: "S1" },
      { book: 8, units: 2, serial: "" },
    ]);
    await apply(one, plan);
    expect(bodiesOf(one).find(({ path }) => path.endsWith("Receive"))?.body).toMatchObject({ spot: "B", serial: "S1" });
  });

  const blockedCases: [string, SandboxOptions["lots"], CountedRow, RegExp][] = [
    ["a lot on hold", [lot("A", 5, { hold: true })], { itemID: "A", counted: 4 }, /lot \d+ is on hold/],
    ["a lot of another owner", [lot("A", 5, { associate: "ACME" })], { itemID: "A", counted: 6 }, /belongs to ACME/],
    [
      "serials that the row does not name",
      [lot("A", 5, { serial: "S1" })],
      { itemID: "A", counted: 6 },
      /serials, such as S1/,
    ],
    ["a tag", [lot("A", 5, { rFIDTag: "T1" })], { itemID: "A", counted: 6 }, /has the tag T1/],
    ["a second serial", [lot("A", 5, { serial2: "S2" })], { itemID: "A", counted: 6 }, /second serial S2/],
    ["a job", [lot("A", 5, { jobID: 7, jobName: "J" })], { itemID: "A", counted: 6 }, /belongs to job 7/],
    [
      "several bins",
      [lot("A", 5), lot("A", 5, { spot: "B" })],
      { itemID: "A", counted: 11 },
      /several bins \(.*\): count each bin/,
    ],
    ["an item that does not exist", [], { itemID: "NO", counted: 0 }, /does not exist/],
    [
      "a bin that is spelled otherwise",
      [lot("A", 5)],
      { itemID: "A", spot: "a-01", counted: 5 },
      /spells the bin "A-01"/,
    ],
    [
      "a serial that is spelled otherwise",
      [lot("A", 5, { serial: "S1" })],
      { itemID: "A", serial: "s1", counted: 5 },
      /spells the serial "S1"/,
    ],
  ];
  it.each(blockedCases)("blocks %s, with the reason", async (_, lots, row, reason) => {
    const one = countWorld(lots);
    const plan = await planOf(one, [row]);
    expect(plan.counts).toEqual({ receive: 0, issue: 0, unchanged: 0, blocked: 1 });
    expect(plan.isEmpty).toBe(true);
    expect(plan.blocked[0]).toMatchObject({ ...row, book: expect.any(Number), reason: expect.stringMatching(reason) });
    expect(plan.toText()).toContain(`! ${row.itemID}`);
  });

  it("blocks an item without lots that the service finds under another spelling", async () => {
    const one = countWorld([lot("B", 1)]);
    const fetchIgnoringCase: typeof fetch = (input, init) => {
      const request = new Request(input, init);
      return one.sandbox.fetch(new Request(request.url.replace("key=a&", "key=A&"), request));
    };
    const { baseUrl, credentials } = one.sandbox;
    const client = new InventoryClient({ baseUrl, ...credentials, fetch: fetchIgnoringCase, rateLimit: false });
    const plan = await planOf({ ...one, client }, [{ itemID: "a", spot: "A-01", counted: 3 }]);
    expect(plan.blocked).toMatchObject([{ itemID: "a", reason: 'the service spells the item "A"' }]);
    expect(plan.isEmpty).toBe(true);
  });

  it("blocks a group with a lot of negative units", async () => {
    const one = countWorld([lot("A", 2), lot("A", 5)]);
    const { client } = changedBy(one, (path, body) => {
      if (path.endsWith("/StockLevels/3")) body.value[0].inStock = 3;
      else if (path.endsWith("/Inventory/3"))
        for (const listed of body.value) if (listed.units === 2) listed.units = -2;
    });
    const snapshot = await takeSnapshot({ client, wid: WID });
    const plan = await planCount({ client, snapshot, counted: [{ itemID: "A", counted: 9 }], reasonCodes: REASONS });
    expect(plan.blocked).toMatchObject([{ book: 3, reason: expect.stringMatching(/^lot \d+ has -2 units$/) }]);
  });

  it("blocks a shortage of packed goods, a stock level that differs, and a discontinued item", async () => {
    const one = countWorld([lot("A", 5), lot("B", 5), lot("C", 5)]);
    await one.client.items.discontinue("C");
    const { client } = changedBy(one, (path, body) => {
      if (!path.includes("/StockLevels")) return;
      for (const level of body.value) {
        if (level.partNo === partNos.get("A")) level.packed = 2;
        if (level.partNo === partNos.get("B")) level.inStock += 1;
      }
    });
    const partNos = new Map((await one.items()).map(({ shortID, partNo }) => [shortID, partNo]));
    const rows = (counted: number) => ["A", "B", "C"].map((itemID) => ({ itemID, counted }));
    const snapshot = await takeSnapshot({ client, wid: WID });
    const fewer = await planCount({ client, snapshot, counted: rows(4), reasonCodes: REASONS });
    expect(fewer.blocked.map(({ reason }) => reason)).toEqual([
      "2 are packed for shipment",
      "the lots of the item add up to 5 here, but its stock level is 6",
      "the item is discontinued",
    ]);
    const more = await planCount({ client, snapshot, counted: rows(6), reasonCodes: REASONS });
    expect(more.counts).toEqual({ receive: 1, issue: 0, unchanged: 0, blocked: 2 });
    const equal = await planCount({ client, snapshot, counted: rows(5), reasonCodes: REASONS });
    expect(equal.counts).toEqual({ receive: 0, issue: 0, unchanged: 3, blocked: 0 });
  });

  it.each([
    [
      "receive",
      (one: World) => one.client.inventory.receive({ itemID: "A", units: 1, wid: WID, reasonCode: 1, spot: "A-01" }),
    ],
    ["issue", (one: World) => one.client.inventory.issue({ itemID: "A", units: 1, wid: WID, reasonCode: 1 })],
    ["move away", (one: World) => one.client.inventory.move({ itemID: "A", units: 10, wid: WID, toSpot: "Z" })],
    [
      "move away and back",
      async (one: World) => {
        await one.client.inventory.move({ itemID: "A", units: 10, wid: WID, fromSpot: "A-01", toSpot: "Z" });
        await one.client.inventory.move({ itemID: "A", units: 10, wid: WID, fromSpot: "Z", toSpot: "A-01" });
      },
    ],
  ])("blocks what others %s between snapshot and plan, even if the count is equal", async (_, action) => {
    const one = countWorld([lot("A", 10), lot("B", 10)]);
    const plan = await planOf(
      one,
      [
        { itemID: "A", spot: "A-01", counted: 10 },
        { itemID: "B", spot: "A-01", counted: 9 },
      ],
      () => action(one),
    );
    expect(plan.blocked).toMatchObject([
      { itemID: "A", reason: expect.stringMatching(/^moved since the snapshot \(.+\): count again$/) },
    ]);
    expect(plan.changes).toMatchObject([{ itemID: "B", units: 1 }]);
  });

  it("finds lots that were modified right before the snapshot, and again after it", async () => {
    const one = countWorld([lot("A", 10)]);
    const there = { itemID: "A", units: 10, wid: WID, fromSpot: "A-01", toSpot: "Z" };
    const back = { itemID: "A", units: 10, wid: WID, fromSpot: "Z", toSpot: "A-01" };
    await one.client.inventory.move(there);
    await one.client.inventory.move(back);
    const rows = [{ itemID: "A", spot: "A-01", counted: 9 }];
    expect((await planOf(one, rows)).counts).toMatchObject({ issue: 1, blocked: 0 });
    const moved = await planOf(one, rows, async () => {
      await one.client.inventory.move(there);
      await one.client.inventory.move(back);
    });
    expect(moved.counts).toMatchObject({ issue: 0, blocked: 1 });
  });

  it("blocks a bin whose goods came and went, and every bin of an item with a lot that returned", async () => {
    const one = countWorld([lot("A", 10, { spot: "X" }), lot("A", 5, { spot: "Y" }), lot("B", 5, { spot: "X" })]);
    const rows = [
      { itemID: "A", spot: "X", counted: 20 },
      { itemID: "A", spot: "Y", counted: 6 },
      { itemID: "B", spot: "X", counted: 4 },
    ];
    const visited = await planOf(one, rows, async () => {
      const { recNo } = await one.client.inventory.receive({
        itemID: "A",
        units: 10,
        wid: WID,
        reasonCode: 1,
        spot: "X",
      });
      await one.client.inventory.issue({ itemID: "A", units: 10, wid: WID, reasonCode: 1, recno: recNo ?? 0 });
    });
    expect(visited.blocked).toMatchObject([
      { itemID: "A", spot: "X", reason: expect.stringMatching(/lot \d+ was modified/) },
    ]);
    expect(visited.counts).toMatchObject({ receive: 1, issue: 1 });
    const returned = await planOf(one, rows, async () => {
      await one.client.inventory.move({ itemID: "A", units: 10, wid: WID, fromSpot: "X", toSpot: "Y" });
      await one.client.inventory.move({ itemID: "A", units: 10, wid: WID, fromSpot: "Y", toSpot: "X" });
    });
    expect(returned.blocked.map(({ itemID, spot }) => `${itemID} ${spot}`)).toEqual(["A X", "A Y"]);
  });

  it("does not lose sight of returns if record dates are ahead, or lots are booked right after the snapshot", async () => {
    const one = countWorld([lot("A", 10), lot("B", 5)]);
    const there = { itemID: "A", units: 10, wid: WID, fromSpot: "A-01", toSpot: "Z" };
    const back = { itemID: "A", units: 10, wid: WID, fromSpot: "Z", toSpot: "A-01" };
    await one.client.inventory.move(there);
    await one.client.inventory.move(back);
    const taking = takeSnapshot({ client: one.client, wid: WID });
    // While the snapshot waits for its end.
    await expect.poll(() => one.sandbox.requests.some(({ query }) => "modifiedSince" in query)).toBe(true);
    await sleep(500);
    await one.client.inventory.issue({ itemID: "B", units: 1, wid: WID, reasonCode: 1 });
    const snapshot = await taking;
    expect(snapshot.modified).toMatchObject({ end: expect.any(String) });
    await one.client.inventory.move(there);
    await one.client.inventory.move(back);
    const counted = [{ itemID: "A", spot: "A-01", counted: 9 }];
    const plan = await planCount({ client: one.client, snapshot, counted, reasonCodes: REASONS });
    expect(plan.blocked).toHaveLength(1);
  });

  it("says so if the service does not honour modifiedSince", async () => {
    const one = countWorld([lot("A", 10)]);
    const { client } = changedBy(
      one,
      () => {},
      (url) => url.searchParams.delete("modifiedSince"),
    );
    const snapshot = await takeSnapshot({ client, wid: WID });
    expect(snapshot.modified).toBeNull();
    const counted = [{ itemID: "A", counted: 9 }];
    const plan = await planCount({ client, snapshot, counted, reasonCodes: REASONS });
    expect(plan.counts.issue).toBe(1);
    expect(plan.toText()).toContain("does not honour modifiedSince");
  });

  it.each([
    [12_345_678.9, 12_345_678.91],
    [123_456_789.12, 123_456_789],
    [2_000_000_000, 2_000_000_002],
  ])("finds the difference between %f and %f", async (units, counted) => {
    const plan = await planOf(countWorld([lot("A", units)]), [{ itemID: "A", counted }]);
    expect(plan.changes).toHaveLength(1);
  });

  it("issues no dust", async () => {
    const one = countWorld([lot("A", 0.1), lot("A", 0.2), lot("A", 0.30000000000000004)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 0.3 }]);
    expect(plan.changes[0]?.writes).toHaveLength(2);
  });

  it("takes the oldest lot by its time, however that is written", async () => {
    const one = countWorld([
      lot("A", 1, { received: "2025-05-01T08:00:00.500Z" }),
      lot("A", 1, { received: "2025-05-01T08:00:00Z" }),
      lot("A", 1, { received: "2025-05-01T10:00:00+03:00" }),
    ]);
    const plan = await planOf(one, [{ itemID: "A", counted: 0 }]);
    expect(plan.changes[0]?.lots.map(({ received: at }) => at)).toEqual([
      "2025-05-01T10:00:00+03:00",
      "2025-05-01T08:00:00Z",
      "2025-05-01T08:00:00.500Z",
    ]);
  });

  it("names every wrong row, and every overlap", async () => {
    const one = countWorld([lot("A", 10)]);
    const snapshot = await takeSnapshot({ client: one.client, wid: WID });
    const wrong = (counted: unknown) =>
      planCount({ client: one.client, snapshot, counted: counted as CountedRow[], reasonCodes: REASONS });
    await expect(wrong([])).rejects.toThrow(/must contain a row/);
    await expect(
      wrong([
        { itemID: "A", counted: -1 },
        { itemID: " B", counted: 1 },
        { itemID: "C" },
        { itemID: "D", counted: 1, units: 2 },
      ]),
    ).rejects.toMatchObject({
      name: "InputValidationError",
      issues: [{ path: [0, "counted"] }, { path: [1, "itemID"] }, { path: [2, "counted"] }, { path: [3, "units"] }],
    });
    const overlapping: CountGroup[][] = [
      [{ itemID: "A" }, { itemID: "a" }],
      [{ itemID: "A" }, { itemID: "A", spot: "X" }],
      [{ itemID: "A", spot: "X" }, { itemID: "A" }],
      [
        { itemID: "A", spot: "X" },
        { itemID: "A", spot: "X", serial: "S" },
      ],
      [
        { itemID: "A", spot: "X", serial: "S" },
        { itemID: "A", serial: "S" },
      ],
      [
        { itemID: "A", spot: "X" },
        { itemID: "A", serial: "S" },
      ],
      [
        { itemID: "A", spot: "X", serial: "S" },
        { itemID: "A", spot: "X", serial: "S" },
      ],
    ];
    for (const rows of overlapping) {
      await expect(wrong(rows.map((row) => ({ ...row, counted: 1 })))).rejects.toMatchObject({
        issues: [{ path: [1], message: "counts the same stock as row 0" }],
      });
    }
    const separate = [
      { itemID: "A", spot: "X" },
      { itemID: "A", spot: "Y", serial: "S" },
      { itemID: "A", spot: "Y", serial: "T" },
      { itemID: "A", spot: "", serial: null },
    ];
    const plan = await wrong(separate.map((row) => ({ ...row, counted: 0 })));
    expect(plan.counts.unchanged).toBe(4);
  });

  it("refuses a snapshot of another service, a changed one, and other things", async () => {
    const one = countWorld([lot("A", 10)]);
    const { client } = one;
    const snapshot = await takeSnapshot({ client, wid: WID });
    const counted = [{ itemID: "A", counted: 9 }];
    const plan = (given: unknown) =>
      planCount({ client, snapshot: given as typeof snapshot, counted, reasonCodes: REASONS });
    const copy = JSON.parse(JSON.stringify(snapshot));
    expect((await plan(copy)).counts.issue).toBe(1);
    expect((await plan(JSON.stringify(snapshot, null, 2))).counts.issue).toBe(1);
    await expect(plan({ ...copy, wid: 4 })).rejects.toThrow(/was changed since/);
    await expect(plan({})).rejects.toThrow(/is not a snapshot/);
    await expect(plan(undefined)).rejects.toMatchObject({ name: "InputValidationError" });
    const other = new InventoryClient({ baseUrl: "https://other.example/api/v1", ...one.sandbox.credentials });
    await expect(planCount({ client: other, snapshot, counted, reasonCodes: REASONS })).rejects.toThrow(
      ConfigurationError,
    );
    const lacking = { client, snapshot, counted, reasonCodes: { surplus: 1 } } as unknown as Parameters<
      typeof planCount
    >[0];
    await expect(planCount(lacking)).rejects.toThrow(/reasonCodes.shortage: is required/);
  });

  it("is a document: restored, it is the same plan", async () => {
    const one = countWorld([lot("A", 10), lot("B", 5, { hold: true })]);
    const plan = await planOf(one, [
      { itemID: "A", counted: 8 },
      { itemID: "B", counted: 8 },
    ]);
    const restored = readPlan(JSON.stringify(plan));
    expect(restored.kind).toBe("count");
    expect(restored.toText()).toBe(plan.toText());
    expect(restored.estimate().requests).toBe(plan.estimate().requests);
    expect(() => readPlan(JSON.stringify(plan).replace('"counted":8', '"counted":7'))).toThrow(/was changed since/);
    const report = await restored.apply({ client: one.client, outbox: one.outbox() });
    expect(report.applied).toBe(1);
    expect(await unitsOf(one, "A")).toBe(8);
  });
});

/** A client whose JSON responses are changed on the way. */
function changedBy(
  { sandbox }: World,
  // biome-ignore lint/suspicious/noExplicitAny: any page of the service
  change: (path: string, body: any) => void,
  rewrite: (url: URL) => void = () => {},
) {
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    ...sandbox.credentials,
    rateLimit: false,
    fetch: async (input, init) => {
      const given = new Request(input, init);
      const url = new URL(given.url);
      rewrite(url);
      const response = await sandbox.fetch(new Request(url, given));
      const body = await response.json();
      change(url.pathname, body);
      return Response.json(body, { status: response.status, headers: { date: response.headers.get("date") ?? "" } });
    },
  });
  return { client };
}

describe("applying a count", () => {
  it("needs an outbox", async () => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 8 }]);
    await expect(plan.apply({ client: one.client })).rejects.toThrow(/outbox: is required for a stock count/);
    expect(transactions(one)).toEqual([]);
  });

  it("leaves a group out that moved since the plan", async () => {
    const one = countWorld([lot("A", 10), lot("B", 10), lot("C", 10)]);
    const plan = await planOf(one, [
      { itemID: "A", spot: "A-01", counted: 8 },
      { itemID: "B", spot: "A-01", counted: 8 },
      { itemID: "C", spot: "A-01", counted: 12 },
    ]);
    await one.client.inventory.issue({ itemID: "A", units: 1, wid: WID, reasonCode: 1 });
    await one.client.inventory.receive({ itemID: "C", units: 1, wid: WID, reasonCode: 1, spot: "A-01" });
    const report = await apply(one, plan);
    expect(report).toMatchObject({ applied: 1, rejected: [], unknown: [] });
    expect(report.stale).toMatchObject([
      {
        itemID: "A",
        spot: "A-01",
        reason: expect.stringMatching(/^moved since the plan \(lot \d+ had 10, now 9\): count again$/),
      },
      { itemID: "C", spot: "A-01", reason: expect.stringMatching(/is new, with 1/) },
    ]);
    expect(await unitsOf(one, "B")).toBe(8);
  });

  it("leaves a group out whose item has other transactions in the outbox", async () => {
    const one = countWorld([lot("A", 10), lot("B", 10)]);
    const outbox = one.outbox();
    const plan = await planOf(one, [
      { itemID: "A", spot: "A-01", counted: 15 },
      { itemID: "B", counted: 11 },
    ]);
    await outbox.add({
      key: "scan-1",
      operation: "receive",
      input: { itemID: "A", units: 5, wid: WID, reasonCode: 1 },
    });
    await outbox.add({ key: "scan-2", operation: "receive", input: { itemID: "B", units: 5, wid: 4, reasonCode: 1 } });
    const report = await plan.apply({ client: one.client, outbox });
    expect(report.applied).toBe(1);
    expect(report.stale).toMatchObject([
      { itemID: "A", reason: expect.stringContaining('the outbox has the entry "scan-1"') },
    ]);
    expect(await unitsOf(one, "A")).toBe(15);
    expect(await unitsOf(one, "B")).toBe(11);
  });

  it("books nothing twice when the same plan is applied again, or by two at once", async () => {
    const one = countWorld([lot("A", 10), lot("A", 10), lot("B", 3)]);
    const plan = await planOf(one, [
      { itemID: "A", counted: 5 },
      { itemID: "B", counted: 4 },
    ]);
    const outbox = one.outbox();
    const both = await Promise.all([1, 2].map(() => plan.apply({ client: one.client, outbox })));
    expect(both.map(({ applied, stale }) => ({ applied, stale }))).toEqual([
      { applied: 2, stale: [] },
      { applied: 2, stale: [] },
    ]);
    const again = await plan.apply({ client: one.client, outbox });
    expect(again).toMatchObject({ applied: 2, stale: [] });
    expect(transactions(one)).toHaveLength(3);
    expect([await unitsOf(one, "A"), await unitsOf(one, "B")]).toEqual([5, 4]);
  });

  it("reports a lost issue as unknown, and what waits behind it; a person decides, and the plan continues", async () => {
    const one = countWorld([lot("A", 2), lot("A", 10), lot("B", 3)]);
    const plan = await planOf(one, [
      { itemID: "A", counted: 5 },
      { itemID: "B", counted: 1 },
    ]);
    one.sandbox.addFault({ method: "POST", path: "/Inventory/Issue", fault: "drop-after", times: 1 });
    const outbox = createOutbox({ client: one.client, store: memoryStore(emptyData()), settleMs: 0 });
    const first = await plan.apply({ client: one.client, outbox });
    const lost = first.unknown[0];
    expect(first.applied + first.unknown.length).toBe(2);
    const { value: unknown } = await outbox.entries({ state: "unknown" }).next();
    expect(unknown?.input).toMatchObject({ itemID: lost?.itemID });
    await outbox.resolve(unknown?.key ?? "", "applied");
    const second = await plan.apply({ client: one.client, outbox });
    expect(second).toMatchObject({ applied: 2, stale: [], unknown: [], rejected: [] });
    expect([await unitsOf(one, "A"), await unitsOf(one, "B")]).toEqual([5, 1]);
    expect(transactions(one)).toHaveLength(3);
  });

  it("a surplus whose response was lost is found by its mark, though the outbox sets none", async () => {
    const one = countWorld([lot("A", 2)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 5 }]);
    one.sandbox.addFault({ method: "POST", path: "/Inventory/Receive", fault: "drop-after", times: 1 });
    const report = await apply(one, plan);
    expect(report).toMatchObject({ applied: 1, unknown: [] });
    expect(await unitsOf(one, "A")).toBe(5);
    expect(transactions(one)).toHaveLength(1);
  });

  it("with mark: serial, a surplus is marked in the remark all the same: its serial is that of the group", async () => {
    const one = countWorld([lot("A", 2, { serial: "S" })]);
    const plan = await planOf(one, [{ itemID: "A", serial: "S", counted: 5 }]);
    const outbox = createOutbox({ client: one.client, store: memoryStore(), settleMs: 0, mark: "serial" });
    expect(await plan.apply({ client: one.client, outbox })).toMatchObject({ applied: 1 });
    const [receipt] = bodiesOf(one);
    expect(receipt?.body).toMatchObject({ serial: "S", remark: expect.stringMatching(/^\[sl:[A-Z2-7]{16}\]$/) });
  });

  it("sends other entries along, also if nothing of the plan can be sent", async () => {
    const one = countWorld([lot("A", 10)]);
    const outbox = one.outbox();
    const plan = await planOf(one, [{ itemID: "A", counted: 15 }]);
    await outbox.add({ key: "scan", operation: "receive", input: { itemID: "A", units: 5, wid: WID, reasonCode: 1 } });
    expect(await plan.apply({ client: one.client, outbox })).toMatchObject({ applied: 0, stale: [{ itemID: "A" }] });
    expect((await outbox.get("scan"))?.state).toBe("applied");
    expect(await unitsOf(one, "A")).toBe(15);
  });

  it("continues after the contents of applied entries were pruned", async () => {
    const one = countWorld([lot("A", 2), lot("A", 3)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 1 }]);
    one.sandbox.addFault({ method: "POST", path: "/Inventory/Issue", fault: 413, skip: 1 });
    const outbox = one.outbox();
    const first = await plan.apply({ client: one.client, outbox });
    expect(first.applied).toBe(0);
    one.sandbox.clearFaults();
    await outbox.prune({ olderThanMs: 0 });
    expect(await plan.apply({ client: one.client, outbox })).toMatchObject({ applied: 1, stale: [] });
    expect(await unitsOf(one, "A")).toBe(1);
  });

  it("rejects if the service cannot be reached, and leaves no promise behind", async () => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 15 }]);
    const outbox = one.outbox();
    await outbox.add({ key: "scan", operation: "receive", input: { itemID: "A", units: 5, wid: WID, reasonCode: 1 } });
    one.sandbox.addFault({ fault: "drop" });
    // vitest fails a run with an unhandled rejection.
    await expect(plan.apply({ client: one.client, outbox })).rejects.toThrow(ConnectionError);
    await new Promise(setImmediate);
  });

  it("cancels unsent entries of an earlier count of the same item first", async () => {
    const one = countWorld([lot("A", 10), lot("B", 1)]);
    const monday = await planOf(one, [{ itemID: "A", counted: 8 }]);
    const outbox = one.outbox();
    const [change] = monday.changes;
    const recno = change?.lots[0]?.recNo ?? 0;
    const key = `plan-count/${monday.id}/1/${recno}`;
    await outbox.add({ key, operation: "issue", input: { itemID: "A", units: 2, wid: WID, reasonCode: 22, recno } });
    const tuesday = await planOf(one, [{ itemID: "A", counted: 9 }]);
    expect(await tuesday.apply({ client: one.client, outbox })).toMatchObject({ applied: 1, stale: [] });
    expect((await outbox.get(key))?.state).toBe("canceled");
    expect(await unitsOf(one, "A")).toBe(9);
    expect(await monday.apply({ client: one.client, outbox })).toMatchObject({ applied: 0, stale: [{ itemID: "A" }] });
    expect(await unitsOf(one, "A")).toBe(9);
  });

  it("after a crash, an entry that was not sent is only sent if the group is as it was", async () => {
    const one = countWorld([lot("A", 10), lot("B", 10)]);
    const plan = await planOf(one, [
      { itemID: "A", counted: 8 },
      { itemID: "B", counted: 8 },
    ]);
    const outbox = one.outbox();
    for (const [index, { itemID, lots }] of plan.changes.entries()) {
      const recno = lots[0]?.recNo ?? 0;
      const key = `plan-count/${plan.id}/${index + 1}/${recno}`;
      await outbox.add({ key, operation: "issue", input: { itemID, units: 2, wid: WID, reasonCode: 22, recno } });
    }
    await one.client.inventory.receive({ itemID: "A", units: 1, wid: WID, reasonCode: 1, spot: "A-01" });
    const report = await plan.apply({ client: one.client, outbox });
    expect(report).toMatchObject({ applied: 1, stale: [{ itemID: "A" }] });
    expect([await unitsOf(one, "A"), await unitsOf(one, "B")]).toEqual([11, 8]);
  });

  it("after a crash, sends an entry of a later chunk only after its lots were read again", async () => {
    const skus = Array.from({ length: 11 }, (_, index) => `S${index}`);
    const one = world(
      skus.map((sku) => item(sku)),
      { warehouses: WAREHOUSES, lots: skus.map((sku) => lot(sku, 10)) },
    );
    const plan = await planOf(
      one,
      skus.map((itemID) => ({ itemID, spot: "A-01", counted: 12 })),
    );
    const outbox = one.outbox();
    const [input] = plan.changes.at(-1)?.writes ?? [];
    if (!input || "recno" in input) throw new Error("a surplus is received");
    await outbox.addMarked([{ key: `plan-count/${plan.id}/11`, operation: "receive", input }]);
    await one.client.inventory.receive({ itemID: "S10", units: 2, wid: WID, reasonCode: 1, spot: "A-01" });
    const report = await plan.apply({ client: one.client, outbox });
    expect(report).toMatchObject({ applied: 10, stale: [{ itemID: "S10" }], rejected: [], unknown: [] });
    expect(await unitsOf(one, "S10")).toBe(12);
  });

  it.each([
    false,
    true,
  ])("after a crash, reads the lots before it resends a lost receive (moved: %s)", async (isMoved) => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, [{ itemID: "A", spot: "A-01", counted: 12 }]);
    const data = emptyData();
    const outbox = () => createOutbox({ client: one.client, store: memoryStore(data), settleMs: 0 });
    one.sandbox.addFault({ path: "/Inventory/Receive", fault: "drop" });
    await plan.apply({ client: one.client, outbox: outbox() });
    one.sandbox.clearFaults();
    // The process died before it found out that the receive was not applied.
    for (const entry of data.entries.values()) entry.state = "sending";
    if (isMoved) await one.client.inventory.issue({ itemID: "A", units: 1, wid: WID, reasonCode: 1 });
    const report = await plan.apply({ client: one.client, outbox: outbox() });
    expect(report).toMatchObject(isMoved ? { applied: 0, stale: [{ itemID: "A" }] } : { applied: 1, stale: [] });
    expect(await unitsOf(one, "A")).toBe(isMoved ? 9 : 12);
  });

  it("after a crash, sends the entry of a group behind a receive of the same item that was under way", async () => {
    const one = countWorld([lot("A", 10, { spot: "A-01" }), lot("A", 10, { spot: "B-01" })]);
    const plan = await planOf(one, [
      { itemID: "A", spot: "A-01", counted: 12 },
      { itemID: "A", spot: "B-01", counted: 13 },
    ]);
    const data = emptyData();
    const outbox = () => createOutbox({ client: one.client, store: memoryStore(data), settleMs: 0 });
    one.sandbox.addFault({ path: "/Inventory/Receive", fault: "drop" });
    await plan.apply({ client: one.client, outbox: outbox() });
    one.sandbox.clearFaults();
    const [first, second] = [...data.entries.values()];
    if (!first || !second) throw new Error("both groups have an entry");
    // The process died while it sent the first receive, before it reached the service.
    first.state = "sending";
    second.state = "pending";
    const report = await plan.apply({ client: one.client, outbox: outbox() });
    expect(report).toMatchObject({ applied: 2, stale: [], rejected: [], unknown: [] });
    expect(await unitsOf(one, "A")).toBe(25);
  });

  it.each([
    [
      "was refused",
      "rejected",
      async (one: World, outbox: Outbox) => {
        one.sandbox.addFault({ path: "/Inventory/Issue", times: 1, fault: 400 });
        await outbox.run();
      },
    ],
    [
      "was canceled",
      "stale",
      async (_: World, outbox: Outbox) => {
        for await (const { key } of outbox.entries()) await outbox.cancel(key);
      },
    ],
  ] as const)("after a crash, nothing is sent behind an entry that %s", async (_, kind, end) => {
    const one = countWorld([lot("A", 3), lot("A", 10)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 5 }]);
    const outbox = one.outbox();
    const [first, second] =
      plan.changes[0]?.lots.map(({ recNo: recno, units }) => ({
        key: `plan-count/${plan.id}/1/${recno}`,
        operation: "issue" as const,
        input: { itemID: "A", units: Math.abs(units), wid: WID, reasonCode: 22, recno },
      })) ?? [];
    if (!first || !second) throw new Error("the shortage is taken from two lots");
    await outbox.add(first);
    await end(one, outbox);
    await one.client.inventory.receive({ itemID: "A", units: 1, wid: WID, reasonCode: 1, spot: "A-01" });
    const report = await plan.apply({ client: one.client, outbox });
    expect(report).toMatchObject({ applied: 0, [kind]: [{ itemID: "A" }] });
    expect(await unitsOf(one, "A")).toBe(14);
    expect(await outbox.get(second.key)).toBeUndefined();
  });

  it("reports a group as applied whose writes another process has sent before they could be canceled", async () => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, [{ itemID: "A", spot: "A-01", counted: 8 }]);
    const shared = memoryStore();
    const other = createOutbox({ client: one.client, store: shared, settleMs: 0 });
    const scan = { itemID: "A", units: 5, wid: WID, reasonCode: 1, spot: "A-01" };
    const store: typeof shared = {
      ...shared,
      async add(entries) {
        // The scan makes the group stale, but the other process sends both before that is noticed.
        await other.add({ key: "scan", operation: "receive", input: scan });
        const stored = await shared.add(entries);
        await other.run();
        return stored;
      },
    };
    const report = await plan.apply({ client: one.client, outbox: createOutbox({ client: one.client, store }) });
    expect(report).toMatchObject({ applied: 1, stale: [], rejected: [], unknown: [] });
    expect(report.storedDifferently).toMatchObject([{ shortID: "A", sent: 8, stored: 13 }]);
    expect(await unitsOf(one, "A")).toBe(13);
  });

  it("ends although the limit does not allow to read ten groups in ten minutes", async () => {
    const skus = Array.from({ length: 10 }, (_, index) => `S${index}`);
    const one = world(
      skus.map((sku) => item(sku)),
      { warehouses: WAREHOUSES, lots: skus.map((sku) => lot(sku, 10)) },
    );
    const plan = await planOf(
      one,
      skus.map((itemID) => ({ itemID, counted: 8 })),
    );
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const client = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      fetch: one.sandbox.fetch,
      rateLimit: { requests: 1, intervalMs: 60_000, reserved: 0 },
    });
    const end = new AbortController();
    const outbox = createOutbox({ client, store: memoryStore(emptyData()), settleMs: 0 });
    const applied = plan.apply({ client, outbox, signal: end.signal });
    applied.catch(() => {});
    await vi.advanceTimersByTimeAsync(3 * 60 * 60_000);
    end.abort(new Error("still not applied"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await applied).toMatchObject({ applied: 10, stale: [], rejected: [], unknown: [], storedDifferently: [] });
  });
});

describe("applying a shortage that takes from several lots", () => {
  /** Of 2 + 3 + 10 units, 4 are left: an issue of each lot. */
  const shortage = async () => {
    const one = countWorld([lot("A", 2), lot("A", 3), lot("A", 10)]);
    return { one, plan: await planOf(one, [{ itemID: "A", counted: 4 }]) };
  };
  const refuseSecond = ({ sandbox }: World) =>
    sandbox.addFault({ path: "/Inventory/Issue", skip: 1, times: 1, fault: 409 });
  const ONE_OF_THREE = {
    applied: 0,
    stale: [],
    unknown: [],
    rejected: [{ itemID: "A", reason: expect.stringMatching(/^1 of 3 writes were applied\. .*409/) }],
  };

  it("sends nothing behind a refused issue, also if the plan is applied again", async () => {
    const { one, plan } = await shortage();
    refuseSecond(one);
    expect(await apply(one, plan)).toMatchObject(ONE_OF_THREE);
    expect(await apply(one, plan)).toMatchObject(ONE_OF_THREE);
    expect(transactions(one)).toHaveLength(2);
    expect(await unitsOf(one, "A")).toBe(13);
  });

  it("sends nothing behind a refused issue that another process has sent", async () => {
    const { one, plan } = await shortage();
    refuseSecond(one);
    const stop = new AbortController();
    const watching = one.outbox().watch({ everyMs: 1, signal: stop.signal });
    expect(await apply(one, plan)).toMatchObject(ONE_OF_THREE);
    stop.abort(new Error("stopped"));
    await watching;
    await one.outbox().run();
    expect(transactions(one)).toHaveLength(2);
    expect(await unitsOf(one, "A")).toBe(13);
  });

  it.each([1, 2, 3])("after a crash during issue %i, no process sends an issue behind it", async (issue) => {
    const { one, plan } = await shortage();
    const died = new AbortController();
    let issues = 0;
    const client = new InventoryClient({
      baseUrl: one.sandbox.baseUrl,
      ...one.sandbox.credentials,
      rateLimit: false,
      async fetch(url: string, init: RequestInit) {
        const isIssue = url.endsWith("/Inventory/Issue");
        if (isIssue) issues += 1;
        if (!isIssue || issues !== issue) return one.sandbox.fetch(url, init);
        one.sandbox.addFault({ path: "/Inventory/Issue", times: 1, fault: 409 });
        const response = await one.sandbox.fetch(url, init);
        died.abort(new Error("died"));
        return response;
      },
    });
    const data = emptyData();
    const outbox = createOutbox({ client, store: memoryStore(data), settleMs: 0 });
    await expect(plan.apply({ client, outbox, signal: died.signal })).rejects.toThrow("died");
    await createOutbox({ client: one.client, store: memoryStore(data), settleMs: 0 }).run();
    expect(transactions(one)).toHaveLength(issue);
    const again = createOutbox({ client: one.client, store: memoryStore(data), settleMs: 0 });
    expect(await plan.apply({ client: one.client, outbox: again })).toMatchObject({
      applied: 0,
      rejected: [{ itemID: "A" }],
    });
    expect(transactions(one)).toHaveLength(issue);
  });

  it("continues after a crash between two issues, unless the lots have moved meanwhile", async () => {
    for (const isMoved of [false, true]) {
      const { one, plan } = await shortage();
      const died = new AbortController();
      const store = memoryStore();
      const dying: typeof store = {
        ...store,
        async update(key, condition, change) {
          const result = await store.update(key, condition, change);
          if (result?.entry.state === "applied") died.abort(new Error("died"));
          return result;
        },
      };
      const { client } = one;
      const outbox = createOutbox({ client, store: dying, settleMs: 0 });
      await expect(plan.apply({ client, outbox, signal: died.signal })).rejects.toThrow("died");
      await createOutbox({ client, store, settleMs: 0 }).run();
      expect(await unitsOf(one, "A")).toBe(13);
      if (isMoved) await client.inventory.receive({ itemID: "A", units: 1, wid: WID, reasonCode: 1, spot: "A-01" });
      const report = await plan.apply({ client, outbox: createOutbox({ client, store, settleMs: 0 }) });
      if (isMoved) {
        const reason = expect.stringMatching(/^1 of 3 writes were applied\. moved since the plan \(lot \d+ is new/);
        expect(report).toMatchObject({ applied: 0, stale: [{ itemID: "A", reason }] });
      } else expect(report).toMatchObject({ applied: 1, stale: [] });
      expect(await unitsOf(one, "A")).toBe(isMoved ? 14 : 4);
      expect(transactions(one)).toHaveLength(isMoved ? 2 : 3);
    }
  });

  it("sends no further issue if another process has sent one of a group that is stale", async () => {
    const { one, plan } = await shortage();
    const { client } = one;
    const shared = memoryStore();
    const other = createOutbox({ client, store: shared, settleMs: 0 });
    const input = { itemID: "A", units: 1, wid: WID, reasonCode: 1, spot: "A-01" };
    const store: typeof shared = {
      ...shared,
      async add(entries) {
        await other.add({ key: "scan", operation: "receive", input });
        const stored = await shared.add(entries);
        await other.run();
        return stored;
      },
    };
    const report = await plan.apply({ client, outbox: createOutbox({ client, store, settleMs: 0 }) });
    const reason = expect.stringMatching(/^1 of 3 writes were applied\. moved since the plan/);
    expect(report).toMatchObject({ applied: 0, stale: [{ itemID: "A", reason }] });
    expect(await unitsOf(one, "A")).toBe(14);
  });

  it("takes from the other lots although somebody books after the lots were read", async () => {
    const { one, plan } = await shortage();
    const store = memoryStore();
    const { client } = one;
    const input = { itemID: "A", units: 1, wid: WID, reasonCode: 1, spot: "A-01" };
    const outbox = createOutbox({
      client,
      settleMs: 0,
      store: {
        ...store,
        async update(key, condition, change) {
          const result = await store.update(key, condition, change);
          if (result?.entry.state === "sending" && key.startsWith("plan"))
            await createOutbox({ store }).add({ key: "scan", operation: "receive", input });
          return result;
        },
      },
    });
    expect(await plan.apply({ client, outbox })).toMatchObject({ applied: 1, stale: [] });
    expect(await unitsOf(one, "A")).toBe(5);
  });
});

/** A random warehouse: items with lots in bins, some of which cannot be corrected. */
function randomLots(random: () => number): Parameters<typeof lot>[2][] {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  return Array.from({ length: 3 + Math.floor(random() * 12) }, () => ({
    shortID: pick(["A", "B", "C", "D"]),
    spot: pick(["", "A-01", "A-02"]),
    units: pick([1, 2.5, 0.1, 0.2, 7, 12]),
    ...(random() < 0.1 && { hold: true }),
    ...(random() < 0.1 && { associate: "ACME" }),
    ...(random() < 0.1 && { active: false }),
    ...(random() < 0.1 && { shipped: "2025-06-01T00:00:00Z" }),
  }));
}

describe("a stock count, whatever happens", () => {
  let compared = 0;
  afterAll(() => expect(compared).toBeGreaterThan(runs(100)));

  it.each(
    Array.from({ length: runs(100) }, (_, seed) => seed),
  )("books each correction once or not at all, and the stock equals the count (seed %i)", async (seed) => {
    const random = createRandom(seed);
    const one = countWorld(randomLots(random).map((fields) => lot(fields?.shortID ?? "A", fields?.units ?? 1, fields)));
    const others = new Set<string>();
    let isPlanned = false;
    const book = async () => {
      if (random() < 0.5) return;
      const itemID = ["A", "B", "C", "D"][Math.floor(random() * 4)] ?? "A";
      others.add(itemID);
      const input = { itemID, units: 1, wid: WID, reasonCode: 1, spot: "A-01" };
      await (isPlanned || random() < 0.5
        ? one.client.inventory.receive(input)
        : one.client.inventory.issue(input)
      ).catch(() => {});
    };
    const snapshot = await takeSnapshot({ client: one.client, wid: WID });
    await book();
    const counted = ["A", "B", "C", "D"].flatMap((itemID) =>
      random() < 0.3
        ? [{ itemID, counted: Math.floor(random() * 200) / 10 }]
        : ["", "A-01", "A-02"].map((spot) => ({ itemID, spot, counted: Math.floor(random() * 150) / 10 })),
    );
    const plan = await planCount({ client: one.client, snapshot, counted, reasonCodes: REASONS });
    expect(plan.blocked.filter(({ itemID, reason }) => others.has(itemID) && reason === "")).toEqual([]);
    const groups = new Map(plan.changes.map((change): [string, number] => [nameOf(change), change.counted]));
    others.clear();
    isPlanned = true;
    const data = emptyData();
    let report: Awaited<ReturnType<typeof plan.apply>> | undefined;
    for (let attempt = 0; attempt < 40 && !report; attempt += 1) {
      one.sandbox.clearFaults();
      await book();
      const fault = (["drop-after", "drop", 503, 409] as const)[Math.floor(random() * 4)] ?? 503;
      if (attempt < 8) one.sandbox.addFault({ method: "POST", path: /Inventory/, fault, times: 1, probability: 0.4 });
      const died = new AbortController();
      const limit = Math.floor(random() * 6);
      const outbox = createOutbox({ client: one.client, store: memoryStore(data), settleMs: 0 });
      const onProgress = ({ done }: { done: number }) => done > limit && attempt < 8 && died.abort(new Error("died"));
      report = await plan.apply({ client: one.client, outbox, signal: died.signal, onProgress }).catch((error) => {
        if (error.message !== "died") throw error;
        return undefined;
      });
      report = (await resolveTruthfully(one, plan, outbox)) ? undefined : report;
    }
    expect(report).toBeDefined();
    expect(report?.unknown).toEqual([]);
    const reported = new Set([...(report?.stale ?? []), ...(report?.rejected ?? [])].map(nameOf));
    const stock = (await one.client.inventory.listLots({ wid: WID }).toArray()).filter(
      ({ active, shipped }) => active && shipped === null,
    );
    for (const [name, wanted] of groups) {
      const [itemID = "", spot = ""] = JSON.parse(name);
      if (reported.has(name) || others.has(itemID)) continue;
      const sum = stock
        .filter((one) => one.shortID === itemID && (spot === null || one.spot === spot))
        .reduce((total, { units }) => total + units, 0);
      compared += 1;
      expect(sum).toBeCloseTo(wanted, 9);
    }
    // No correction was booked twice: then the sum of an untouched group would differ, and that of the others here.
    for (const { writes, lots } of plan.changes) {
      for (const write of writes) {
        if (!("recno" in write)) continue;
        const before = lots.find(({ recNo }) => recNo === write.recno)?.units ?? 0;
        const after = stock.find(({ recNo }) => recNo === write.recno)?.units ?? 0;
        expect([before, before - write.units].some((units) => Math.abs(units - after) < 1e-9)).toBe(true);
      }
      const marked = stock.filter(({ remark }) => remark.startsWith("[sl:")).map(({ remark }) => remark);
      expect(new Set(marked).size).toBe(marked.length);
    }
  });
});

const nameOf = ({ itemID, spot }: CountGroup) => JSON.stringify([itemID, spot ?? null]);

/** A person looks at the service, and decides about entries with unknown outcome. Returns whether there were any. */
async function resolveTruthfully(one: World, plan: Plan<"count">, outbox: Outbox): Promise<boolean> {
  const lots = await one.client.inventory.listLots({ wid: WID }).toArray();
  const planned = plan.changes.flatMap((change) => change.lots);
  let any = false;
  for await (const { key, input } of outbox.entries({ state: "unknown" })) {
    any = true;
    const { recno, remark } = input as { recno?: number; remark?: string };
    const before = planned.find(({ recNo }) => recNo === recno)?.units;
    const after = lots.find(({ recNo, active, shipped }) => recNo === recno && active && shipped === null)?.units;
    const isApplied = remark === undefined ? before !== after : lots.some((one) => one.remark === remark);
    await outbox.resolve(key, isApplied ? "applied" : "not-applied");
  }
  return any;
}
