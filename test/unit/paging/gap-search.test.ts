import { describe, expect, it } from "vitest";
import { type GapBounds, GapSearch } from "../../../src/client/lists/gapless/gap-search.js";
import type { PageRequest } from "../../../src/client/lists/page.js";

const CAP = 250;
const gap = (known: Partial<GapBounds> = {}) =>
  new GapSearch({ low: undefined, high: 10_000, expected: 10_000, ...known }, { maxPageSize: CAP, shifts: [] });

function rangeOf({ page, pageSize }: PageRequest): { from: number; to: number } {
  return { from: (page - 1) * pageSize, to: page * pageSize };
}

/** The page after this many disjoint pages. */
function afterDisjointPages(count: number): { from: number; to: number } {
  const search = gap();
  for (let pages = 0; pages < count; pages += 1) search.afterDisjoint(10_000);
  return rangeOf(search.next());
}

describe("the page read to close a gap", () => {
  it("first covers as much as it can before the gap's end, and reaches beyond it", () => {
    const { from, to } = rangeOf(gap().next());
    expect(to).toBeGreaterThan(10_000);
    expect(from).toBeLessThan(9_800);
  });

  it("first looks at the position that the decrease of the total suggests", () => {
    const { from, to } = rangeOf(gap({ expected: 7_000 }).next());
    expect(from).toBeLessThan(7_000);
    expect(to).toBeGreaterThan(7_000);
  });

  it("then goes back one page, and twice as far each further time", () => {
    const backs = [1, 2, 3, 4].map((pages) => 10_000 - afterDisjointPages(pages).to);
    expect(backs[0]).toBeLessThan(0);
    for (const [index, back] of [200, 450, 950].entries())
      expect(Math.abs((backs[index + 1] ?? 0) - back)).toBeLessThan(40);
  });

  it("never goes back beyond the first page", () => {
    expect(afterDisjointPages(20).from).toBe(0);
  });

  it("halves the stretch between what has been read and what has not", () => {
    const { from, to } = rangeOf(gap({ low: 6_000 }).next());
    expect(from).toBeLessThan(8_000);
    expect(to).toBeGreaterThan(8_000);
  });

  it("is looked for further left after a page with nothing known", () => {
    const search = gap({ low: 4_000 });
    search.afterDisjoint(6_000);
    const same = gap({ high: 6_000 });
    same.afterDisjoint(6_000);
    expect(search.next()).toEqual(same.next());
  });

  it("is looked for further right after one with nothing new, and beyond the end twice as far each time", () => {
    const search = gap();
    search.afterDisjoint(10_000);
    search.afterContained(6_000, 20_000);
    expect(search.next()).toEqual(gap({ low: 6_000 }).next());
    search.afterContained(10_100, 20_000);
    expect(search.next()).toEqual(gap({ low: 10_100, high: 10_600 }).next());
    search.afterContained(10_700, 20_000);
    expect(search.next()).toEqual(gap({ low: 10_700, high: 11_700 }).next());
    search.afterContained(11_800, 12_400);
    expect(search.next(), "but not beyond the end of the list").toEqual(gap({ low: 11_800, high: 12_400 }).next());
  });

  it("is looked for further right, too, after one with nothing new that ends just where the gap does", () => {
    const search = gap();
    search.afterContained(10_000, 20_000);
    expect(search.next()).toEqual(gap({ low: 10_000, high: 10_500 }).next());
  });

  it("goes back and further right anew after a page that has shown the end", () => {
    const search = gap();
    for (let pages = 0; pages < 3; pages += 1) search.afterContained(10_000, 20_000);
    search.restartAt(7_000);
    expect(search.next()).toEqual(gap({ low: 7_000, high: 7_000 }).next());
    search.afterContained(7_100, 20_000);
    expect(search.next()).toEqual(gap({ low: 7_100, high: 7_600 }).next());
    search.restartAt(7_000);
    search.afterDisjoint(7_000);
    const same = gap({ high: 7_000 });
    same.afterDisjoint(7_000);
    expect(search.next()).toEqual(same.next());
  });

  it("continues from what has been read once one page is enough", () => {
    const { from, to } = rangeOf(gap({ low: 9_900 }).next());
    expect(from).toBeLessThan(9_900);
    expect(to).toBeGreaterThan(10_000);
  });
});
