import { NotFoundError } from "stocklot";
import { describe, expect, it } from "vitest";
import { createRandom } from "../support/random.js";
import { RUN_ALL } from "../support/runs.js";
import { ALL_DISTRIBUTIONS, COUNTED } from "./distributions.js";
import { SearchedService } from "./searched-service.js";

const PAGE = 250;
const skusOf = (partNos: readonly number[]) => partNos.map((partNo) => `SKU-${partNo}`);

function choose(partNos: readonly number[], count: number, random: () => number): number[] {
  const chosen = new Set<number>();
  while (chosen.size < Math.min(count, partNos.length)) chosen.add(partNos[Math.floor(random() * partNos.length)] ?? 0);
  return [...chosen];
}

describe("getStockLevels", () => {
  it("returns the level of each SKU as asked, in that order, null for those that are not listed", async () => {
    const { inventory } = new SearchedService([10, 30, 20, 40]).client();
    const levels = await inventory.getStockLevels(["SKU-40", "SKU-25", "SKU-10", "SKU-40"]);
    expect([...levels.keys()]).toEqual(["SKU-40", "SKU-25", "SKU-10"]);
    expect(levels.get("SKU-40")).toMatchObject({ partNo: 40 });
    expect(levels.get("SKU-25")).toBeNull();
    expect(levels.get("SKU-10")).toMatchObject({ partNo: 10 });
    expect(await inventory.getStockLevels([])).toEqual(new Map());
  });

  it("returns the same as getStockLevel for each, whatever the part numbers are", async () => {
    for (const [name, create] of Object.entries(ALL_DISTRIBUTIONS)) {
      const random = createRandom(1);
      const partNos = create(3_000, random);
      const service = new SearchedService(partNos);
      const asked = [...choose(partNos, 20, random), ...choose(partNos, 5, random).map((partNo) => partNo + 1)];
      const levels = await service.client().inventory.getStockLevels(skusOf(asked));
      for (const partNo of asked) {
        const isListed = partNos.includes(partNo);
        expect(levels.get(`SKU-${partNo}`)?.partNo, `${name}, ${partNo}`).toBe(isListed ? partNo : undefined);
      }
    }
  });

  it.each(
    Object.entries(COUNTED),
  )("of twelve items among 20 000 costs at most 30 requests, 12 again: %s", async (_, create) => {
    for (let seed = 1; seed <= (RUN_ALL ? 3 : 2); seed += 1) {
      const random = createRandom(seed);
      const partNos = create(20_000, random);
      const service = new SearchedService(partNos);
      const { inventory } = service.client();
      const skus = skusOf(choose(partNos, 12, random));
      await inventory.getStockLevels(skus);
      expect(service.requests.length).toBeLessThanOrEqual(30);
      service.requests.length = 0;
      await inventory.getStockLevels(skus);
      expect(service.requests.length).toBeLessThanOrEqual(12);
    }
  });

  it("never costs more than reading the items and the list", async () => {
    for (const size of RUN_ALL ? [200, 600, 2_000, 5_000] : [200, 2_000]) {
      for (const count of [2, 12, 13, 40, 150, size]) {
        const random = createRandom(size + count);
        const partNos = Array.from({ length: size }, (_, index) => 3 * index + 1);
        const service = new SearchedService(partNos);
        const skus = skusOf(choose(partNos, count, random));
        const levels = await service.client().inventory.getStockLevels(skus);
        expect(levels.size).toBe(skus.length);
        const pages = Math.ceil(size / PAGE);
        // A list is read without gaps, so its pages overlap.
        const overlapping = pages === 1 ? 1 : Math.ceil(pages * 1.1) + 1;
        expect(service.requests.length, `${count} of ${size}`).toBeLessThanOrEqual(pages + overlapping);
      }
    }
  });

  it("rejects with one NotFoundError that names all SKUs that do not exist", async () => {
    const { inventory } = new SearchedService([10, 20]).client();
    const error = await inventory.getStockLevels(["NO-1", "SKU-10", "NO-2"]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, message: expect.stringMatching(/^GET \/Item: 404 .*NO-1, NO-2/) });
    await expect(inventory.getStockLevels(["NO-1", "SKU-10"])).rejects.toThrow("NO-1");
  });

  it("reads the list of a service that does not sort, once for all", async () => {
    const random = createRandom(1);
    const partNos = Array.from({ length: 2_000 }, (_, index) => index + 1).sort(() => random() - 0.5);
    const service = new SearchedService(partNos, { sorting: "partNo-ignored" });
    const levels = await service.client().inventory.getStockLevels(["SKU-5", "SKU-1500", "SKU-3000"]);
    expect([...levels.values()].map((level) => level?.partNo)).toEqual([5, 1_500, undefined]);
    expect(service.requests.length).toBeLessThan(20);
  });
});
