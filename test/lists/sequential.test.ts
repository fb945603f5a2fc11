import { describe, expect, it } from "vitest";
import { seededRandom } from "../support/random.js";
import { RUN_ALL } from "../support/runs.js";
import { ChangingList, type ListBehaviour, type ListSettings, type Lot, settle } from "./changing-list.js";

const AHEAD = (RUN_ALL ? [0, 1, 4, 10] : [1, 4]).map((readAhead) => ({ readAhead }));

/** Runs `act` on the list before the request with that number is answered. */
const at = (number: number, act: (list: ChangingList) => void): ListBehaviour => ({
  change: (list) => {
    if (list.requests.length === number) act(list);
  },
});

async function read(list: ChangingList, settings: ListSettings = {}): Promise<Lot[]> {
  return await list.paginator(settings).toArray();
}

function expectNoneMissed(lots: Lot[], list: ChangingList, from = 0): void {
  const returned = new Set(lots);
  expect([...list.constant].filter((lot) => lot.recNo > from && !returned.has(lot))).toEqual([]);
}

const numbersOf = (lots: Lot[]) => lots.map(({ recNo }) => recNo);

describe("sequential paging", () => {
  it.each(AHEAD)("returns a calm list in order, each page once, with %o", async (ahead) => {
    const random = seededRandom(1);
    const list = new ChangingList(5_130, { delay: () => random(5) });
    expect(await read(list, ahead)).toEqual(list.lots);
    expect(list.requests.length).toBe(21);
    expect(list.mostInFlight).toBe(Math.max(1, ahead.readAhead));
  });

  it("returns no record twice when others push records to the next page", async () => {
    const list = new ChangingList(
      1_000,
      at(3, (list) => list.insert(0, 40)),
    );
    const lots = await read(list);
    expect(new Set(lots).size).toBe(lots.length);
    expect(lots.length).toBe(1_000);
  });
});

describe("a list that shrinks under sequential paging", () => {
  it.each([
    1, 7, 249, 250, 251, 600,
  ])("reads again what moved left when %i records are removed at once", async (count) => {
    for (const ahead of [{ readAhead: 0 }, { readAhead: 1 }]) {
      const list = new ChangingList(
        3_000,
        at(5, (list) => list.remove(100, count)),
      );
      const lots = await read(list, ahead);
      expect(new Set(lots).size).toBe(lots.length);
      expectNoneMissed(lots, list);
      // Records found again are returned in the order of the list.
      expect(numbersOf(lots)).toEqual(numbersOf(lots).toSorted((a, b) => a - b));
    }
  });

  it.each(AHEAD)("loses none and returns none twice while records are only removed, with %o", async (ahead) => {
    for (let seed = 1; seed <= (RUN_ALL ? 60 : 20); seed += 1) {
      const random = seededRandom(seed);
      const order = seededRandom(seed + 1_000);
      const list = new ChangingList(1_000 + random(4_000), {
        delay: () => order(5),
        change: (list) => {
          if (random(3) === 0) list.remove(random(list.lots.length), random(40));
        },
      });
      const lots = await read(list, ahead);
      expect(new Set(lots).size).toBe(lots.length);
      expectNoneMissed(lots, list);
    }
  });

  it.each([1, 2, 3, 10])("misses none if pages of %i are requested", async (pageSize) => {
    const list = new ChangingList(
      40,
      at(3, (list) => list.remove(0)),
    );
    expectNoneMissed(await read(list, { pageSize }), list);
  });

  it("does not return records before the requested page when it steps back before its first page", async () => {
    const list = new ChangingList(
      2_000,
      at(2, (list) => list.remove(1_500, 200)),
    );
    const lots = await read(list, { page: 3 });
    expect(numbersOf(lots)[0]).toBe(501);
    expect(numbersOf(lots).filter((recNo) => recNo < 501)).toEqual([]);
    expectNoneMissed(lots, list, 500);
  });

  it("rejects if it began further on, and as much is removed at once as it has read", async () => {
    const list = new ChangingList(
      2_000,
      at(2, (list) => list.remove(1_500, 300)),
    );
    await expect(read(list, { page: 3 })).rejects.toThrow("changes faster than it can be read");
  });

  it("is read page by page, as served, if its records have no keys", async () => {
    const list = new ChangingList(
      2_000,
      at(3, (list) => list.remove(0, 5)),
    );
    expect((await read(list, { keyOf: undefined })).length).toBe(1_995);
    expect(list.requests.length).toBe(8);
  });

  it("finds what was pushed away between two pages that were read in the other order", async () => {
    // Page 3 is cut before page 2, and 5 records are inserted in between. The last records of page 2 are then on neither page.
    const list = new ChangingList(750);
    list.isHeld = true;
    const reading = read(list, { readAhead: 2 });
    await settle();
    await list.respond(1);
    await list.respond(3);
    list.isHeld = false;
    list.insert(0, 5);
    await list.respond(2);
    const lots = await reading;
    expectNoneMissed(lots, list);
    expect(new Set(lots).size).toBe(lots.length);
  });
});
