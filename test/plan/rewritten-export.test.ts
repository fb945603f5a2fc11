import { InputValidationError } from "stocklot";
import { type DesiredItem, planItems } from "stocklot/plan";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { REWRITABLE, rewritten } from "../support/spreadsheet.js";
import { item, type World, world } from "./support.js";

/** Returns the items as `export items` writes them. */
async function exported({ client }: World): Promise<DesiredItem[]> {
  const items = await client.items.list().toArray();
  return items.map(({ partNo, shortID, description }) => ({ partNo: String(partNo), shortID, description }));
}

/** Returns the issues of a plan that is refused, each as `path: message`. */
async function issuesOf({ client }: World, desired: DesiredItem[]): Promise<string[]> {
  const refused = await planItems({ client, desired }).catch((error: unknown) => error);
  if (!(refused instanceof InputValidationError)) throw new TypeError("it was planned");
  return refused.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe("the part number of a row", () => {
  it("is that of its item, or the row is wrong: the item would be created a second time", async () => {
    const one = world(["0017", "1E5", "3-4", "17", "BOLT"].map((sku) => item(sku)));
    const rows = await exported(one);
    const changed = rows.map((row) => ({
      ...row,
      shortID: { "0017": "18", "1E5": "100000" }[row.shortID] ?? row.shortID,
    }));
    expect(await issuesOf(one, changed)).toEqual([
      expect.stringMatching(
        /^0\.partNo: "\d+" belongs to the item "0017", not to "18": has a spreadsheet changed the SKU\?$/,
      ),
      expect.stringMatching(/^2\.partNo: "\d+" belongs to the item "1E5", not to "100000"/),
    ]);
    const swapped = rows.map((row) => ({
      ...row,
      shortID: { "0017": "17", "17": "0017" }[row.shortID] ?? row.shortID,
    }));
    expect(await issuesOf(one, swapped)).toHaveLength(2);
    expect((await planItems({ client: one.client, desired: rows })).counts).toMatchObject({ create: 0, unchanged: 5 });
  });

  it.each([
    [999_999],
    ["999999"],
    ["1,001"],
    ["1E+03"],
    ["-1"],
    [1.5],
    ["x"],
  ])("that no item has is wrong: %j", async (partNo) => {
    const one = world([item("A"), item("B")]);
    const rows = [
      { shortID: "A", partNo: null },
      { shortID: "B", partNo },
    ];
    expect(await issuesOf(one, rows)).toEqual([expect.stringMatching(/^1\.partNo: .* belongs to no item/)]);
  });

  it.each([[null], [undefined], [""]])("that is empty is none: %j", async (partNo) => {
    const one = world([item("A")]);
    const plan = await planItems({
      client: one.client,
      desired: [{ shortID: "NEW", partNo: partNo as null, description: "x" }],
    });
    expect(plan.counts.create).toBe(1);
  });

  it("that is wrong in all rows is one issue: it is another program's number", async () => {
    const one = world(["A", "B", "C"].map((sku) => item(sku)));
    const rows = ["A", "B", "C"].map((shortID, index) => ({ shortID, partNo: 900_000 + index }));
    expect(await issuesOf(one, rows)).toEqual([
      expect.stringMatching(
        /^desired: in all 3 rows, partNo is not the part number of the item \(row 0: 900000 belongs to no item/,
      ),
    ]);
  });
});

describe("a SKU without a part number", () => {
  it("is blocked if it is that of an item without a row in another notation, which is not discontinued either", async () => {
    const one = world(["007", "5%", "BOLT", "NUT"].map((sku) => item(sku)));
    const desired = ["7", "0.05", "BOLT", "NEW"].map((sku) => item(sku));
    const owns = () => true;
    const plan = await planItems({ client: one.client, desired, absent: "discontinue", owns, maxDiscontinuedShare: 1 });
    const changes = plan.changes.map(({ operation, shortID }) => [operation, shortID]);
    expect(changes).toEqual([
      ["create", "NEW"],
      ["discontinue", "NUT"],
    ]);
    expect(plan.blocked).toEqual([
      { shortID: "7", reason: expect.stringContaining('the item "007" exists: has a spreadsheet changed the SKU?') },
      { shortID: "0.05", reason: expect.stringContaining('the item "5%" exists') },
      { shortID: "007", reason: expect.stringContaining('the row "7" may be this item') },
      { shortID: "5%", reason: expect.stringContaining('the row "0.05" may be this item') },
    ]);
  });

  it("is created if the source has both", async () => {
    const one = world([item("1.1")]);
    const desired = [{ shortID: "1.1" }, item("1.10")];
    expect((await planItems({ client: one.client, desired })).counts).toMatchObject({ create: 1, blocked: 0 });
  });
});

it.each(
  Array.from({ length: runs(40) }, (_, seed) => [seed]),
)("no item is created that a spreadsheet has made up: %i", async (seed) => {
  const random = seededRandom(seed + 900);
  const skus = [...new Set(REWRITABLE.filter(() => random(2) === 0).map((text) => text.replaceAll(/[/]/g, "-")))];
  const one = world(skus.map((sku) => item(sku)));
  const rows = (await exported(one)).filter(() => random(5) !== 0);
  if (random(2) === 0) rows.reverse();
  const hasPartNo = random(2) === 0;
  const saved = rows.map(({ partNo, ...row }) => ({
    ...row,
    ...(hasPartNo && { partNo }),
    shortID: random(3) === 0 ? rewritten(row.shortID, random) : row.shortID,
    description: "new",
  }));
  const isSame = saved.every(({ shortID }, index) => shortID === rows[index]?.shortID);
  const plan = await planItems({ client: one.client, desired: saved }).catch((error: unknown) => {
    if (!(error instanceof InputValidationError)) throw error;
  });
  expect(plan?.counts.create ?? 0).toBe(0);
  if (isSame && saved.length > 0) expect(plan?.counts.update).toBe(saved.length);
  else if (hasPartNo) expect(plan).toBeUndefined();
});
