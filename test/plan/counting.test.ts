import { ConfigurationError, type Lot, type StockLevel } from "stocklot";
import { type CountedRow, type CountGroup, type CountPlan, planCount, readPlan, takeSnapshot } from "stocklot/plan";
import type { SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Outbox } from "../../src/outbox/outbox.js";
import { createRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { item, readCountPlan, type World, world } from "./support.js";

const WID = 3;
const REASONS = { surplus: 21, shortage: 22 };
const ITEMS = ["A", "B", "C", "D", "E"].map((sku) => item(sku, { uOM: sku === "B" ? "KG" : "EA" }));
const WAREHOUSES = [
  { wID: WID, name: "Main" },
  { wID: 4, name: "Other" },
];

let received = 0;
/** Creates a lot in the warehouse. It is a day younger than the previous one. */
const lot = (shortID: string, units: number, fields: Partial<Lot> = {}) => {
  received += 1;
  const day = new Date(Date.UTC(2025, 0, received % 300)).toISOString();
  return { shortID, units, wID: WID, spot: "A-01", received: day, ...fields };
};

const countWorld = (lots: SandboxOptions["lots"], options: SandboxOptions = {}) =>
  world(ITEMS, { warehouses: WAREHOUSES, lots, ...options });

/** Takes a snapshot, lets others act, and plans the count. */
async function planOf(
  { client }: Pick<World, "client">,
  counted: CountedRow[],
  between?: () => Promise<unknown>,
): Promise<CountPlan> {
  const snapshot = await takeSnapshot({ client, wid: WID });
  await between?.();
  return planCount({ client, snapshot, counted, reasonCodes: REASONS });
}

const stockOf = async ({ client }: World, sku: string): Promise<Lot[]> => {
  const lots = await client.inventory.listLots({ wid: WID }).toArray();
  return lots.filter(({ shortID, active, shipped }) => shortID === sku && active && shipped === null);
};
const unitsOf = async (one: World, sku: string) => (await stockOf(one, sku)).reduce((sum, { units }) => sum + units, 0);

const apply = (one: World, plan: CountPlan) => plan.apply({ client: one.client, outbox: one.outbox() });
/** Returns the bodies of the receipts or issues that were sent. */
const sent = (one: World, kind: "Receive" | "Issue"): Record<string, unknown>[] =>
  one.writes().flatMap(({ path, body }) => (path === `/Inventory/${kind}` ? Object(body) : []));

describe("planCount", () => {
  it("receives a surplus and issues a shortage; what was not counted stays as it is", async () => {
    const one = countWorld([lot("A", 10), lot("B", 5), lot("B", 2.5), lot("C", 7)]);
    const plan = await planOf(one, [
      { itemID: "A", spot: "A-01", counted: 12 },
      { itemID: "B", counted: 1.5 },
    ]);
    expect(plan.counts).toMatchObject({ receive: 1, issue: 1, unchanged: 0, blocked: 0, notCounted: 1 });
    expect(plan.changes).toMatchObject([
      { operation: "receive", itemID: "A", spot: "A-01", book: 10, counted: 12, units: 2 },
      { operation: "issue", itemID: "B", book: 7.5, counted: 1.5, units: 6 },
    ]);
    expect(plan.changes[1]).not.toHaveProperty("spot");
    expect(one.writes()).toEqual([]);
    const text = plan.toText();
    expect(text).toContain("+ 1 receive  - 1 issue  = 0 unchanged  ! 0 blocked");
    expect(text).toMatch(/^\+ A {2}bin A-01 {2}book 10, counted 12 EA: receive 2 into bin A-01$/m);
    expect(text).toMatch(/^- B {2}all bins {2}book 7.5, counted 1.5 KG: issue 6$/m);
    expect(text).toMatch(/^ {4}lot \d+, received 2025-\d\d-\d\d, bin A-01: 5, issue 5$/m);
    expect(text).toMatch(/^ {4}lot \d+, received 2025-\d\d-\d\d, bin A-01: 2.5, issue 1$/m);

    const before = one.sandbox.requests.length;
    const report = await apply(one, plan);
    expect(report).toMatchObject({ applied: 2, stale: [], rejected: [], unknown: [] });
    expect(report.requests).toBe(one.sandbox.requests.length - before);
    expect([await unitsOf(one, "A"), await unitsOf(one, "B"), await unitsOf(one, "C")]).toEqual([12, 1.5, 7]);
    const remark = expect.stringMatching(/^\[sl:[A-Z2-7]{16}\]$/);
    const receipt = { itemID: "A", units: 2, wid: WID, spot: "A-01", reasonCode: 21, remark };
    expect(sent(one, "Receive")).toMatchObject([receipt]);
    expect(sent(one, "Issue")).toEqual([
      { itemID: "B", units: 5, wid: WID, reasonCode: 22, recno: expect.any(Number) },
      { itemID: "B", units: 1, wid: WID, reasonCode: 22, recno: expect.any(Number) },
    ]);
  });

  it("finds nothing to do in a second count, a quarter of an hour later", async () => {
    let aheadMs = 0;
    const lots = [lot("A", 10), lot("A", 4, { spot: "B-02" }), lot("B", 5), lot("B", 2.5)];
    const one = countWorld(lots, { now: () => Date.now() + aheadMs });
    const counted = [
      { itemID: "A", spot: "A-01", counted: 3 },
      { itemID: "A", spot: "B-02", counted: 9.25 },
      { itemID: "B", counted: 0 },
      { itemID: "C", spot: "C-03", counted: 4 },
    ];
    const snapshot = await takeSnapshot({ client: one.client, wid: WID });
    const options = { client: one.client, snapshot, counted, reasonCodes: REASONS };
    // The snapshot contains no lot of C.
    expect((await planCount(options)).counts).toMatchObject({ blocked: 1 });
    expect((await apply(one, await planCount({ ...options, newGroups: true }))).applied).toBe(4);
    expect((await planOf(one, counted)).counts).toMatchObject({ blocked: 4 });
    aheadMs = 20 * 60_000;
    const second = await planOf(one, counted);
    expect(second.counts).toMatchObject({ receive: 0, issue: 0, unchanged: 4, blocked: 0 });
    expect(second.isEmpty).toBe(true);
  });

  it.each([
    [[0.1, 0.2], 0.3, []],
    [[1.1, 2.2], 3, [0.3]],
    [[12_345_678.9], 12_345_678.91, [0.01]],
    [[123_456_789.12], 123_456_789, [0.12]],
    [[2_000_000_000], 2_000_000_002, [2]],
    // The lot with 0.30000000000000004 units remains. The plan does not issue the rounding error.
    [[0.1, 0.2, 0.30000000000000004], 0.3, [0.1, 0.2]],
  ])("computes decimals exactly, though the service adds in floating point: %j, counted %f", async (book, counted, writes) => {
    const one = countWorld(book.map((units) => lot("A", units)));
    const plan = await planOf(one, [{ itemID: "A", counted }]);
    expect(plan.changes).toHaveLength(Math.min(writes.length, 1));
    await apply(one, plan);
    expect([...sent(one, "Receive"), ...sent(one, "Issue")].map(({ units }) => units)).toEqual(writes);
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
    expect(plan.counts).toMatchObject({ receive: 1, issue: 1, unchanged: 1, blocked: 0 });
    expect(plan.changes.map(({ book, units, serial }) => ({ book, units, serial }))).toEqual([
      { book: 7, units: 2, serial: "S1" },
      { book: 8, units: 2, serial: "" },
    ]);
    expect(plan.toText()).toMatch(/^\+ A {2}bin B, serial S1 {2}book 7/m);
    expect(plan.toText()).toMatch(/^- A {2}bin B, without serial {2}book 8/m);
    await apply(one, plan);
    expect(sent(one, "Receive")).toMatchObject([{ spot: "B", serial: "S1" }]);
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
    [
      "serials in another bin",
      [lot("A", 5), lot("A", 5, { serial: "S1", spot: "B" })],
      { itemID: "A", spot: "A-01", counted: 6 },
      /serials, such as S1/,
    ],
    ["a tag", [lot("A", 5, { rFIDTag: "T1" })], { itemID: "A", counted: 6 }, /has the tag T1/],
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
  ];
  it.each(blockedCases)("blocks %s, with the reason", async (_, lots, row, reason) => {
    const one = countWorld(lots);
    const plan = await planOf(one, [row]);
    expect(plan.counts).toMatchObject({ receive: 0, issue: 0, unchanged: 0, blocked: 1 });
    expect(plan.isEmpty).toBe(true);
    expect(plan.blocked[0]).toMatchObject({ ...row, book: expect.any(Number), reason: expect.stringMatching(reason) });
    expect(plan.toText()).toContain(`! ${row.itemID}`);
  });

  it("blocks a group with a lot of negative units", async () => {
    const one = countWorld([lot("A", 2), lot("A", 5)]);
    const client = changedBy(one, {
      level: (level) => ({ ...level, inStock: 3 }),
      lot: (listed) => ({ ...listed, units: listed.units === 2 ? -2 : listed.units }),
    });
    const plan = await planOf({ client }, [{ itemID: "A", counted: 9 }]);
    expect(plan.blocked).toMatchObject([{ book: 3, reason: expect.stringMatching(/^lot \d+ has -2 units$/) }]);
  });

  it("blocks a shortage of packed goods, a stock level that differs, and a discontinued item", async () => {
    const one = countWorld([lot("A", 5), lot("B", 5), lot("C", 5)]);
    await one.client.items.discontinue("C");
    const partNos = new Map((await one.items()).map(({ shortID, partNo }) => [partNo, shortID]));
    const client = changedBy(one, {
      level: ({ packed, inStock, ...level }) => ({
        ...level,
        packed: partNos.get(level.partNo) === "A" ? 2 : packed,
        inStock: partNos.get(level.partNo) === "B" ? inStock + 1 : inStock,
      }),
    });
    const planFor = (counted: number) =>
      planOf(
        { client },
        ["A", "B", "C"].map((itemID) => ({ itemID, counted })),
      );
    const fewer = await planFor(4);
    expect(fewer.blocked.map(({ reason }) => reason)).toEqual([
      "2 are packed for shipment",
      "the lots of the item add up to 5 here, but its stock level is 6",
      "the item is discontinued",
    ]);
    expect((await planFor(6)).counts).toMatchObject({ receive: 1, issue: 0, unchanged: 0, blocked: 2 });
    expect((await planFor(5)).counts).toMatchObject({ receive: 0, issue: 0, unchanged: 3, blocked: 0 });
  });

  const moved = { itemID: "A", wid: WID };
  const move = ({ client }: World, fromSpot: string, toSpot: string) =>
    client.inventory.move({ ...moved, units: 10, fromSpot, toSpot });
  const lotIn = "warehouse 3: lot \\d+ in bin A-01";
  it.each<[string, string, string, (one: World) => Promise<unknown>]>([
    [
      "receive",
      "A-01",
      "warehouse 3: lot \\d+ is new in bin A-01, with 1, received 20\\S+Z",
      ({ client }) => client.inventory.receive({ ...moved, units: 1, reasonCode: 1, spot: "A-01" }),
    ],
    [
      "issue",
      "A-01",
      `${lotIn} had 10, now 9`,
      ({ client }) => client.inventory.issue({ ...moved, units: 1, reasonCode: 1 }),
    ],
    ["move away", "A-01", `${lotIn} .*bin Z`, (one) => move(one, "A-01", "Z")],
    [
      "move away and back",
      "A-01",
      "warehouse 3: lot \\d+",
      (one) => move(one, "A-01", "Z").then(() => move(one, "Z", "A-01")),
    ],
    [
      "move into the bin and on",
      "B-02",
      `${lotIn} .*bin C-03`,
      (one) => move(one, "A-01", "B-02").then(() => move(one, "B-02", "C-03")),
    ],
  ])("blocks what others %s between snapshot and plan, even if the count is equal", async (_, spot, movement, action) => {
    const one = countWorld([lot("A", 10), lot("B", 10)]);
    const counted = [
      { itemID: "A", spot, counted: 10 },
      { itemID: "B", spot: "A-01", counted: 9 },
    ];
    const plan = await planOf(one, counted, () => action(one));
    expect(plan.blocked).toMatchObject([
      {
        itemID: "A",
        reason: expect.stringMatching(`^moved since the snapshot \\(of 20\\S+Z, ${movement}.*\\): count again$`),
      },
    ]);
    expect(plan.changes).toMatchObject([{ itemID: "B", units: 1 }]);
  });

  it("reads what was modified in pages that overlap, so that none is missed", async () => {
    const one = countWorld([lot("A", 10), ...Array.from({ length: 300 }, () => lot("B", 1))]);
    let before = 0;
    await planOf(one, [{ itemID: "A", counted: 10 }], async () => {
      await one.client.inventory.move({ itemID: "B", units: 300, wid: WID, toSpot: "B-02" });
      before = one.sandbox.requests.length;
    });
    const [first, second] = one.sandbox.requests
      .slice(before)
      .filter(({ query }) => query.modifiedSince)
      .map(({ query }) => ({ page: Number(query.page), pageSize: Number(query.pageSize) }));
    expect(((second?.page ?? NaN) - 1) * (second?.pageSize ?? NaN)).toBeLessThan(first?.pageSize ?? NaN);
  });

  it("says so if the service does not honour modifiedSince", async () => {
    const one = countWorld([lot("A", 10)]);
    const client = one.connect((request, send) => {
      const url = new URL(request.url);
      url.searchParams.delete("modifiedSince");
      return send(new Request(url, request));
    });
    const snapshot = await takeSnapshot({ client, wid: WID });
    expect(snapshot.modifiedSince).toBeNull();
    const counted = [{ itemID: "A", counted: 9 }];
    const plan = await planCount({ client, snapshot, counted, reasonCodes: REASONS });
    expect(plan.counts.issue).toBe(1);
    expect(plan.toText()).toContain("does not honour modifiedSince");
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
    const [spot, serial, both]: Partial<CountGroup>[] = [{ spot: "X" }, { serial: "S" }, { spot: "X", serial: "S" }];
    const overlapping: Partial<CountGroup>[][] = [
      [{}, { itemID: "a" }],
      [{}, { ...spot }],
      [{ ...spot }, {}],
      [{ ...spot }, { ...both }],
      [{ ...both }, { ...serial }],
      [{ ...spot }, { ...serial }],
      [{ ...both }, { ...both }],
    ];
    for (const rows of overlapping) {
      await expect(wrong(rows.map((row) => ({ itemID: "A", ...row, counted: 1 })))).rejects.toMatchObject({
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
    expect(plan.counts).toMatchObject({ receive: 0, issue: 0 });
    expect(plan.counts.unchanged + plan.counts.blocked).toBe(4);
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
    const other = one.connect(undefined, { baseUrl: "https://other.example/api/v1" });
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
    const document = JSON.parse(JSON.stringify(plan));
    const restored = readPlan(document);
    // Changing the document must not change the restored plan.
    document.changes.length = 0;
    expect(restored.kind).toBe("count");
    expect(restored.toText()).toBe(plan.toText());
    expect(restored.estimate().requests).toBe(plan.estimate().requests);
    expect(() => readPlan(JSON.stringify(plan).replace('"counted":8', '"counted":7'))).toThrow(/was changed since/);
    const report = await restored.apply({ client: one.client, outbox: one.outbox() });
    expect(report.applied).toBe(1);
    expect(await unitsOf(one, "A")).toBe(8);
  });
});

/** Creates a client to which lots or stock levels are shown with changes. */
function changedBy(one: World, changes: { lot?(lot: Lot): Lot; level?(level: StockLevel): StockLevel }) {
  return one.connect(async ({ url }, send) => {
    const response = await send();
    const change = url.includes("/StockLevels") ? changes.level : url.includes("/Inventory") && changes.lot;
    if (!change) return response;
    const page = Object(await response.json());
    return Response.json({ ...page, value: page.value.map(change) }, response);
  });
}

describe("a count that cannot be compared", () => {
  it("blocks bins that a spreadsheet has changed, unless they are accepted", async () => {
    const one = countWorld([lot("A", 7, { spot: "01" }), lot("A", 5, { spot: "1-2" })]);
    const { client } = one;
    const snapshot = await takeSnapshot({ client, wid: WID });
    const counted = [
      { itemID: "A", spot: "1", counted: 7 },
      { itemID: "A", spot: "02. Jan", counted: 0 },
    ];
    const plan = await planCount({ client, snapshot, counted, reasonCodes: REASONS });
    expect(plan.isEmpty).toBe(true);
    expect(plan.blocked.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("not counted (bin 01, without serial; bin 1-2, without serial)"),
      expect.stringContaining("has a spreadsheet changed it?"),
    ]);
    expect(plan.counts.notCounted).toBe(2);
    expect(plan.toText()).toContain("Not counted, and left as they are: 2 lines of the snapshot.");
    const accepted = await planCount({ client, snapshot, counted, reasonCodes: REASONS, newGroups: true });
    expect(accepted.counts).toMatchObject({ receive: 1, unchanged: 1 });
    const all = [...counted, { itemID: "A", spot: "01", counted: 7 }, { itemID: "A", spot: "1-2", counted: 5 }];
    expect((await planCount({ client, snapshot, counted: all, reasonCodes: REASONS })).counts.receive).toBe(1);
  });
});

describe("applying a count", () => {
  const SURPLUS = [{ itemID: "A", spot: "A-01", counted: 12 }];
  const SHORTAGE = [{ itemID: "A", spot: "A-01", counted: 3 }];
  const failing = (one: World, path: string, fault: "drop" | "drop-after" | 400 | 503, times = 1) =>
    one.sandbox.addFault({ method: "POST", path, fault, times });

  it("needs an outbox with a client of the same service", async () => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, SURPLUS);
    await expect(plan.apply({ client: one.client } as never)).rejects.toThrow("outbox: must be an Outbox");
    const outbox = one.outbox({ client: undefined });
    await expect(plan.apply({ client: one.client, outbox })).rejects.toBeInstanceOf(ConfigurationError);
    expect(one.writes()).toEqual([]);
  });

  it("leaves a group out that moved since the plan, and one whose item the outbox has something open for", async () => {
    const one = countWorld([10, 1, 1, 1, 1].map((units) => lot("A", units)).concat(lot("B", 5)));
    const plan = await planOf(one, [...SHORTAGE, { itemID: "B", counted: 4 }]);
    for (const { recNo: recno } of await one.client.inventory.getLots("A"))
      await one.client.inventory.issue({ itemID: "A", units: 0.5, wid: WID, reasonCode: 1, recno });
    failing(one, "/Inventory/Issue", "drop");
    const outbox = one.outbox();
    await outbox.add({ key: "own", operation: "issue", input: { itemID: "B", units: 1, wid: WID, reasonCode: 1 } });
    const report = await plan.apply({ client: one.client, outbox });
    expect(report).toMatchObject({ applied: 0, rejected: [], unknown: [], canceled: [] });
    expect(report.stale).toEqual([
      { itemID: "A", spot: "A-01", reason: expect.stringMatching(/had 10, now 9.5; .*; .*0.5; and 2 more/) },
      { itemID: "B", reason: expect.stringContaining('the outbox has the entry "own", which is unknown') },
    ]);
    expect((await outbox.summary()).unknown).toBe(1);
  });

  it("books nothing twice when it is applied again, or by two at once", async () => {
    const one = countWorld([lot("A", 10), lot("B", 5), lot("B", 5)]);
    const json = JSON.stringify(await planOf(one, [...SURPLUS, { itemID: "B", counted: 3 }]));
    const options = () => ({ client: one.client, outbox: one.outbox() });
    const reports = await Promise.all([1, 2].map(() => readCountPlan(json).apply(options())));
    for (const report of reports) expect(report).toMatchObject({ applied: 2, stale: [], rejected: [], unknown: [] });
    expect(await readCountPlan(json).apply(options())).toMatchObject({ applied: 2, requests: 0 });
    expect([await unitsOf(one, "A"), await unitsOf(one, "B")]).toEqual([12, 3]);
  });

  it("reads the warehouse once for all items if the service does not sort, and again for an item that was just sent for", async () => {
    const others = Array.from({ length: 300 }, () => lot("C", 1));
    const one = countWorld([lot("A", 10), lot("B", 10), lot("D", 10), ...others], { sortOn: [] });
    const plan = await planOf(
      one,
      ["A", "B", "D"].map((itemID) => ({ itemID, counted: 9 })),
    );
    const outbox = one.outbox();
    await outbox.add({ key: "own", operation: "receive", input: { itemID: "D", units: 1, wid: WID, reasonCode: 1 } });
    const before = one.sandbox.requests.length;
    const report = await plan.apply({ client: one.client, outbox });
    expect(report).toMatchObject({ applied: 2, stale: [{ itemID: "D", reason: expect.stringContaining("is new") }] });
    const paths = one.sandbox.requests.slice(before).map(({ path }) => path);
    expect(paths.filter((path) => path === `/Inventory/${WID}`).length).toBeLessThan(7);
  });

  it("two plans of one count book a difference once", async () => {
    const one = countWorld([lot("A", 10)]);
    const plans = [await planOf(one, SHORTAGE), await planOf(one, SHORTAGE)];
    const reports = await Promise.all(plans.map((plan) => apply(one, plan)));
    expect(reports.map(({ applied }) => applied).sort()).toEqual([0, 1]);
    expect(reports.flatMap(({ stale }) => stale)).toHaveLength(1);
    expect(await unitsOf(one, "A")).toBe(3);
  });

  it("reports a lost issue as unknown, also when it is applied again", async () => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, SHORTAGE);
    failing(one, "/Inventory/Issue", "drop-after");
    for (let time = 1; time <= 2; time += 1) {
      const report = await apply(one, plan);
      expect(report).toMatchObject({ applied: 0, stale: [], unknown: [{ itemID: "A", spot: "A-01" }] });
      expect(report.unknown[0]?.reason).toContain("Count it again");
    }
    expect(one.writes()).toHaveLength(1);
  });

  it("reports what the service refuses, and how much of the group was applied", async () => {
    const one = countWorld([lot("A", 5), lot("A", 5)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 1 }]);
    one.sandbox.addFault({ method: "POST", path: "/Inventory/Issue", skip: 1, times: 1, fault: 400 });
    const { rejected } = await apply(one, plan);
    expect(rejected).toEqual([{ itemID: "A", reason: expect.stringMatching(/^1 of 2 writes were applied\. .*400/) }]);
  });

  it("cancels what could not be sent, and no later run sends it", async () => {
    const one = countWorld([lot("A", 5), lot("A", 5)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 1 }]);
    const controller = new AbortController();
    const reason = new Error("enough");
    const client = one.connect(
      ({ url }, send) => {
        if (url.endsWith("/Issue")) controller.abort(reason);
        return send();
      },
      { timeoutMs: 200 },
    );
    const outbox = one.outbox({ client, settleMs: 200 });
    await expect(plan.apply({ client, outbox, signal: controller.signal })).rejects.toBe(reason);
    expect(await outbox.summary()).toMatchObject({ applied: 1, canceled: 1, pending: 0 });
    expect(await outbox.run()).toMatchObject({ applied: 0 });
    expect(await apply(one, plan)).toMatchObject({
      canceled: [{ reason: expect.stringContaining("1 of 2 writes were applied") }],
    });
  });

  it("what a process that died has added is canceled by the next sender, unread", async () => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, SURPLUS);
    // This process hangs while its first write is in flight. The write never takes effect.
    const dead = one.outbox();
    let isHanging = false;
    const client = one.connect(
      async ({ url }, send) => {
        if (!url.endsWith("/Receive")) return send();
        isHanging = true;
        throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
      },
      { timeoutMs: 200 },
    );
    const controller = new AbortController();
    const outbox = one.outbox({ client, settleMs: 200 });
    const applying = plan.apply({ client, outbox, signal: controller.signal });
    await vi.waitFor(() => expect(isHanging).toBe(true));
    controller.abort();
    await expect(applying).rejects.toMatchObject({ name: "AbortError" });
    expect(await dead.summary()).toMatchObject({ sending: 1 });
    expect(await dead.run()).toMatchObject({ applied: 0, unknown: 0, pending: 0 });
    expect(await dead.summary()).toMatchObject({ canceled: 1 });
    expect(await unitsOf(one, "A")).toBe(10);
    expect((await apply(one, plan)).canceled).toHaveLength(1);
  });

  it("ends after five items that were refused with 403", async () => {
    const skus = ["A", "B", "C", "D", "E", "F"];
    const one = world(
      skus.map((sku) => item(sku)),
      { warehouses: WAREHOUSES, lots: skus.map((sku) => lot(sku, 9)) },
    );
    const plan = await planOf(
      one,
      skus.map((itemID) => ({ itemID, counted: 1 })),
    );
    one.sandbox.addFault({ path: "/Inventory/Issue", fault: 403 });
    await expect(apply(one, plan)).rejects.toMatchObject({ status: 403 });
    expect(one.writes()).toHaveLength(5);
  });

  it("cancels in the next run what a process that died has left behind an unknown issue", async () => {
    const one = countWorld([lot("A", 5), lot("A", 5)]);
    const plan = await planOf(one, [{ itemID: "A", counted: 1 }]);
    failing(one, "/Inventory/Issue", "drop-after");
    const died = vi.spyOn(Outbox.prototype, "cancel").mockRejectedValue(new Error("died"));
    await expect(apply(one, plan)).rejects.toThrow("died");
    died.mockRestore();
    expect(await one.outbox().summary()).toMatchObject({ unknown: 1, pending: 1 });
    await one.outbox().run();
    expect(await one.outbox().summary()).toMatchObject({ unknown: 1, canceled: 1 });
  });

  it("rejects if the service cannot be reached, and leaves nothing pending", async () => {
    const one = countWorld([lot("A", 10)]);
    const plan = await planOf(one, SURPLUS);
    one.sandbox.addFault({ path: "/Inventory/Receive", fault: { type: "status", status: 401 } });
    const outbox = one.outbox();
    await expect(plan.apply({ client: one.client, outbox })).rejects.toThrow("401");
    expect(await outbox.summary()).toMatchObject({ canceled: 1, pending: 0 });
  });
});

