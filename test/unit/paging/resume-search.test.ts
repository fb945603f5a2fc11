import { describe, expect, it } from "vitest";
import { appendCheckpointKeys } from "../../../src/client/lists/checkpoint.js";
import { guessSideOf, ResumeSearch } from "../../../src/client/lists/gapless/resume-search.js";
import { ChangingList, type Lot, paginatorOf } from "./changing-list.js";

describe("the side on which a record probably stands", () => {
  it.each([
    { key: 5, neighbours: [10, 11, 15], side: "before" },
    { key: 20, neighbours: [10, 11, 15], side: "after" },
    { key: 20, neighbours: [15, 11, 10], side: "before" },
    { key: 5, neighbours: [15, 11, 10], side: "after" },
    { key: "B", neighbours: ["C", "D"], side: "before" },
    { key: 5, neighbours: [10, 12, 11], side: undefined },
    { key: 5, neighbours: [10], side: undefined },
    { key: 5, neighbours: [], side: undefined },
    { key: undefined, neighbours: [10, 11], side: undefined },
  ])("of $key among $neighbours: $side", ({ key, neighbours, side }) => {
    expect(guessSideOf(key, neighbours)).toBe(side);
  });
});

it("a search ends when no position is left", () => {
  const search = new ResumeSearch([5, 6], () => 2);
  const page = { value: [{}], page: 1, pageSize: 1, pageCount: 4, totalCount: 4, hasMore: true };
  // Both records stand before the first page.
  expect(search.nextPosition(page, 9)).toBe(1);
  expect(search.nextPosition(page, 9)).toBeUndefined();
});

it("the keys emitted last are kept, except those that JSON changes", () => {
  const numbers = Array.from({ length: 300 }, (_, index) => index);
  expect(appendCheckpointKeys([], numbers)).toEqual(numbers.slice(50));
  expect(appendCheckpointKeys([1, 2], ["A", undefined, Number.NaN, Number.POSITIVE_INFINITY, 3])).toEqual([
    1,
    2,
    "A",
    3,
  ]);
});

/** Reads 40 pages, lets others change the list, and reads the rest. */
async function readInTwoParts(reverse: boolean, change: (list: ChangingList) => void) {
  const list = new ChangingList(30_000);
  if (reverse) list.lots.reverse();
  const paginator = paginatorOf(list.source({ gapless: true }));
  const returned = new Set<Lot>();
  let pages = 0;
  for await (const { value } of paginator.pages()) {
    pages += 1;
    if (pages > 40) break;
    for (const lot of value) returned.add(lot);
  }
  change(list);
  const requests = list.requests.length;
  const from = paginator.checkpoint() ?? undefined;
  const rest = await paginatorOf(list.source({ gapless: true, from })).toArray();
  const left = new Set(rest);
  return {
    requests: list.requests.length - requests - Math.ceil(rest.length / 250),
    missing: [...list.constant].filter((lot) => !returned.has(lot) && !left.has(lot)),
    again: rest.filter((lot) => returned.has(lot)).length,
  };
}

describe("the position at which an iteration ended is found", () => {
  it.each([
    { name: "with the first request on a calm list", change: () => {}, most: 10 },
    { name: "after 5 000 were added before it", change: (list: ChangingList) => list.insert(0, 5_000), most: 12 },
    { name: "after 5 000 were removed before it", change: (list: ChangingList) => list.remove(100, 5_000), most: 12 },
    {
      name: "after 200 before it were removed and 900 after it added",
      most: 16,
      change: (list: ChangingList) => {
        list.remove(100, 200);
        list.insert(list.lots.length, 900);
      },
    },
    {
      name: "after 3 000 before it were removed and 6 000 after it added",
      most: 22,
      change: (list: ChangingList) => {
        list.remove(100, 3_000);
        list.insert(list.lots.length, 6_000);
      },
    },
  ])("$name", async ({ change, most }) => {
    for (const reverse of [false, true]) {
      const { requests, missing, again } = await readInTwoParts(reverse, change);
      expect(missing).toEqual([]);
      expect(again).toBe(0);
      expect(requests).toBeLessThanOrEqual(most);
    }
  });

  it("or the list is read from its start when all records emitted last were removed", async () => {
    const { missing, again } = await readInTwoParts(false, (list) => list.remove(9_000, 1_500));
    expect(missing).toEqual([]);
    expect(again).toBe(9_000);
  });
});
