import { describe, expect, it } from "vitest";
import { ListedRecords, proves, sizesWith } from "../../src/mirror/sync/removals.js";

const pageOf = (numbers: number[], totalCount: number) => ({
  records: numbers.map((number) => ({ number })),
  totalCount,
});

it("records of the copy that a full pass has not listed are unseen, in order or not", () => {
  const listed = new ListedRecords([1, 2, 3, 9]);
  listed.add(pageOf([1, 3, 4], 10));
  listed.add(pageOf([5, 8], 10));
  expect(listed.unseen()).toEqual([2, 9]);
  const unordered = new ListedRecords([1, 2, 3]);
  unordered.add(pageOf([3, 1], 3));
  expect(unordered.unseen()).toEqual([2]);
});

describe("that records were not listed", () => {
  const listed = (isInOrder: boolean, records: number, total: number, largestTotal = total) => ({
    isInOrder,
    records,
    total,
    largestTotal,
  });

  it.each([
    ["a complete pass in order", listed(true, 9, 9, 10), undefined, 0, "all"],
    ["one that lacks what is never listed", listed(true, 9, 10), undefined, 1, "all"],
    ["an incomplete pass", listed(true, 9, 10), undefined, 0, "needs-confirmation"],
    ["a pass without order", listed(false, 10, 10), undefined, 0, "needs-confirmation"],
    ["a second pass in order", listed(false, 1, 10), listed(true, 9, 9), 0, "all"],
    ["a second incomplete pass in order", listed(false, 10, 10), listed(true, 8, 9), 0, "nothing"],
    ["two complete passes without order", listed(false, 10, 10), listed(false, 9, 9), 0, "all"],
    ["a second one, if the first was incomplete", listed(false, 9, 10), listed(false, 9, 9), 0, "nothing"],
    ["two without order, one of which had more to list", listed(false, 10, 10), listed(false, 9, 9, 10), 0, "nothing"],
  ] as const)("%s proves: %j, %j, %d: %s", (_, first, second, unlisted, proof) => {
    expect(proves(first, second, unlisted)).toBe(proof);
  });
});

describe("the sizes that the guard remembers", () => {
  const DAY_MS = 86_400_000;
  const today = 20_000;
  const sizesFrom = (count: number, sizes: [number, number][], allowRemovals = false) =>
    sizesWith({ count, sizes, increments: {} }, today * DAY_MS, { allowRemovals });

  it.each<[string, number, [number, number][], [number, number][]]>([
    ["the first one", 90, [], [[today, 90]]],
    ["a larger one of the same day replaces it", 90, [[today, 80]], [[today, 90]]],
    ["a smaller one of the same day does not", 70, [[today, 80]], [[today, 80]]],
    [
      "one of an earlier day, though larger, does not replace today's",
      90,
      [[today - 2, 100]],
      [
        [today - 2, 100],
        [today, 90],
      ],
    ],
    ["one of a week ago is forgotten", 90, [[today - 7, 100]], [[today, 90]]],
  ])("%s", (_, count, before, expected) => {
    expect(sizesFrom(count, before)).toEqual(expected);
  });

  it("are only the present one once removals are confirmed", () => {
    expect(sizesFrom(10, [[today - 1, 100]], true)).toEqual([[today, 10]]);
  });
});
