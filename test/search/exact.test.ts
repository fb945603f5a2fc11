import { PaginationError } from "stocklot";
import { describe, expect, it } from "vitest";
import { createRandom } from "../support/random.js";
import { EXPLORES, runs } from "../support/runs.js";
import type { ListedLot, ServiceBehaviour } from "../support/small-service.js";
import { warningLog } from "../support/with-server.js";
import { ALL_DISTRIBUTIONS } from "./distributions.js";
import { SearchedService } from "./searched-service.js";

const recNosOf = (records: readonly { recNo: number }[]) => records.map(({ recNo }) => recNo);
const numbersOf = (lots: readonly ListedLot[], partNo: number) =>
  recNosOf(lots.filter((record) => record.partNo === partNo)).sort((one, next) => one - next);

/** Returns the part numbers of random lots: most items have few lots, some have hundreds. */
function randomLots(random: () => number): number[] {
  const names = Object.keys(ALL_DISTRIBUTIONS);
  const name = names[Math.floor(random() * names.length)] ?? "dense";
  const items = ALL_DISTRIBUTIONS[name]?.(1 + Math.floor(random() * 200), random) ?? [];
  const most = random() < 0.3 ? 600 : 8;
  const lots = items.flatMap((partNo) => Array<number>(Math.floor(random() ** 4 * most)).fill(partNo));
  return lots.sort(() => random() - 0.5);
}

/** A list changes after this many pages. Only `npm run explore` tests all of these numbers. */
const MOMENTS = EXPLORES ? [1, 2, 3, 4] : [1, 3];

