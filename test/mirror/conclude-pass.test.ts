import { describe, expect, it } from "vitest";
import { concludePass, type FullReading, isSecondReadingDue } from "../../src/mirror/sync/conclude-pass.js";

const listing = (numbers: number[], fields: Partial<FullReading> = {}): FullReading => ({
  numbers: new Set(numbers),
  hasAscended: true,
  unlisted: 0,
  beganAt: 1_000,
  since: 900,
  ...fields,
});
const unsorted = (numbers: number[], unlisted: number) => listing(numbers, { hasAscended: false, unlisted });
const later = (reading: FullReading): FullReading => ({ ...reading, beganAt: 2_000, since: 1_900 });

const GUARD = { allowRemovals: false, maxRemovedShare: 0.2 };
const KNOWN = { asOf: 500, unlisted: 0, records: 4 };
const NEW = { ...KNOWN, asOf: null, unlisted: null };

const records = { asOf: 1_000, since: 900 };
const all = { ...records, fullPassAt: 1_000 };

describe("a full pass", () => {
  it.each([
    // Passes that one reading concludes.
    ["ascended, with all records", { first: listing([1, 2]), absent: [] }, KNOWN, { ...all, unlisted: 0 }, []],
    ["ascended, without some", { first: listing([1, 2]), absent: [3] }, KNOWN, { ...all, unlisted: 0 }, [3]],
    [
      "ascended, and some are unlisted as before",
      { first: listing([1, 2], { unlisted: 2 }), absent: [3] },
      { ...KNOWN, unlisted: 2 },
      { ...all, unlisted: 2 },
      [3],
    ],
    [
      "ascended, and more are unlisted than before",
      { first: listing([1, 2], { unlisted: 2 }), absent: [3] },
      { ...KNOWN, unlisted: 1 },
      { unlisted: 2 },
      [],
    ],
    [
      "ascended, and more are unlisted than before, but none is absent",
      { first: listing([1, 2], { unlisted: 2 }), absent: [] },
      { ...KNOWN, unlisted: 1 },
      { ...all, unlisted: 2 },
      [],
    ],
    [
      "did not ascend, with all records",
      { first: unsorted([2, 1], 0), absent: [] },
      KNOWN,
      { ...all, unlisted: 0 },
      [],
    ],
    // Passes that need a second reading.
    [
      "did not ascend: the second reading lists as many as counted",
      { first: unsorted([2, 1], 1), second: later(unsorted([3, 1], 0)), absent: [4] },
      KNOWN,
      { ...all, unlisted: 0 },
      [4],
    ],
    [
      "did not ascend: the second reading ascends",
      { first: unsorted([2, 1], 1), second: later(listing([1, 2], { unlisted: 1 })), absent: [4] },
      { ...KNOWN, unlisted: 1 },
      { ...all, unlisted: 1 },
      [4],
    ],
    [
      "did not ascend: both readings list the same",
      { first: unsorted([2, 1], 1), second: later(unsorted([1, 2], 1)), absent: [4] },
      { ...KNOWN, unlisted: 1 },
      { ...records, unlisted: 1 },
      [],
    ],
    [
      "did not ascend: both readings list the same, and none is absent",
      { first: unsorted([2, 1], 1), second: later(unsorted([1, 2], 1)), absent: [] },
      KNOWN,
      { ...all, unlisted: 1 },
      [],
    ],
    [
      "did not ascend: both readings list the same, more unlisted than before",
      { first: unsorted([2, 1], 2), second: later(unsorted([1, 2], 2)), absent: [4] },
      { ...KNOWN, unlisted: 1 },
      { unlisted: 2 },
      [],
    ],
    [
      "did not ascend: the second reading lists others",
      { first: unsorted([2, 1], 1), second: later(unsorted([1, 3], 1)), absent: [] },
      { ...KNOWN, unlisted: 1 },
      { unlisted: 1 },
      [],
    ],
    // The first pass of a list.
    ["is the first one", { first: listing([1, 2]), absent: [] }, NEW, { ...all, unlisted: 0 }, []],
    [
      "is the first one after one that was interrupted",
      { first: listing([], { unlisted: 3 }), absent: [1, 2] },
      NEW,
      { ...all, unlisted: 3 },
      [1, 2],
    ],
    [
      "is the first one, and its readings list others",
      { first: unsorted([2, 1], 1), second: later(unsorted([1, 3], 1)), absent: [] },
      NEW,
      { unlisted: 1 },
      [],
    ],
  ] as const)("that %s", (_pass, pass, before, saved, removed) => {
    expect(concludePass(pass, before, GUARD)).toEqual({ saved: { refused: null, ...saved }, removed });
  });
});

describe("the guard", () => {
  const absent = (count: number) => Array.from({ length: count }, (_, index) => index);
  it.each([
    ["50 of 60", 50, 60, [100], GUARD, false],
    ["51 of 60", 51, 60, [100], GUARD, true],
    ["80 of 400", 80, 400, [100], GUARD, false],
    ["81 of 400", 81, 400, [100], GUARD, true],
    ["81 of 400, if they are allowed", 81, 400, [100], { ...GUARD, allowRemovals: true }, false],
    ["81 of 400, if half may be removed", 81, 400, [100], { ...GUARD, maxRemovedShare: 0.5 }, false],
    ["all of a few", 3, 3, [], { ...GUARD, maxRemovedShare: 1 }, true],
  ])("%s", (_removals, count, inCopy, listed, guard, isRefused) => {
    const pass = { first: listing(listed), absent: absent(count) };
    const { saved, removed } = concludePass(pass, { ...KNOWN, records: inCopy }, guard);
    expect(removed).toHaveLength(isRefused ? 0 : count);
    expect(saved).toEqual({ ...(isRefused ? records : all), unlisted: 0, refused: isRefused ? count : null });
  });

  it("does not refuse what a new list has left", () => {
    expect(concludePass({ first: listing([]), absent: absent(3) }, NEW, GUARD).removed).toHaveLength(3);
  });
});

it.each([
  [listing([1], { unlisted: 1 }), [2], false],
  [unsorted([1], 0), [], false],
  [unsorted([1], 1), [], true],
  [unsorted([1], 0), [2], true],
])("a second reading is due only if the first one may have missed records", (first, absent, isDue) => {
  expect(isSecondReadingDue(first, absent)).toBe(isDue);
});
