import { InputValidationError, type Lot } from "stocklot";
import { type CountedRow, planCount, takeSnapshot } from "stocklot/plan";
import { describe, expect, it } from "vitest";
import { checkOf } from "../../src/plan/count/check.js";
import { planCountOfSheets } from "../../src/plan/count/plan-count.js";
import { seededRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { REWRITABLE, rewritten } from "../support/spreadsheet.js";
import { item, type World, world } from "./support.js";

/*
 * A spreadsheet may rewrite texts of the sheet that was printed. Nothing may be booked that was not counted.
 */

const WID = 1;
const OLD = "2025-01-02T00:00:00Z";
const REASONS = { surplus: 21, shortage: 22 };

const lot = (shortID: string, units: number, fields: Partial<Lot> = {}) => ({
  ...{ shortID, units, wID: WID, spot: "A", serial: "", received: OLD },
  ...fields,
});

const stocked = (lots: ReturnType<typeof lot>[], more: string[] = []) =>
  world(
    [...new Set([...lots.map(({ shortID }) => shortID), ...more])].map((sku) => item(sku)),
    { lots },
  );

async function plansOf(one: World, counted: CountedRow[], more: { newGroups?: boolean } = {}) {
  const { client } = one;
  const snapshot = await takeSnapshot({ client, wid: WID });
  return planCount({ client, snapshot, counted, reasonCodes: REASONS, ...more });
}

describe("a group that the snapshot does not know", () => {
  it("is blocked if serials were rewritten, and so is every group of the item", async () => {
    const serials = ["0017", "1E5", "1-2", "90.750"];
    const one = stocked(serials.map((serial) => lot("DRILL", 1, { serial })));
    const counted = ["17", "100000", "02. Jan", "90.750"].map((serial) => ({
      itemID: "DRILL",
      spot: "A",
      serial,
      counted: 2,
    }));
    const plan = await plansOf(one, counted);
    expect(plan.isEmpty).toBe(true);
    expect(plan.blocked.map(({ reason }) => reason)).toEqual([
      ...Array.from({ length: 3 }, () =>
        expect.stringContaining("not counted (bin A, serial 0017; bin A, serial 1E5;"),
      ),
      expect.stringContaining("another group of the item is blocked"),
    ]);
    expect(plan.counts).toMatchObject({ notCounted: 3, blocked: 4 });
  });

  it("is blocked if the item itself is not in the snapshot, though it exists", async () => {
    const lots = [lot("0017", 5), lot("17", 5, { wID: 2 }), lot("90.750", 7, { spot: "B" })];
    const one = stocked(lots, ["90.75"]);
    const counted = [
      { itemID: "17", spot: "A", counted: 5 },
      { itemID: "90.75", spot: "B", counted: 7 },
      { itemID: "nothing", counted: 7 },
    ];
    const plan = await plansOf(one, counted);
    expect(plan.isEmpty).toBe(true);
    expect(plan.blocked.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("the snapshot has nothing of this item: has a spreadsheet changed it?"),
      expect.stringContaining("the snapshot has nothing of this item"),
      expect.stringContaining("the item does not exist"),
    ]);
    const accepted = await plansOf(one, counted, { newGroups: true });
    expect(accepted.counts).toMatchObject({ receive: 2, blocked: 1 });
  });

  it("is accepted if all groups of the item that the snapshot knows were counted", async () => {
    const one = stocked([lot("A", 5)]);
    const rows = [
      { itemID: "A", spot: "A", counted: 5 },
      { itemID: "A", spot: "B", counted: 2 },
    ];
    expect((await plansOf(one, rows)).counts).toMatchObject({ receive: 1, blocked: 0 });
    expect((await plansOf(one, rows.slice(1))).counts).toMatchObject({ receive: 0, blocked: 1 });
  });
});

describe("the letters of a row", () => {
  it("are five letters that no spreadsheet rewrites, of item, bin and serial", () => {
    const checks = REWRITABLE.map((itemID) => checkOf({ itemID, spot: "A", serial: "" }));
    for (const check of checks) expect(check).toMatch(/^[b-df-hj-np-tv-z]{5}$/);
    expect(new Set(checks).size).toBe(checks.length);
    expect(checkOf({ itemID: "A" })).toBe(checkOf({ itemID: "A", spot: "", serial: "" }));
  });

  it.each([
    ["itemID", { itemID: "17" }, 'itemID: is "17", but in the printed sheet itemID was "0017"'],
    ["spot", { spot: "02. Jan" }, 'spot: is "02. Jan", but in the printed sheet spot was "1-2"'],
    ["serial", { serial: "100000" }, 'serial: is "100000", but in the printed sheet serial was "1E5"'],
    ["check", { check: "zzzzz" }, 'check: "zzzzz" are not the letters of 0017  bin 1-2, serial 1E5'],
  ])("name what was changed: %s", async (_, change, message) => {
    const printed = { itemID: "0017", spot: "1-2", serial: "1E5" };
    const one = stocked([lot("0017", 5, printed)], ["17"]);
    const row = { ...printed, counted: 4, check: checkOf(printed) };
    expect((await plansOf(one, [{ ...row, check: ` ${row.check.toUpperCase()} ` }])).counts.issue).toBe(1);
    expect((await plansOf(one, [{ ...row, check: null }])).counts.issue).toBe(1);
    await expect(plansOf(one, [{ ...row, ...change }])).rejects.toThrow(message);
  });
});