describe("A search for one item", () => {
  const services: Record<string, ServiceBehaviour> = {
    "sorts numbers": {},
    "reverses the records of one number with the direction": { ties: "reversed-with-direction" },
    "caps pages at 40": { maxPageSize: 40 },
    "caps pages at 3": { maxPageSize: 3 },
    "sorts the records of one number anew each time": { ties: "shuffled" },
    "sorts text": { sorting: "text" },
    "ignores sort": { sorting: "partNo-ignored" },
    "ignores direction": { sorting: "direction-ignored" },
  };

  it.each(Object.entries(services))("of a service that %s returns what is listed", async (_, options) => {
    for (let seed = 1; seed <= runs(EXPLORES ? 12 : 5); seed += 1) {
      const random = createRandom(seed);
      const service = new SearchedService(randomLots(random), { ...options, random });
      const { warnings, logger } = warningLog();
      const client = service.client({ logger });
      for (let search = 0; search < 4; search += 1) {
        const isListed = random() < 0.7;
        const listed = service.lots[Math.floor(random() * service.lots.length)]?.partNo;
        const partNo = isListed && listed !== undefined ? listed : Math.floor(random() ** 4 * 2_000_000);
        const lots = await client.inventory.getLots(`SKU-${partNo}`);
        expect(recNosOf(lots), `seed ${seed}, partNo ${partNo}`).toEqual(numbersOf(service.lots, partNo));
      }
      // Pages of three are too many for a search, so the whole list is read.
      if (
        options.maxPageSize !== 3 &&
        options.sorting === undefined &&
        options.ties !== "shuffled" &&
        new Set(service.lots.map(({ partNo }) => partNo)).size > 1
      )
        // Only a number that may be missing in both orders, as a number and as text, may need the whole list and this warning.
        expect(warnings.filter((line) => !line.includes("sorted as a number or as text"))).toEqual([]);
    }
  });

  it("takes no level for absent before the order is proved, though each page that it reads is in order", async () => {
    const others = Array.from({ length: 2_000 }, (_, index) => index + 1).filter((partNo) => partNo !== 501);
    const service = new SearchedService([...others.slice(0, 1_300), 501, ...others.slice(1_300)], {
      sorting: "partNo-ignored",
    });
    expect(await service.client().inventory.getStockLevel("SKU-501")).toMatchObject({ partNo: 501 });
  });

  it("does not take a list of two imports, each in the order of numbers, for a sorted one", async () => {
    const imports = [1_000, 300].flatMap((count) => Array.from({ length: count }, (_, partNo) => partNo));
    for (const partNo of [900, 500, 299, 298, 250, 100]) {
      const service = new SearchedService(imports, { sorting: "partNo-ignored" });
      const lots = () => service.client().inventory.getLots(`SKU-${partNo}`);
      expect(recNosOf(await lots()), `partNo ${partNo}`).toEqual(numbersOf(service.lots, partNo));
      const strict = service.client().inventory.getLots(`SKU-${partNo}`, {}, { ifUnsorted: "error" });
      await expect(strict).rejects.toThrow(PaginationError);
    }
  });

  it("proves the order before it reads a run of which it knows only the middle", async () => {
    const rising = (count: number, first: number) => Array.from({ length: count }, (_, index) => first + index);
    const same = (count: number) => Array<number>(count).fill(5_000);
    // The list ascends only around the second import of the item. The first page shows only this item, so it proves no order.
    for (const seed of [1, 2, 3, 4, 5]) {
      const random = createRandom(seed);
      const others = rising(3_000, 100).sort(() => random() - 0.5);
      const imports = [...same(300), ...others, ...rising(600, 4_000), ...same(600)];
      const service = new SearchedService(imports, { sorting: "partNo-ignored" });
      const lots = await service.client().inventory.getLots("SKU-5000");
      expect(recNosOf(lots), `seed ${seed}`).toEqual(numbersOf(service.lots, 5_000));
    }
  });

  it("begins again if a mass import shows pages that contradict each other, and does not read the whole list", async () => {
    for (const [partNo, pagesBefore] of [40_000, 70_000, 100_001].flatMap((one) => MOMENTS.map((n) => [one, n]))) {
      let pages = 0;
      const lots = Array.from({ length: 5_000 }, (_, index) => 20_000 + 20 * index);
      const service = new SearchedService(lots, {
        beforePage: (changing) => {
          pages += 1;
          if (pages === 1 + (pagesBefore ?? 0))
            for (let added = 1; added <= 5_000; added += 1) changing.addLot({ partNo: added });
        },
      });
      const found = await service.client().inventory.getLots(`SKU-${partNo}`, {}, { ifUnsorted: "error" });
      expect(recNosOf(found), `partNo ${partNo}`).toEqual(numbersOf(service.lots, partNo ?? 0));
    }
  });

  it("returns every lot that exists during the whole search once, and none that was never listed", async () => {
    let searches = 0;
    let outrun = 0;
    for (let seed = 1; seed <= runs(EXPLORES ? 30 : 12); seed += 1) {
      const random = createRandom(seed);
      const changes = Math.floor(random() * 12);
      let permanent = new Set<number>();
      let ever = new Set<number>();
      let moments: number[][] = [];
      let partNo = 1;
      const service = new SearchedService(randomLots(random), {
        random,
        beforePage: (changing) => {
          for (let change = 0; change < changes; change += 1) {
            const { lots } = changing;
            const index = Math.floor(random() * lots.length);
            const [chosen] = random() < 0.5 ? lots.splice(index, 1) : lots.slice(index, index + 1);
            if (chosen && lots.includes(chosen))
              changing.addLot({ partNo: random() < 0.5 ? chosen.partNo : chosen.partNo + 1 });
          }
          const present = new Set(recNosOf(changing.lots));
          permanent = new Set([...permanent].filter((recNo) => present.has(recNo)));
          ever = new Set([...ever, ...present]);
          moments.push(numbersOf(changing.lots, partNo));
        },
      });
      const client = service.client();
      for (let search = 0; search < 4; search += 1) {
        partNo = service.lots[Math.floor(random() * service.lots.length)]?.partNo ?? 1;
        moments = [];
        permanent = new Set(recNosOf(service.lots));
        ever = new Set(permanent);
        const partNos = new Map(service.lots.map((record) => [record.recNo, record.partNo]));
        searches += 1;
        const lots = await client.inventory.getLots(`SKU-${partNo}`).catch((error) => {
          expect(error).toBeInstanceOf(PaginationError);
          outrun += 1;
        });
        if (!lots) continue;
        const found = recNosOf(lots);
        const due = [...permanent].filter((recNo) => partNos.get(recNo) === partNo);
        expect(new Set(found).size).toBe(found.length);
        expect(
          due.filter((recNo) => !found.includes(recNo)),
          `seed ${seed}, partNo ${partNo}`,
        ).toEqual([]);
        expect(found.filter((recNo) => !ever.has(recNo))).toEqual([]);
        if (found.length <= 200) expect(moments).toContainEqual(found);
      }
    }
    // Few searches fail, although up to 12 changes happen between two requests, in lists of a few hundred records.
    expect(outrun / searches).toBeLessThan(0.02);
  });

  it("does not take text order for numeric order, though every page that it reads looks numeric", async () => {
    const dense = (first: number) => Array.from({ length: 300 }, (_, index) => first + index);
    const service = new SearchedService([...dense(1_000_000), 20, ...dense(3_000_000)], { sorting: "text" });
    expect(await service.client().inventory.getStockLevel("SKU-20")).toMatchObject({ partNo: 20 });
    expect(await service.client().inventory.getStockLevel("SKU-25")).toBeNull();
  });

  it("finds each item in a list sorted as text, whatever fills its last page, and whatever was searched before", async () => {
    for (let seed = 1; seed <= runs(EXPLORES ? 12 : 5); seed += 1) {
      const random = createRandom(seed);
      const pageSize = 10 + Math.floor(random() * 240);
      // In text order, the lots of 9 come last.
      const numbers = Array.from({ length: 19 }, (_, index) => index + 1);
      const partNos = numbers.flatMap((partNo) => {
        const share = [0.02, 0.6, 1.2][Math.floor(random() * 3)] ?? 0;
        return Array<number>(Math.ceil(pageSize * (partNo === 9 ? 1 + random() : share))).fill(partNo);
      });
      partNos.sort(() => random() - 0.5);
      const service = new SearchedService(partNos, { sorting: "text", maxPageSize: pageSize, random });
      for (let partNo = 0; partNo <= 20; partNo += 1) {
        const { inventory } = service.client();
        // An earlier search must not make this one wrong by what the client remembers.
        if (seed % 2 === 0) await inventory.getLots(`SKU-${1 + Math.floor(random() * 3)}`);
        const found = recNosOf(await inventory.getLots(`SKU-${partNo}`));
        expect(found, `seed ${seed}, partNo ${partNo}`).toEqual(numbersOf(service.lots, partNo));
      }
    }
  });

  it("finds each level if one page of the list is not sorted", async () => {
    const random = createRandom(1);
    const partNos = Array.from({ length: 1_500 }, (_, index) => index + 1).sort(() => random() - 0.5);
    const service = new SearchedService(partNos);
    const fetch = (input: string | URL | Request, init?: RequestInit) => {
      const url = new URL(String(input));
      if (url.searchParams.get("page") === "3") url.searchParams.delete("sort");
      return service.fetch(url, init);
    };
    const { inventory } = service.client({ fetch });
    for (let partNo = 1; partNo <= 1_500; partNo += 50)
      expect(await inventory.getStockLevel(`SKU-${partNo}`)).toMatchObject({ partNo });
  });

  it("misses no lot that changes its place among the lots of its item, even at each request", async () => {
    for (let seed = 1; seed <= runs(EXPLORES ? 12 : 5); seed += 1) {
      const random = createRandom(seed);
      const count = 260 + Math.floor(random() * 800);
      const others = Array.from({ length: 2_000 }, (_, index) => index + 1);
      const jumps = [1, 3][seed % 2] ?? 1;
      const isOnce = random() < 0.5;
      let requests = 0;
      const service = new SearchedService([...others, ...Array<number>(count).fill(1_000)], {
        beforePage: ({ lots }) => {
          requests += 1;
          if (isOnce && requests !== 5) return;
          const ofItem = lots.filter(({ partNo }) => partNo === 1_000);
          for (let jump = 0; jump < jumps; jump += 1) {
            const moved = ofItem[Math.floor(random() * ofItem.length)];
            if (moved) moved.rank = random() < 0.5 ? -requests : Math.floor(random() * 3_000);
          }
        },
      });
      const found = recNosOf(await service.client().inventory.getLots("SKU-1000"));
      expect(found, `seed ${seed}`).toEqual(numbersOf(service.lots, 1_000));
    }
  });
});
