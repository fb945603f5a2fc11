import { planItems } from "stocklot/plan";
import { describe, expect, it } from "vitest";
import { item, readItemPlan, world } from "./support.js";

const nameOf = (index: number) => `N${String(index).padStart(5, "0")}`;
const CATALOG = Array.from({ length: 3_000 }, (_, index) => item(nameOf(index)));
const LISTED = 14;

/** Returns stock levels for `count` items. They show no stock, so that the items may be discontinued. */
const levelsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ shortID: nameOf(index * 2), onOrder: 0 }));

interface Case {
  create: number;
  update: number;
  discontinue: number;
}

const rowsOf = ({ create, update, discontinue }: Case) => [
  ...Array.from({ length: create }, (_, index) => item(`NEW${index}`)),
  ...Array.from({ length: update }, (_, index) => item(nameOf(index), { category: 7 })),
  ...Array.from({ length: discontinue }, (_, index) => ({ shortID: nameOf(2_999 - 3 * index), discontinued: true })),
];

describe("planning and applying", () => {
  it.each<Case>([
    { create: 0, update: 1, discontinue: 0 },
    { create: 3, update: 0, discontinue: 0 },
    { create: 0, update: 60, discontinue: 0 },
    { create: 20, update: 450, discontinue: 0 },
    { create: 0, update: 0, discontinue: 1 },
    { create: 0, update: 0, discontinue: 6 },
    { create: 1, update: 2, discontinue: 17 },
    { create: 0, update: 30, discontinue: 100 },
  ])("cost no more than the list, the levels, and three requests for each change, as estimated: %o", async (counts) => {
    const one = world(CATALOG, { stockLevels: levelsOf(1_200) });
    const requests = () => one.sandbox.requests.filter(({ path }) => path !== "/Token").length;
    const cost = async (work: () => Promise<unknown>) => {
      const before = requests();
      await work();
      return requests() - before;
    };
    const desired = rowsOf(counts);
    const discontinued = desired.flatMap((row) => ("discontinued" in row ? row.shortID : []));
    const fresh = one.connect();
    const levels = await cost(() => fresh.inventory.getStockLevels(discontinued));
    const client = one.connect();
    let plan: Awaited<ReturnType<typeof planItems>> | undefined;
    const planning = await cost(async () => {
      plan = await planItems({ client, desired, maxDiscontinuedShare: 1 });
    });
    if (!plan) throw new Error("no plan");
    expect(plan.counts).toMatchObject(counts);
    expect(planning).toBeLessThanOrEqual(LISTED + levels);
    const estimate = plan.estimate().requests;
    const applying = await cost(async () => {
      expect(await plan?.apply({ client })).toMatchObject({ applied: desired.length, stale: [], rejected: [] });
    });
    expect(applying).toBeLessThanOrEqual(LISTED + levels + 3 * desired.length);
    expect(Math.abs(estimate - applying), `estimate ${estimate}, real ${applying}`).toBeLessThanOrEqual(
      Math.max(1, applying / 5),
    );
    expect(readItemPlan(plan.toJSON()).estimate().requests).toBe(estimate);
  });
});
