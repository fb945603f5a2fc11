import { expect, it } from "vitest";
import { ListKnowledge } from "../../src/client/search/list-knowledge.js";
import { toSortedPage } from "../../src/client/search/sorted-page.js";

it("a page of another search that ends within the records of an item does not make their place shorter", () => {
  const known = new ListKnowledge(250);
  const place = { partNo: 7, position: 100, length: 40 };
  known.notePlace(place);
  const pageUpTo = (position: number, last: number) =>
    known.notePage(
      {
        records: [],
        partNos: [5, last],
        start: position - 1,
        total: 1_000,
        isSorted: true,
        isFirst: false,
        isLast: false,
      },
      "ASC",
    );
  pageUpTo(120, 7);
  expect(known.placeOf(7)).toEqual(place);
  // The list has changed: it stands elsewhere.
  pageUpTo(300, 7);
  expect(known.placeOf(7)).toEqual({ partNo: 7, position: 300, length: 1 });
});

it("a page that contains the whole list in another order proves nothing", () => {
  const known = new ListKnowledge(250);
  const value = Array.from({ length: 20 }, (_, index) => (index * 7) % 20);
  const whole = { value, totalCount: 20, page: 1, pageSize: 250, pageCount: 1, hasMore: false };
  for (const direction of ["ASC", "DESC"] as const) {
    const page = toSortedPage(whole, direction, (partNo) => partNo);
    if (!page) throw new Error("A page that contains the whole list was refused.");
    known.notePage(page, direction);
    expect(known.order.isProven(direction)).toBe(false);
  }
  expect(known.order.isNumeric).toBe(false);
});
