import { expect, it } from "vitest";
import { mustCountAsModified } from "../../src/mirror/copy/changes.js";

const changed = (field: string) => ({ type: "changed", before: { [field]: "a" }, after: { [field]: "b" } }) as const;
const ADDED = { type: "added", before: null, after: { shortID: "A" } } as const;

it.each([
  ["a lot whose own field has changed", "lots", changed("spot"), true],
  ["a lot that shows another description of its item", "lots", changed("description"), false],
  ["a lot that shows another name of its warehouse", "lots", changed("warehouse"), false],
  ["a lot that was added", "lots", ADDED, true],
  ["an item with another description", "items", changed("description"), true],
  ["a stock level with another description", "stockLevels", changed("description"), true],
] as const)("an increment must list a record that has changed: %s", (_, resource, change, expected) => {
  expect(mustCountAsModified(resource, { key: 1, ...change } as Parameters<typeof mustCountAsModified>[1])).toBe(
    expected,
  );
});
