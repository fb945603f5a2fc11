import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Checkpoint } from "../../../src/client/lists/checkpoint.js";
import type { PageSession } from "../../../src/client/lists/page.js";
import { PaginationError } from "../../../src/shared/errors/index.js";
import { runs } from "../../support/runs.js";
import { ChangingList, changeBy, type Lot, paginatorOf, type Random, seededRandom } from "./changing-list.js";

const ORDERS = ["rising", "falling", "rising at first", "shuffled"] as const;
type Order = (typeof ORDERS)[number];

function sort(list: ChangingList, order: Order, random: Random): void {
  if (order === "falling") list.lots.reverse();
  if (order === "rising at first") list.lots.sort((a, b) => (a.recNo % 2) - (b.recNo % 2) || a.recNo - b.recNo);
  if (order !== "shuffled") return;
  for (let last = list.lots.length - 1; last > 0; last -= 1) {
    const other = random(last + 1);
    [list.lots[last], list.lots[other]] = [list.lots[other] as Lot, list.lots[last] as Lot];
  }
}

const throughJson = (checkpoint: Checkpoint | null): Checkpoint => JSON.parse(JSON.stringify(checkpoint));

interface Part {
  /** The records of the pages that were done with; those of the page that was held when the process ended are lost. */
  lots: Lot[];
  checkpoint: Checkpoint | null;
  /** What ended the iteration, if something did. */
  error?: unknown;
}

/** Reads until the process ends with page number `killedAt` in its hands, or until the list has ended. */
async function readPart(
  list: ChangingList,
  settings: Partial<PageSession<Lot>>,
  killedAt = Number.POSITIVE_INFINITY,
): Promise<Part> {
  const paginator = paginatorOf(list.source(settings));
  const pages = paginator.pages();
  const lots: Lot[] = [];
  for (let held = 1; ; held += 1) {
    const result = await pages.next().catch((error: unknown) => ({ error }));
    const checkpoint = paginator.checkpoint();
    if ("error" in result) return { lots, checkpoint, error: result.error };
    if (result.done || held >= killedAt) {
      await pages.return?.();
      return { lots, checkpoint };
    }
    lots.push(...result.value.value);
  }
}

function expectNoneTwice(lots: Lot[]): void {
  expect(new Set(lots).size, "none twice in one iteration").toBe(lots.length);
}

function expectNoneMissed(lots: Lot[], list: ChangingList): void {
  const returned = new Set(lots);
  expect(
    [...list.constant].filter((lot) => !returned.has(lot)),
    "none missed",
  ).toEqual([]);
}

describe("an iteration that continues from a checkpoint", () => {
  it("misses nothing in random schedules with gapless, whatever happens before and after each end of a process", async () => {
    const changes = fc.record({
      remove: fc.integer({ min: 0, max: 12 }),
      insert: fc.integer({ min: 0, max: 12 }),
      burstEvery: fc.integer({ min: 5, max: 60 }),
      burst: fc.constantFrom(0, 0, 30, 300, 2_000),
      where: fc.constantFrom("anywhere", "front", "end"),
    });
    const schedule = fc.record({
      size: fc.integer({ min: 0, max: 8_000 }),
      order: fc.constantFrom(...ORDERS),
      seed: fc.integer(),
      ahead: fc.record({ readAhead: fc.constantFrom(0, 1, 5), concurrency: fc.constantFrom(1, 4, 10) }),
      pageSize: fc.constantFrom(250, 250, 100, 60),
      changes,
      meanwhile: fc.record({ changes, times: fc.constantFrom(0, 1, 10, 100) }),
      ends: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
    });
    let failures = 0;
    await fc.assert(
      fc.asyncProperty(schedule, async ({ size, order, seed, ahead, pageSize, changes, meanwhile, ends }) => {
        const turns = seededRandom(seed + 1);
        const list = new ChangingList(size, { change: changeBy(changes, seededRandom(seed)), delay: () => turns(6) });
        sort(list, order, seededRandom(seed + 2));
        const changeMeanwhile = changeBy(meanwhile.changes, seededRandom(seed + 3));
        // Pages smaller than a burst would never reach the end.
        const settings = { gapless: true, pageSize: changes.burst > 300 ? 250 : pageSize, ...ahead };
        const all: Lot[] = [];
        let from: Checkpoint | undefined;
        for (const end of [...ends, ...Array<number>(5).fill(Number.POSITIVE_INFINITY)]) {
          const { lots, checkpoint, error } = await readPart(list, { ...settings, from }, end);
          expectNoneTwice(lots);
          all.push(...lots);
          if (error !== undefined) {
            expect(error).toBeInstanceOf(PaginationError);
            failures += 1;
          }
          from = checkpoint === null ? undefined : throughJson(checkpoint);
          if (from?.done) break;
          for (let times = 0; times < meanwhile.times; times += 1) changeMeanwhile(list);
        }
        expect(from?.done).toBe(true);
        expectNoneMissed(all, list);
      }),
      { seed: 8, numRuns: runs(1_500), endOnFailure: true },
    );
    expect(failures, "none but lists that grow faster than they are read").toBeLessThan(5);
  });
});

