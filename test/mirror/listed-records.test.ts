import { describe, expect, it } from "vitest";
import { ListedRecords, proves, sizesWith } from "../../src/mirror/sync/removals.js";

const checkpoint = { list: "/Item", version: 1 as const, done: false, end: 0, totalCount: 0, pageSize: 1, keys: [] };
const interrupted = { checkpoint, beganAt: 0 };
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

const pageOf = (numbers: number[], totalCount: number) => ({
  records: numbers.map((number) => ({ number })),
  totalCount,
});

describe("what an interrupted full pass saves", () => {
  it("is how many records it has listed in order, and which of the copy's it has not seen", () => {
    const listed = new ListedRecords([1, 2, 3, 9]);
    listed.add(pageOf([1, 3, 4], 10));
    expect(listed.progress).toEqual({ records: 3, lastNumber: 4, unseen: [2] });
    const resumed = new ListedRecords([1, 2, 3, 9], { ...interrupted, listed: listed.progress });
    resumed.add(pageOf([5, 8], 10));
    expect(resumed.progress).toEqual({ records: 5, lastNumber: 8, unseen: [2] });
    expect(resumed.unseen()).toEqual([2, 9]);
  });

  it("does not count what the copy no longer has", () => {
    const saved = { records: 1, lastNumber: 4, unseen: [1, 2] };
    const resumed = new ListedRecords([2, 4], { ...interrupted, listed: saved });
    expect(resumed.unseen()).toEqual([2]);
  });

  it("is nothing before the first record, or if the list is not in order", () => {
    const listed = new ListedRecords([1, 2, 3]);
    expect(listed.progress).toBeUndefined();
    listed.add(pageOf([3, 1], 3));
    expect(listed.progress).toBeUndefined();
    expect(listed.isConclusive).toBe(true);
    expect(listed.unseen()).toEqual([2]);
  });

  it("is nothing if the part before an interruption is unknown", () => {
    const resumed = new ListedRecords([1, 2, 3], interrupted);
    resumed.add(pageOf([2, 3], 3));
    expect(resumed.isInOrder).toBe(true);
    expect(resumed.progress).toBeUndefined();
    expect(resumed.shortage).toBe(0);
    expect(proves(resumed, undefined, 0)).toBe("nothing");
  });

  it("is nothing if more than 1 000 records were not seen", () => {
    for (const [unseen, isSaved] of [
      [1_000, true],
      [1_001, false],
    ] as const) {
      const listed = new ListedRecords(upTo(unseen));
      listed.add(pageOf([unseen + 1], 1));
      expect(listed.progress !== undefined).toBe(isSaved);
    }
  });
});

describe("that records were not listed", () => {
  const listed = (isInOrder: boolean, records: number, total: number, largestTotal = total) => ({
    isConclusive: true,
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
    ["a pass of which a part is unknown", { ...listed(true, 9, 9), isConclusive: false }, undefined, 0, "nothing"],
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
