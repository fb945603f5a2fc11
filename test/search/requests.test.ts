import { PaginationError } from "stocklot";
import { describe, expect, it } from "vitest";
import { createRandom } from "../support/random.js";
import { EXPLORES } from "../support/runs.js";
import { COUNTED, UNEVEN } from "./distributions.js";
import { SearchedService } from "./searched-service.js";

/** Returns how many requests each search costs, in ascending order. Each search has a new client. */
async function countRequests(service: SearchedService, partNos: number[], search: "getLots" | "getStockLevel") {
  const counts: number[] = [];
  for (const partNo of partNos) {
    service.requests.length = 0;
    await service.client().inventory[search](`SKU-${partNo}`);
    counts.push(service.requests.length);
  }
  return counts.sort((one, next) => one - next);
}

/** The requests that the proof of the order adds to the first search of a client. */
const FIRST_OF_CLIENT = 3;

const at = (sorted: number[], share: number) => sorted[Math.floor((sorted.length - 1) * share)];

function lists(distributions: typeof COUNTED, random: () => number) {
  return Object.entries(distributions).map(([name, create]) => {
    const items = create(20_000, random);
    const lots = items.flatMap((partNo) =>
      Array<number>(Math.min(200, Math.floor(-5 * Math.log(1 - random())))).fill(partNo),
    );
    return { name, items, lots };
  });
}

describe("A search for one item costs few requests, the look-up of the item included", () => {
  const random = createRandom(1);
  const choose = (numbers: number[], length = EXPLORES ? 60 : 20) =>
    Array.from({ length }, () => numbers[Math.floor(random() * numbers.length)] ?? 0);

  it.each(lists(COUNTED, random))("if part numbers are handed out one after another: $name", async ({
    items,
    lots,
  }) => {
    const levels = await countRequests(new SearchedService(items), choose(items), "getStockLevel");
    expect(at(levels, 0.5)).toBeLessThanOrEqual(4);
    expect(at(levels, 0.95)).toBeLessThanOrEqual(6);
    const ofLots = await countRequests(new SearchedService(lots), choose(items), "getLots");
    expect(at(ofLots, 0.5)).toBeLessThanOrEqual(6 + FIRST_OF_CLIENT);
    expect(at(ofLots, 0.95)).toBeLessThanOrEqual(8 + FIRST_OF_CLIENT);
  });

  it.each(lists(UNEVEN, random))("at most 12 and 15 for any part numbers: $name", async ({ items, lots }) => {
    const absent = choose(items).map((partNo) => partNo + 1);
    const wanted = [...choose(items), ...absent];
    const levels = await countRequests(new SearchedService(items), wanted, "getStockLevel");
    expect(at(levels, 1)).toBeLessThanOrEqual(12 + FIRST_OF_CLIENT);
    const ofLots = await countRequests(new SearchedService(lots), wanted, "getLots");
    expect(at(ofLots, 1)).toBeLessThanOrEqual(15 + FIRST_OF_CLIENT);
  });

  it("wherever the item is", async () => {
    const service = new SearchedService(Array.from({ length: 20_000 }, (_, index) => index + 1));
    const step = EXPLORES ? 14 : 49;
    const some = (first: number, last: number) =>
      Array.from({ length: (last - first) / step }, (_, index) => first + step * index);
    const partNos = [...some(1, 600), ...some(9_700, 10_300), ...some(19_300, 20_000)];
    const counts = await countRequests(service, partNos, "getStockLevel");
    expect(at(counts, 1)).toBeLessThanOrEqual(6);
  });

  it("the same item again usually costs one, another one after some searches two", async () => {
    const { items, lots } = lists(COUNTED, random).find(({ name }) => name === "gaps") ?? { items: [], lots: [] };
    const service = new SearchedService(lots);
    const client = service.client();
    const again: number[] = [];
    const others: number[] = [];
    for (const partNo of choose(items, EXPLORES ? 100 : 30)) {
      for (const counts of [others, again]) {
        service.requests.length = 0;
        await client.inventory.getLots(`SKU-${partNo}`);
        counts.push(service.requests.length);
      }
    }
    expect(at(again.sort(), 0.9)).toBe(1);
    expect(at(others.slice(10).sort(), 0.5)).toBe(2);
  });

  it("one more for each further 200 lots of the item", async () => {
    const many = Array<number>(1_000).fill(10_000);
    const items = Array.from({ length: 20_000 }, (_, index) => index + 1);
    const [few, more] = await Promise.all(
      [items, [...items, ...many]].map((lots) => countRequests(new SearchedService(lots), [10_000], "getLots")),
    );
    // A thousand lots that are read twice take ten to twelve more pages, and finding their beginning takes some more.
    expect(more?.[0]).toBeLessThanOrEqual((few?.[0] ?? 0) + 15);
  });

  it("and the same if every part of the list shows only one item", async () => {
    const service = new SearchedService([1, 2, 3, 4].flatMap((partNo) => Array<number>(2_000).fill(partNo)));
    for (const partNo of [2, 4]) {
      const [requests] = await countRequests(service, [partNo], "getLots");
      // Two times 9 pages for the lots, and some to prove the order and to find the first lot. The whole list has 33 pages.
      expect(requests, `partNo ${partNo}`).toBeLessThanOrEqual(28);
    }
  });

  it("few more if the list changes at each request while an item of several pages is read", async () => {
    const lots = Array.from({ length: 5_300 }, (_, index) => (index < 5_000 ? 1 + (index % 400) : 200));
    const counts: number[] = [];
    for (let seed = 1; seed <= (EXPLORES ? 8 : 3); seed += 1) {
      const pick = createRandom(seed);
      const service = new SearchedService(lots, {
        beforePage(changing) {
          changing.addLot({ partNo: 1 + Math.floor(pick() * 400) });
          changing.lots.splice(Math.floor(pick() * changing.lots.length), 1);
        },
      });
      counts.push(...(await countRequests(service, [200], "getLots")));
    }
    counts.sort((one, next) => one - next);
    expect(at(counts, 0.5)).toBeLessThanOrEqual(10 + FIRST_OF_CLIENT);
    // This is less than reading the whole list, which takes at least 22 pages.
    expect(at(counts, 1)).toBeLessThanOrEqual(20);
  });

  it("never without end, if the list changes faster than it can be read", async () => {
    const pick = createRandom(1);
    const lots = Array.from({ length: 3_000 }, (_, index) => (index < 2_400 ? 1 + (index % 400) : 200));
    const service = new SearchedService(lots, {
      beforePage(changing) {
        for (let change = 0; change < 300; change += 1) {
          changing.lots.splice(Math.floor(pick() * changing.lots.length), 1);
          changing.addLot({ partNo: change % 4 === 0 ? 200 : 1 + Math.floor(pick() * 400) });
        }
      },
    });
    const error = await service
      .client()
      .inventory.getLots("SKU-200")
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PaginationError);
    expect(String(error)).toMatch(/the list changes faster than it can be read/);
    expect(service.requests.length).toBeLessThan(200);
  });
});