describe("a stock count, whatever happens", () => {
  it.each(Array.from({ length: runs(12) }, (_, seed) => seed))("books no difference twice: %d", async (seed) => {
    const random = createRandom(seed + 1);
    const lots = ITEMS.flatMap(({ shortID }) =>
      Array.from({ length: 1 + Math.floor(random() * 3) }, () => lot(shortID, 5 + Math.floor(random() * 20))),
    );
    const one = countWorld(lots);
    const before = new Map<string, number>();
    for (const { shortID } of ITEMS) before.set(shortID, await unitsOf(one, shortID));
    const counted = ITEMS.map(({ shortID }) => ({ itemID: shortID, spot: "A-01", counted: Math.floor(random() * 40) }));
    const json = JSON.stringify(await planOf(one, counted));
    for (let attempt = 0; attempt < 6; attempt += 1) {
      one.sandbox.clearFaults();
      for (const path of ["/Inventory/Receive", "/Inventory/Issue"])
        if (random() < 0.7)
          one.sandbox.addFault({ path, fault: random() < 0.5 ? "drop" : "drop-after", times: 2, probability: 0.5 });
      const controller = new AbortController();
      const limit = Math.floor(random() * 5);
      await readCountPlan(json)
        .apply({
          client: one.client,
          outbox: one.outbox(),
          signal: controller.signal,
          onProgress: ({ done }) => done > limit && controller.abort(),
        })
        .catch(() => {});
    }
    one.sandbox.clearFaults();
    const report = await apply(one, readCountPlan(json));
    const unsure = new Set([...report.unknown, ...report.canceled].map(({ itemID }) => itemID));
    for (const { itemID, counted: units } of counted) {
      const stock = await unitsOf(one, itemID);
      if (!unsure.has(itemID)) expect({ itemID, stock }).toEqual({ itemID, stock: units });
      const [low, high] = [Math.min(units, before.get(itemID) ?? 0), Math.max(units, before.get(itemID) ?? 0)];
      expect(stock).toBeGreaterThanOrEqual(low);
      expect(stock).toBeLessThanOrEqual(high);
    }
  });
});

