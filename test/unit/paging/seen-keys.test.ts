import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SeenKeys } from "../../../src/client/lists/seen-keys.js";
import { runs } from "../../support/runs.js";

describe("the keys seen so far", () => {
  it.each([
    0,
    -0,
    1,
    31,
    32,
    33,
    16_383,
    16_384,
    2 ** 31,
    2 ** 32 + 5,
    Number.MAX_SAFE_INTEGER,
    2 ** 60,
    -1,
    -(2 ** 40),
  ])("%d is new once", (key) => {
    const keys = new SeenKeys();
    expect(keys.has(key)).toBe(false);
    expect(keys.add(key)).toBe(true);
    expect(keys.add(key)).toBe(false);
    expect(keys.has(key)).toBe(true);
  });

  it.each([
    0.5,
    -2.25,
    1e-9,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    "",
    "a",
    "1",
    "SKU-1",
    "__proto__",
  ])("%s is new once", (key) => {
    const keys = new SeenKeys();
    expect([keys.add(key), keys.add(key), keys.has(key)]).toEqual([true, false, true]);
  });

  it('distinguishes the number 1 from the string "1"', () => {
    const keys = new SeenKeys();
    expect([keys.add(1), keys.add("1"), keys.add(1), keys.add("1")]).toEqual([true, true, false, false]);
  });

  it("behaves like a Set, whatever the keys and their order", () => {
    const key = fc.oneof(
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: 0, max: 2_000_000 }),
      fc.maxSafeInteger(),
      fc.double(),
      fc.string({ maxLength: 2 }),
    );
    fc.assert(
      fc.property(fc.array(key, { maxLength: 300 }), (added) => {
        const keys = new SeenKeys();
        const set = new Set<string | number>();
        for (const each of added) {
          expect(keys.has(each)).toBe(set.has(each));
          expect(keys.add(each)).toBe(!set.has(each));
          set.add(each);
        }
      }),
      { seed: 7, numRuns: runs(300) },
    );
  });

  it("stays right when keys that were far apart become dense", () => {
    const keys = new SeenKeys();
    for (let key = 0; key < 100 * 16_384; key += 16_384) keys.add(key);
    let added = 0;
    for (let key = 0; key < 100 * 16_384; key += 1) if (keys.add(key)) added += 1;
    expect(added).toBe(100 * 16_383);
  });

  it.each([
    { name: "a million record numbers that follow each other", step: 1, mebibytes: 2 },
    { name: "a million record numbers with nine gaps between two", step: 10, mebibytes: 8 },
  ])("keeps $name in less than $mebibytes MiB", ({ step, mebibytes }) => {
    const before = process.memoryUsage();
    const keys = new SeenKeys();
    for (let index = 0; index < 1_000_000; index += 1) keys.add(5_000_000 + index * step);
    const after = process.memoryUsage();
    const buffers = after.arrayBuffers - before.arrayBuffers;
    expect(buffers).toBeLessThan(mebibytes * 2 ** 20);
    expect(keys.has(5_000_000)).toBe(true);
  });
});