it("an iteration that continues with gapless requests pages of the applied size from the start", async () => {
  const list = new ChangingList(3_000, { cap: 50 });
  const { checkpoint } = await readPart(list, { gapless: true }, 9);
  list.requests.length = 0;
  const rest = await readPart(list, { gapless: true, from: throughJson(checkpoint) });
  expect(rest.lots).toEqual(list.lots.slice(checkpoint?.end));
  expect(list.requests.every(({ pageSize }) => pageSize <= 50)).toBe(true);
});

describe("a checkpoint", () => {
  it.each([true, false])("advances when the next page is requested, with gapless %s", async (gapless) => {
    const list = new ChangingList(600);
    const paginator = paginatorOf(list.source({ gapless }));
    const pages = paginator.pages();
    const ends: unknown[] = [paginator.checkpoint()?.end];
    for (let result = await pages.next(); !result.done; result = await pages.next()) {
      ends.push(paginator.checkpoint()?.end);
    }
    expect(ends).toEqual([undefined, undefined, 250, gapless ? 498 : 500]);
    expect(paginator.checkpoint()).toMatchObject({ done: true, end: 600 });
  });

  it("in the middle of a page of records is that before the page", async () => {
    const paginator = paginatorOf(new ChangingList(600).source());
    const ends: unknown[] = [];
    for await (const { recNo } of paginator) {
      if (recNo === 250 || recNo === 251 || recNo === 500) ends.push(paginator.checkpoint()?.end);
    }
    expect(ends).toEqual([undefined, 250, 250]);
    expect(paginator.checkpoint()?.done).toBe(true);
  });

  it("is that of the iteration that was started last", async () => {
    const paginator = paginatorOf(new ChangingList(600).source());
    await paginator.toArray();
    paginator.pages();
    expect(paginator.checkpoint()?.done).toBe(true);
    await paginator.pages().next();
    expect(paginator.checkpoint()).toBeNull();
  });

  it("stays where the iteration failed", async () => {
    const list = new ChangingList(2_000, {
      respond: (page, number) => {
        if (number === 4) throw new Error("lost");
        return page;
      },
    });
    const paginator = paginatorOf(list.source({ readAhead: 0 }));
    await expect(paginator.toArray()).rejects.toThrow("lost");
    const from = throughJson(paginator.checkpoint());
    expect(await paginatorOf(list.source({ from })).toArray()).toEqual(list.lots.slice(750));
  });

  it("is a value", async () => {
    const list = new ChangingList(600);
    const { checkpoint } = await readPart(list, {}, 2);
    const from = throughJson(checkpoint);
    const paginator = paginatorOf(list.source({ from: Object.freeze(from) }));
    const pages = paginator.pages();
    await pages.next();
    const resumed = paginator.checkpoint();
    expect(resumed, "that which it continues from, until a page was consumed").toEqual(from);
    resumed?.keys.splice(0);
    if (resumed) resumed.end = 7;
    expect(paginator.checkpoint()).toEqual(from);
    await pages.next();
    expect(paginator.checkpoint()).toMatchObject({ done: false, end: 500 });
    expect(from.end).toBe(250);
  });

  it("keeps the keys of the last 250 records, in a few kilobytes", async () => {
    const { checkpoint } = await readPart(new ChangingList(5_000), { gapless: true }, 10);
    expect(checkpoint?.keys.length).toBe(250);
    expect(JSON.stringify(checkpoint).length).toBeLessThan(2_000);
  });
});