describe("however slow the service is, plan.apply of a count ends", () => {
  it.each([
    ["lots that are sorted", {}],
    ["lots that the service does not sort", { sortOn: [] }],
  ] as const)("with %s: an item that cannot be read in time is stale, five in a row end it, and nothing is stored", async (_, options) => {
    const others = Array.from({ length: 500 }, () => lot("E", 1, { spot: "Z" }));
    const skus = ["A", "B", "C", "D", "F", "G", "H"];
    const one = world([...ITEMS, ...["F", "G", "H"].map((sku) => item(sku))], {
      warehouses: WAREHOUSES,
      lots: [...skus.map((sku) => lot(sku, 10)), ...others],
      ...options,
    });
    const planFor = (counted: readonly string[]) =>
      planOf(
        one,
        counted.map((itemID) => ({ itemID, spot: "A-01", counted: 7 })),
      );
    const [few, many] = [await planFor(["A"]), await planFor(skus)];
    let movedMs = 0;
    const now = performance.now.bind(performance);
    const spy = vi.spyOn(performance, "now").mockImplementation(() => now() + movedMs);
    onTestFinished(() => spy.mockRestore());
    const client = one.connect(
      async (request, send) => {
        if (request.method === "GET" && request.url.includes("/Inventory/3")) movedMs += 700_000;
        return send();
      },
      { timeoutMs: 1_500 },
    );
    const outbox = one.outbox({ client });
    onTestFinished(() => outbox.close());
    expect(await few.apply({ client, outbox })).toMatchObject({
      applied: 0,
      stale: [{ itemID: "A", reason: "it could not be read and written within 10 minutes" }],
      canceled: [],
    });
    await expect(many.apply({ client, outbox })).rejects.toThrow("5 items in a row could not be read and written");
    expect(one.writes()).toEqual([]);
    // No entries were added: a group with entries could not be applied later.
    expect(await outbox.summary()).toMatchObject({ pending: 0, canceled: 0 });
  });
});
