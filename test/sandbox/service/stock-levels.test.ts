import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../support/runs.js";
import { level, open } from "../support/stock.js";

describe("stock levels", () => {
  it("add up lots that are in stock, and count what is on hold, committed and packed", async () => {
    const api = open({
      lots: [
        { shortID: "A", units: 10 },
        { shortID: "A", units: 4, hold: true },
        { shortID: "A", units: 3, wID: 2 },
        { shortID: "A", units: 99, shipped: "2025-01-01T00:00:00Z" },
        { shortID: "A", units: 99, active: false },
      ],
      stockLevels: [{ shortID: "A", committed: 2.5, packed: 1, onOrder: 50, aSN: 7 }],
    });
    const levels = (more: object) => ({
      partNo: 1001,
      onOrder: 50,
      onHold: 4,
      committed: 2.5,
      packed: 1,
      aSN: 7,
      ...more,
    });
    expect(await level(api, "/1")).toEqual(levels({ inStock: 14, available: 6.5 }));
    expect(await level(api)).toEqual(levels({ inStock: 17, available: 9.5 }));
    expect(await level(api, "/2")).toMatchObject({ inStock: 3, available: 3, onOrder: 0 });
    expect((await api.get("/Inventory/StockLevels/3")).body.totalCount).toBe(0);
  });

  it("always agree with the lots, whatever is received, moved and issued", async () => {
    const quantity = fc.integer({ min: 1, max: 5000 }).map((thousandths) => thousandths / 1000);
    const action = fc.record({
      kind: fc.constantFrom("Receive", "Move", "Issue"),
      itemID: fc.constantFrom("A", "B"),
      units: quantity,
      wid: fc.constantFrom(1, 2),
      shipToWid: fc.constantFrom(undefined, 1, 2),
      spot: fc.constantFrom(undefined, "S1", "S2"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
        const api = open({ items: [{ shortID: "A" }, { shortID: "B" }], seed: 3 });
        await Promise.all(
          ["/Inventory/StockLevels?sort=inStock", "/Inventory?sort=units"].map((path) => api.get(path)),
        );
        for (const { kind, spot, ...fields } of actions) {
          const bins = kind === "Move" ? { toSpot: spot } : { spot };
          const { status } = await api.post(`/Inventory/${kind}`, { ...fields, ...bins, reasonCode: 1 });
          expect([200, 201, 400]).toContain(status);
        }
        for (const wid of ["", "/1", "/2"]) {
          const lots = (await api.get(`/Inventory${wid}?sort=units&pageSize=250`)).body.value;
          const levels = (await api.get(`/Inventory/StockLevels${wid}?sort=inStock`)).body.value;
          const sums = new Map<number, number>();
          for (const lot of lots) {
            expect(lot.units === 0).toBe(lot.shipped !== null);
            sums.set(lot.partNo, (sums.get(lot.partNo) ?? 0) + Math.round(lot.units * 1000));
          }
          const seen = levels.map((each: { partNo: number; inStock: number }) => [each.partNo, each.inStock]);
          const byStock = [...sums].map(([partNo, sum]) => [partNo, sum / 1000] as const);
          byStock.sort(([partA, a], [partB, b]) => a - b || partA - partB);
          expect(seen).toEqual(byStock);
        }
      }),
      { numRuns: runs(60) },
    );
  });
});