describe("from the end of a list", () => {
  it.each([
    { gapless: true, size: 600 },
    { gapless: false, size: 600 },
    { gapless: true, size: 500 },
    { gapless: false, size: 500 },
    { gapless: true, size: 0 },
    { gapless: false, size: 0 },
  ])("records added after it are returned, with one request or two, for $size, gapless $gapless", async ({
    gapless,
    size,
  }) => {
    const list = new ChangingList(size);
    let from = (await readPart(list, { gapless })).checkpoint;
    for (const added of [0, 3, 300]) {
      list.insert(list.lots.length, added);
      list.requests.length = 0;
      const { lots, checkpoint } = await readPart(list, { gapless, from: throughJson(from) });
      expect(lots).toEqual(added === 0 ? [] : list.lots.slice(-added));
      expect(list.requests.length).toBeLessThanOrEqual(added < 250 ? 1 : 3);
      expect(checkpoint?.done).toBe(true);
      from = checkpoint;
    }
  });

  it.each([
    true,
    false,
  ])("nothing is missed that was added after it while others were removed, gapless %s", async (gapless) => {
    const list = new ChangingList(1_100);
    const { checkpoint } = await readPart(list, { gapless });
    list.insert(list.lots.length, 40);
    list.remove(10, 90);
    const { lots } = await readPart(list, { gapless, from: throughJson(checkpoint) });
    expect(lots).toEqual(list.lots.slice(-40));
  });
});

describe("without gapless, an iteration that continues from a checkpoint", () => {
  it("misses none and returns none twice while records are only removed, in random schedules", async () => {
    for (let seed = 1; seed <= runs(600); seed += 1) {
      const random = seededRandom(seed);
      const change = (list: ChangingList) => {
        if (random(3) === 0) list.remove(random(list.lots.length), random(30));
      };
      const list = new ChangingList(500 + random(3_000), { change });
      sort(list, ORDERS[seed % 4] as Order, random);
      const all: Lot[] = [];
      let from: Checkpoint | undefined;
      for (const end of [1 + random(6), 1 + random(6), Number.POSITIVE_INFINITY]) {
        const { lots, checkpoint } = await readPart(list, { pageSize: 100, readAhead: random(3), from }, end);
        all.push(...lots);
        from = checkpoint === null ? undefined : throughJson(checkpoint);
        change(list);
      }
      expectNoneMissed(all, list);
      expectNoneTwice(all);
    }
  });

  it("misses none when it was left among pages that were read again", async () => {
    for (let end = 1; end <= 14; end += 1) {
      const list = new ChangingList(1_500, {
        change: (list) => {
          if (list.requests.length === 7) list.remove(0, 450);
        },
      });
      const settings = { pageSize: 100, readAhead: 0 };
      const { lots, checkpoint } = await readPart(list, settings, end);
      const from = checkpoint === null ? undefined : throughJson(checkpoint);
      const rest = await readPart(list, { ...settings, from });
      expectNoneMissed([...lots, ...rest.lots], list);
    }
  });

  it("continues at the page size that the service applied", async () => {
    const list = new ChangingList(1_000, { cap: 50 });
    const { lots, checkpoint } = await readPart(list, { pageSize: 1_000, maxPageSize: 1_000 }, 5);
    const from = throughJson(checkpoint);
    const rest = await readPart(list, { pageSize: 1_000, maxPageSize: 1_000, from });
    expect([...lots, ...rest.lots]).toEqual(list.lots);
  });

  it("returns nothing again without keys, from the middle of a page too", async () => {
    const list = new ChangingList(630);
    const { lots, checkpoint } = await readPart(list, { keyOf: undefined });
    list.insert(630, 500);
    const rest = await readPart(list, { keyOf: undefined, from: throughJson(checkpoint) });
    expect([...lots, ...rest.lots]).toEqual(list.lots);
  });
});
