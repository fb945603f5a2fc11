import { expect, it } from "vitest";
import { setNewest } from "../../src/shared/bounded-map.js";

it("a bounded map keeps as many values as it may, the newest ones", () => {
  const map = new Map<string, number>();
  for (const [index, key] of ["a", "b", "a", "c", "d"].entries()) setNewest(map, key, index, 3);
  expect([...map]).toEqual([
    ["a", 2],
    ["c", 3],
    ["d", 4],
  ]);
});
