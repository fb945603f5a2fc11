import { expect, it } from "vitest";
import { isSorted } from "../../src/client/lists/sorted.js";

it.each([
  ["numbers", [2, 10], true],
  ["numbers that descend", [10, 2], false],
  ["the first letters that differ, without regard to case", ["SKU a9", "SKU A1", "SKU b"], true],
  ["code units", ["B", "a"], true],
  ["numbers in texts", ["2", "10"], true],
  ["letters alone", ["b", "-c"], true],
  ["no rule", ["b", "a"], false],
])("ascending by %s", (_, values, expected) => {
  expect(isSorted(values, "ASC")).toBe(expected);
  expect(isSorted(values.toReversed(), "DESC")).toBe(expected);
});

it("says nothing of values that are all equal", () => {
  expect(isSorted(["a", "a"], "ASC")).toBeUndefined();
});
