import { describe, expect, it } from "vitest";
import { sortProbe } from "../../src/command/list-probes.js";
import { LISTS } from "../../src/service/lists.js";

const { items: ITEMS } = LISTS;

const isHonoured = (skus: readonly unknown[]) => {
  const value = skus.map((shortID) => ({ shortID }));
  return sortProbe.isHonoured({ value }, ITEMS);
};

describe("sort=shortID&direction=DESC", () => {
  it.each([
    ["different first letters", ["C-1", "B-2", "A-3"]],
    ["numbers by their digits", ["SKU-9", "SKU-100", "SKU-10"]],
    ["numbers by their values", ["SKU-100", "SKU-10", "SKU-9"]],
    ["integers", [10, 9, 1]],
  ])("is honoured: %s", (_, skus) => expect(isHonoured(skus)).toBe(true));

  it.each([
    ["the same first letters", ["SKU-101", "SKU-102", "SKU-103"]],
    ["the same first letters, without an order", ["SKU-102", "SKU-103", "SKU-101"]],
    ["numbers by their values", ["SKU-8", "SKU-9", "SKU-10", "SKU-11"]],
    ["integers", [1, 9, 10]],
  ])("is ignored: %s", (_, skus) => expect(isHonoured(skus)).toBe(false));

  it.each([
    ["no record", []],
    ["one record", ["A"]],
  ])("cannot be determined: %s", (_, skus) => expect(isHonoured(skus)).toBeUndefined());
});