describe("a row without letters", () => {
  const group = (itemID: string, spot: string, serial = "") => ({ itemID, spot, serial, counted: 4 });
  const worldOf = (...groups: ReturnType<typeof group>[]) =>
    stocked(groups.map(({ itemID, spot, serial }) => lot(itemID, 5, { spot, serial })));

  it.each([
    ["item", group("007", "A"), group("7", "A")],
    ["bin", group("X", "1.10"), group("X", "1.1")],
    ["serial", group("X", "A", "12E3"), group("X", "A", "12000")],
    ["all of them", group("5%", "A\u20101", "TRUE"), group("0.05", "A-1", "true")],
  ])("is wrong if a group that is not counted may have become it: %s", async (_, printed, other) => {
    const one = worldOf(printed, other);
    // The first row was rewritten, and the second one was not counted.
    await expect(plansOf(one, [other])).rejects.toThrow(
      /\[0\]\.check: is missing.* the row may have been .*, which is not counted\. Write the letters/,
    );
    const letters = { check: checkOf(other) };
    expect((await plansOf(one, [{ ...other, ...letters }])).counts).toMatchObject({ issue: 1, notCounted: 1 });
    expect((await plansOf(one, [printed, other])).counts).toMatchObject({ issue: 2, blocked: 0 });
  });

  it("may count all bins of an item, unless another item may have become it", async () => {
    const one = worldOf(group("007", "A"), group("7", "B"), group("X", "1.1"), group("X", "1.10"));
    expect((await plansOf(one, [{ itemID: "X", counted: 4 }])).counts).toMatchObject({ issue: 1 });
    await expect(plansOf(one, [{ itemID: "7", counted: 4 }])).rejects.toThrow("may have been 007  bin A");
  });

  it("is blocked if the snapshot does not have it, but one of another item", async () => {
    const one = worldOf(group("7", "A"), group("007", "B"));
    const rows = [group("7", "A"), group("7", "B")];
    const plan = await plansOf(one, rows);
    expect(plan.isEmpty).toBe(true);
    expect(plan.blocked.map(({ reason }) => reason)).toContainEqual(
      expect.stringContaining("the snapshot does not have this group, but 007  bin B"),
    );
    expect((await plansOf(one, rows, { newGroups: true })).counts).toMatchObject({ receive: 1, issue: 1 });
  });
});

describe("several sheets of a count", () => {
  const LOTS = [lot("A", 5), lot("A", 3, { spot: "B" }), lot("C", 2)];
  const sheet = (rows: [sku: string, spot: string, counted: number][]) =>
    rows.map(([itemID, spot, counted]) => ({ itemID, spot, serial: "", counted }));

  async function planOfSheets(isDouble: boolean, ...sheets: CountedRow[][]) {
    const one = stocked(LOTS);
    const { client } = one;
    const snapshot = await takeSnapshot({ client, wid: WID });
    const sheetOfRow = sheets.flatMap((rows, index) => rows.map(() => index));
    const sheetOf = (index: number) => sheetOfRow[index] ?? 0;
    const names = sheets.map((__, index) => `sheet-${index + 1}.csv`);
    const options = { client, snapshot, counted: sheets.flat(), reasonCodes: REASONS };
    return (await planCountOfSheets(options, { names, isDouble, sheetOf })).plan;
  }

  it("are parts: together they count the item, and a group in two of them blocks it", async () => {
    const [one, two] = [
      sheet([
        ["A", "A", 5],
        ["C", "A", 1],
      ]),
      sheet([["A", "B", 4]]),
    ];
    expect((await planOfSheets(false, one, two)).counts).toMatchObject({
      receive: 1,
      issue: 1,
      blocked: 0,
      notCounted: 0,
    });
    const plan = await planOfSheets(false, one, [...two, ...sheet([["A", "A", 6]])]);
    expect(plan.counts).toMatchObject({ receive: 0, issue: 1, blocked: 3 });
    expect(plan.blocked.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("counted twice: 5 in sheet-1.csv, 6 in sheet-2.csv"),
      expect.stringContaining("another group of the item is blocked"),
      expect.stringContaining("counted twice: 6 in sheet-2.csv, 5 in sheet-1.csv"),
    ]);
  });

  it("of a double count must agree", async () => {
    const one = sheet([
      ["A", "A", 6],
      ["A", "B", 3],
      ["C", "A", 1],
    ]);
    expect((await planOfSheets(true, one, one, one)).counts).toMatchObject({
      receive: 1,
      issue: 1,
      unchanged: 1,
      blocked: 0,
    });
    const other = sheet([
      ["A", "A", 6],
      ["A", "B", 4],
      ["C", "A", 1],
    ]);
    const differing = await planOfSheets(true, one, other);
    expect(differing.counts).toMatchObject({ receive: 0, issue: 1, blocked: 3 });
    expect(differing.toText()).toContain("the counts do not agree: 3 in sheet-1.csv, 4 in sheet-2.csv");
    const partial = await planOfSheets(true, one, one.slice(0, 2));
    expect(partial.counts).toMatchObject({ receive: 1, issue: 0, blocked: 1 });
    expect(partial.toText()).toContain("1 in sheet-1.csv, not counted in sheet-2.csv");
    const mixed = await planOfSheets(true, one, [
      { itemID: "A", counted: 9 },
      { itemID: "C", counted: 1 },
    ]);
    expect(mixed.isEmpty).toBe(true);
  });
});

