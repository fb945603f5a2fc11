import { describe, expect, it } from "vitest";
import {
  type GapSearch,
  gapSearchAfterContained,
  gapSearchAfterDisjoint,
  nextSearchPage,
} from "../../../src/paging/gapless/gap-search.js";

const CAP = 250;
const gap = (known: Partial<GapSearch>): GapSearch => ({
  low: undefined,
  high: 10_000,
  expected: 10_000,
  disjointPages: 0,
  containedPages: 0,
  ...known,
});

function search(known: Partial<GapSearch>): { from: number; to: number } {
  const { page, pageSize } = nextSearchPage(gap(known), CAP, []);
  return { from: (page - 1) * pageSize, to: page * pageSize };
}

describe("the page read to close a gap", () => {
  it("first covers as much as it can before the gap's end, and reaches beyond it", () => {
    const { from, to } = search({});
    expect(to).toBeGreaterThan(10_000);
    expect(from).toBeLessThan(9_800);
  });

  it("first looks at the position that the decrease of the total suggests", () => {
    const { from, to } = search({ expected: 7_000 });
    expect(from).toBeLessThan(7_000);
    expect(to).toBeGreaterThan(7_000);
  });

  it("then goes back one page, and twice as far each further time", () => {
    const backs = [1, 2, 3, 4].map((disjointPages) => 10_000 - search({ disjointPages }).to);
    expect(backs[0]).toBeLessThan(0);
    for (const [index, back] of [200, 450, 950].entries())
      expect(Math.abs((backs[index + 1] ?? 0) - back)).toBeLessThan(40);
  });

  it("never goes back beyond the first page", () => {
    expect(search({ disjointPages: 20 }).from).toBe(0);
  });

  it("halves the stretch between what has been read and what has not", () => {
    const { from, to } = search({ low: 6_000 });
    expect(from).toBeLessThan(8_000);
    expect(to).toBeGreaterThan(8_000);
  });

  it("is looked for further left after a page with nothing known, further right after one with nothing new", () => {
    expect(gapSearchAfterDisjoint(gap({ low: 4_000 }), 6_000)).toEqual(gap({ high: 6_000, disjointPages: 1 }));
    expect(gapSearchAfterContained(gap({ disjointPages: 2 }), 6_000, 20_000, CAP)).toEqual(gap({ low: 6_000 }));
    const once = gapSearchAfterContained(gap({}), 10_100, 20_000, CAP);
    expect(once).toEqual(gap({ low: 10_100, high: 10_600, containedPages: 1 }));
    expect(gapSearchAfterContained(once, 10_700, 20_000, CAP)).toEqual(
      gap({ low: 10_700, high: 11_700, containedPages: 2 }),
    );
    expect(gapSearchAfterContained(once, 10_700, 10_800, CAP).high).toBe(10_800);
  });

  it("continues from what has been read once one page is enough", () => {
    const { from, to } = search({ low: 9_900 });
    expect(from).toBeLessThan(9_900);
    expect(to).toBeGreaterThan(10_000);
  });
});
