import { expect, it } from "vitest";
import { EndSearch } from "../../src/client/lists/end-search.js";

const PAGE_SIZE = 100;

/** Searches for the end of a list. It is at `actual`, and the search begins at `expected`. Returns the probed positions. */
function search(actual: number, expected: number, total: number): number[] {
  const found = new EndSearch();
  const positions = [expected];
  for (let position = expected; positions.length < 50; positions.push(position)) {
    if (position - PAGE_SIZE > actual) position = found.left(position - PAGE_SIZE, position, PAGE_SIZE);
    else if (position + PAGE_SIZE <= actual) position = found.right(position + PAGE_SIZE, position, PAGE_SIZE, total);
    else return positions;
  }
  return positions;
}

it.each([
  ["to the left, by doubling steps", 0, 3_000, [3_000, 2_900, 2_700, 2_400, 1_900, 1_000, 0]],
  ["to the right, by doubling steps", 3_000, 0, [0, 100, 300, 600, 1_100, 2_000, 3_000]],
  ["between two bounds, by bisection", 1_250, 0, [0, 100, 300, 600, 1_100, 2_000, 1_550, 1_325]],
  ["nowhere, if it is where it was expected", 50, 0, [0]],
])("the end is searched %s", (_, actual, expected, positions) => {
  expect(search(actual, expected, 3_000)).toEqual(positions);
});

it("a search of any distance is short, and never leaves the list", () => {
  for (let actual = 0; actual <= 200_000; actual += 9_973) {
    for (const expected of [0, 100_000, 200_000]) {
      const positions = search(actual, expected, 200_000);
      expect(positions.length).toBeLessThan(24);
      expect(Math.min(...positions)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...positions)).toBeLessThanOrEqual(200_000);
    }
  }
});