describe("what a plan cannot see", () => {
  it.each([
    ["used up"],
    ["moved out of the client's warehouses"],
  ])("says how many record numbers are missing: %s", async () => {
    const one = stocked([lot("A", 3), lot("F", 1)]);
    const hidden = new Set<number>();
    const client = one.connect(async ({ url }, send) => {
      const response = await send();
      if (!new URL(url).pathname.includes("/Inventory")) return response;
      const page = Object(await response.json());
      const value = page.value.filter(({ recNo }: Lot) => !hidden.has(recNo));
      return Response.json(
        { ...page, value, totalCount: page.totalCount - (page.value.length - value.length) },
        response,
      );
    });
    const snapshot = await takeSnapshot({ client, wid: WID });
    const received: number[] = [];
    for (const units of [10, 1]) {
      const { recNo = 0 } = await one.client.inventory.receive({
        itemID: units === 10 ? "A" : "F",
        units,
        wid: WID,
        reasonCode: 1,
      });
      received.push(recNo);
    }
    hidden.add(received[0] ?? 0);
    const plan = await planCount({
      client,
      snapshot,
      counted: [{ itemID: "A", spot: "A", counted: 13 }],
      reasonCodes: REASONS,
    });
    expect(plan.counts.missingRecNos).toBe(1);
    expect(plan.toText()).toMatch(
      /used up, or left .* cannot be seen: 1 record number since then is missing from the list\.$/,
    );
  });

  it("says so, too, if no number is missing, and if it cannot count them", async () => {
    const rows = [{ itemID: "A", counted: 3 }];
    const counted = await plansOf(stocked([lot("A", 3)]), rows);
    expect(counted.counts.missingRecNos).toBe(0);
    expect(counted.toText()).toContain("cannot be seen: 0 record numbers since then are missing");
    const one = world([item("A")], { lots: [lot("A", 3)], modifiedSinceOn: [] });
    const uncounted = await plansOf(one, rows);
    expect(uncounted.counts.missingRecNos).toBeNull();
    expect(uncounted.toText()).toMatch(/cannot be seen\.$/m);
  });
});

it.each(
  Array.from({ length: runs(80) }, (_, seed) => [seed]),
)("books nothing that was not counted: %i", async (seed) => {
  const random = seededRandom(seed + 400);
  const pick = () => REWRITABLE[random(REWRITABLE.length)] ?? "";
  const hasChecks = random(2) === 0;
  /** The groups, by item, bin and serial. Many of them have similar texts. */
  const groups = new Map<string, { itemID: string; spot: string; serial: string; book: number }>();
  const few = Array.from({ length: 4 }, pick);
  for (let tries = 0; tries < 12; tries += 1) {
    const [itemID = "", spot = "", serial = ""] = few.map((text) => (random(2) === 0 ? text : pick()));
    const group = { itemID, spot, serial: random(2) === 0 ? "" : serial, book: 1 + random(9) };
    groups.set(JSON.stringify([group.itemID, group.spot, group.serial]), group);
  }
  const one = stocked(
    [...groups.values()].map(({ itemID, spot, serial, book }) => lot(itemID, book, { spot, serial })),
    [...REWRITABLE],
  );
  const { client } = one;
  const snapshot = await takeSnapshot({ client, wid: WID });
  const columns = (["itemID", "spot", "serial"] as const).filter(() => random(2) === 0);
  const truth = new Map<string, number>();
  const counted = [...groups].flatMap(([key, { itemID, spot, serial, book }]) => {
    if (random(4) === 0) return [];
    const quantity = Math.max(0, book - 2 + random(5));
    truth.set(key, quantity);
    const row: CountedRow = {
      itemID,
      spot,
      serial,
      counted: quantity,
      ...(hasChecks && { check: checkOf({ itemID, spot, serial }) }),
    };
    for (const column of columns) row[column] = rewritten(String(row[column]), random);
    return [row];
  });
  const plan = await planCount({ client, snapshot, counted, reasonCodes: REASONS }).catch((error: unknown) => {
    if (!(error instanceof InputValidationError)) throw error;
  });
  await plan?.apply({ client, outbox: one.outbox() });
  const stock = new Map<string, number>();
  for (const { shortID, spot, serial, units } of await client.inventory.listLots({ wid: WID }).toArray()) {
    const key = JSON.stringify([shortID, spot, serial]);
    stock.set(key, (stock.get(key) ?? 0) + units);
  }
  for (const [key, units] of stock) expect([groups.get(key)?.book ?? 0, truth.get(key)]).toContain(units);
});
