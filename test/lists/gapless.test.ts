import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Page } from "../../src/client/lists/page.js";
import { PaginationError } from "../../src/shared/errors/index.js";
import { SearchedService } from "../search/searched-service.js";
import { createRandom, seededRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { warningLog } from "../support/with-server.js";
import { ChangingList, changeBy, type ListSettings, type Lot } from "./changing-list.js";

const AHEAD = [1, 4].map((readAhead) => ({ readAhead }));

interface GaplessRun {
  lots: Lot[];
  list: ChangingList;
}

async function readGapless(list: ChangingList, settings: ListSettings = {}): Promise<GaplessRun> {
  return { lots: await list.paginator({ gapless: true, ...settings }).toArray(), list };
}

function expectWhole({ lots, list }: GaplessRun, from = 0): void {
  const returned = new Set(lots);
  expect(returned.size, "none twice").toBe(lots.length);
  const missing = [...list.constant].filter((lot) => lot.recNo > from && !returned.has(lot));
  expect(missing, "none missed").toEqual([]);
}

describe("gapless paging", () => {
  it.each(AHEAD)("returns a calm list in order, for less than a tenth more requests, with %o", async (ahead) => {
    const { lots, list } = await readGapless(new ChangingList(25_000, { delay: () => 30 }), ahead);
    expect(lots).toEqual(list.lots);
    expect(list.requests.length).toBeGreaterThanOrEqual(107);
    expect(list.requests.length).toBeLessThanOrEqual(109);
    expect(list.mostInFlight).toBe(Math.max(1, ahead.readAhead));
  });

  it("needs one request for a list of one page", async () => {
    for (const size of [1, 249, 250]) {
      const { list } = await readGapless(new ChangingList(size));
      expect(list.requests).toEqual([{ page: 1, pageSize: 250 }]);
    }
  });

  it("misses none and returns none twice in random schedules", async () => {
    const schedule = fc.record({
      size: fc.integer({ min: 0, max: 10_000 }),
      seed: fc.integer(),
      ahead: fc.record({ readAhead: fc.constantFrom(0, 1, 4, 10) }),
      schedule: fc.record({
        remove: fc.integer({ min: 0, max: 12 }),
        insert: fc.integer({ min: 0, max: 12 }),
        burstEvery: fc.integer({ min: 5, max: 60 }),
        burst: fc.constantFrom(0, 0, 30, 300, 2_000),
        where: fc.constantFrom("anywhere", "front", "end"),
      }),
    });
    await fc.assert(
      fc.asyncProperty(schedule, async ({ size, seed, ahead, schedule }) => {
        const order = seededRandom(seed + 1);
        const change = changeBy(schedule, seededRandom(seed));
        const reading = readGapless(new ChangingList(size, { change, delay: () => order(6) }), ahead);
        // A list that changes faster than it can be read may end in a PaginationError.
        const result = await reading.catch((error: unknown) => {
          if (!(error instanceof PaginationError) || schedule.burst < 300) throw error;
        });
        if (result) expectWhole(result);
      }),
      { seed: 20, numRuns: runs(400), endOnFailure: true },
    );
  });

  it.each(AHEAD)("loses none when many are removed and added at each request, with %o", async (ahead) => {
    for (const where of ["anywhere", "front", "end"] as const) {
      const order = seededRandom(4);
      const change = changeBy({ remove: 40, insert: 40, burstEvery: 1, burst: 0, where }, seededRandom(3));
      const list = new ChangingList(25_000, { delay: () => order(6), change });
      expectWhole(await readGapless(list, ahead));
      expect(list.requests.length).toBeLessThan(170);
    }
  });
});

describe("a list that changes in one step under gapless paging", () => {
  const at = (number: number, act: (list: ChangingList) => void) => ({
    change: (list: ChangingList) => {
      if (list.requests.length === number) act(list);
    },
  });
  const moveToEnd = (count: number) => (list: ChangingList) => {
    list.remove(0, count);
    list.insert(list.lots.length, count);
  };
  const moveToFront = (count: number) => (list: ChangingList) => {
    list.remove(list.lots.length - count, count);
    list.insert(0, count);
  };

  /** Large changes to a list of 10 000 records. If records only move, the total stays the same. */
  const CHANGES: Record<string, ((list: ChangingList) => void)[]> = {
    "removed records": [
      [0, 100],
      [0, 4_000],
      [300, 4_000],
      [4_900, 6_000],
      [0, 10_000],
    ].map(
      ([index = 0, count]) =>
        (list) =>
          list.remove(index, count),
    ),
    "added records": [
      [0, 100],
      [0, 20_000],
      [4_900, 6_000],
      [10_000, 3_000],
    ].map(
      ([index = 0, count]) =>
        (list) =>
          list.insert(index, count),
    ),
    "moved records": [100, 1_000, 3_000].flatMap((count) => [moveToEnd(count), moveToFront(count)]),
  };

  it.each(AHEAD)("misses none, with %o", async (ahead) => {
    for (const change of Object.values(CHANGES).flat())
      expectWhole(await readGapless(new ChangingList(10_000, at(21, change)), ahead));
  });

  it.each(AHEAD)("closes a gap of a few pages with a few requests, with %o", async (ahead) => {
    const requestsWith = async (removed: number) => {
      const removeOnce = at(21, (list) => list.remove(0, removed));
      const { list } = await readGapless(new ChangingList(10_000, { ...removeOnce, delay: () => 3 }), ahead);
      return list.requests.length;
    };
    const calm = await requestsWith(0);
    for (const removed of [100, 400, 600])
      expect(await requestsWith(removed)).toBeLessThanOrEqual(calm + 6 + ahead.readAhead);
  });

  it.each([
    ["steps back after an empty page beyond the end", 8, 1_000, 1_000],
    ["ends when the list has become empty", 4, 5_000, 500],
  ])("%s", async (_, number, removed, atLeast) => {
    const list = new ChangingList(
      2_000,
      at(number, (changing) => changing.remove(0, removed)),
    );
    const reading = await readGapless(list, { readAhead: 0 });
    expectWhole(reading);
    expect(reading.lots.length).toBeGreaterThan(atLeast);
  });
});

describe("the pages of gapless paging", () => {
  it.each([
    { readAhead: 0 },
    ...AHEAD,
  ])("waste no more requests than are read ahead when the loop is left, with %o", async (ahead) => {
    for (const [leaveAt, gapless] of [
      [1, true],
      [2, true],
      [7, true],
      [20, true],
      [1, false],
      [7, false],
    ] as const) {
      const list = new ChangingList(20_000, { delay: () => 3 });
      let pages = 0;
      for await (const _page of list.paginator({ gapless, ...ahead }).pages()) {
        await new Promise((resolve) => setImmediate(resolve));
        pages += 1;
        if (pages === leaveAt) break;
      }
      expect(list.requests.length - pages).toBeLessThanOrEqual(ahead.readAhead);
      expect(list.requests.length - pages).toBeGreaterThanOrEqual(Math.min(ahead.readAhead, 1));
      await new Promise((resolve) => setImmediate(resolve));
      expect(list.inFlight).toBe(0);
    }
  });

  it("are as served, with the records that are new, in the order of the list", async () => {
    const list = new ChangingList(700);
    const pages: Page<Lot>[] = [];
    for await (const page of list.paginator({ gapless: true }).pages()) pages.push(page);
    expect(pages.map(({ page, pageSize, value }) => [page, pageSize, value.length])).toEqual([
      [1, 250, 250],
      [2, 249, 248],
      [3, 248, 202],
    ]);
    expect(pages.at(-1)?.hasMore).toBe(false);
  });

  it("are no larger than the caller requests, or than 25 if that is less", async () => {
    for (const [pageSize, largest] of [
      [100, 100],
      [10, 25],
      [1, 25],
    ] as const) {
      const { lots, list } = await readGapless(new ChangingList(1_000), { pageSize });
      expect(lots).toEqual(list.lots);
      expect(Math.max(...list.requests.map((request) => request.pageSize))).toBe(largest);
    }
  });

  it.each([50, 200])("become smaller when the service caps them at %i", async (cap) => {
    for (const ahead of AHEAD) {
      const random = seededRandom(6);
      const change = (list: ChangingList) => list.remove(random(list.lots.length), random(3));
      const reading = await readGapless(new ChangingList(3_000, { cap, change }), { pageSize: 1_000, ...ahead });
      expectWhole(reading);
      expect(reading.list.requests.slice(1).every(({ pageSize }) => pageSize <= cap)).toBe(true);
    }
  });
});

it.each([
  ["when no page leads to the next one", 8],
  ["when records do not keep their keys", 1],
])("gapless paging ends in a PaginationError %s, whatever new records pages contain", async (_, from) => {
  let recNo = 10_000;
  const list = new ChangingList(10_000, {
    respond: (page, number) =>
      number < from || page.page === 1 ? page : { ...page, value: page.value.map(() => ({ recNo: ++recNo })) },
  });
  await expect(list.paginator({ gapless: true, page: 2 }).toArray()).rejects.toThrow(PaginationError);
  expect(list.requests.length).toBeLessThan(60);
});

it("gapless paging of a list that grows as fast as it is read ends in a PaginationError", async () => {
  const list = new ChangingList(3_000, { change: (changing) => changing.insert(changing.lots.length, 300) });
  const reading = readGapless(list);
  await expect(reading).rejects.toThrow(PaginationError);
  await expect(reading).rejects.toThrow("GET /Inventory: the list changes faster than it can be read.");
  expect(list.requests.length).toBeLessThan(100);
});

it("gapless warns once per list and client if the pages are not sorted by the key, and returns every record", async () => {
  const random = createRandom(1);
  const service = new SearchedService(
    Array.from({ length: 600 }, (_, index) => index + 1),
    { sorting: "partNo-ignored" },
  );
  service.lots.sort(() => random() - 0.5);
  const { warnings, logger } = warningLog();
  const { inventory } = service.client({ logger });
  for (let round = 0; round < 2; round += 1)
    expect(await inventory.listStockLevels({}, { gapless: true }).toArray()).toHaveLength(600);
  expect(warnings).toEqual([
    expect.stringContaining("GET /Inventory/StockLevels: pages are not sorted by partNo, so gapless reading may miss"),
  ]);
});

it("gapless does not warn of a sorted list, in either direction, nor of one that the caller sorts otherwise", async () => {
  const service = new SearchedService(Array.from({ length: 600 }, (_, index) => index + 1));
  const { warnings, logger } = warningLog();
  const { inventory } = service.client({ logger });
  for (const params of [{}, { direction: "DESC" }, { sort: "available" }] as const)
    await inventory.listStockLevels(params, { gapless: true }).toArray();
  expect(warnings).toEqual([]);
});
