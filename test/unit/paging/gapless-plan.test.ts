import { describe, expect, it } from "vitest";
import { bestOverlappingPage, leftmostPageReaching } from "../../../src/client/lists/choose-page.js";
import { GaplessFrontier } from "../../../src/client/lists/gapless/frontier.js";
import type { PageRequest } from "../../../src/client/lists/page.js";

const offset = ({ page, pageSize }: PageRequest) => (page - 1) * pageSize;
const reach = ({ page, pageSize }: PageRequest) => page * pageSize;

/** Requests beyond those of plain paging, in per cent, for a list that nobody changes. */
function surcharge(records: number, cap: number): number {
  let requests = 1;
  for (let end = cap; end < records; requests += 1)
    end = reach(bestOverlappingPage({ end, maxPageSize: cap, shifts: [] }));
  return (requests / Math.ceil(records / cap) - 1) * 100;
}

describe("the page that overlaps what was read", () => {
  it.each([
    { end: 250, cap: 250, page: 2, pageSize: 249 },
    { end: 499, cap: 250, page: 3, pageSize: 249 },
    { end: 498, cap: 250, page: 3, pageSize: 248 },
    { end: 1, cap: 250, page: 1, pageSize: 250 },
    { end: 37, cap: 250, page: 1, pageSize: 250 },
    { end: 25_000, cap: 250, page: 103, pageSize: 245 },
    { end: 6, cap: 4, page: 2, pageSize: 4 },
  ])("from $end with pages of up to $cap is page $page of $pageSize", ({ end, cap, page, pageSize }) => {
    expect(bestOverlappingPage({ end, maxPageSize: cap, shifts: [] })).toEqual({ page, pageSize });
  });

  it("begins before the end and reaches beyond it, wherever the end is", () => {
    for (let end = 1; end < 30_000; end += 7) {
      const request = bestOverlappingPage({ end, maxPageSize: 250, shifts: [] });
      expect(offset(request)).toBeLessThan(end);
      expect(reach(request)).toBeGreaterThan(end);
      expect(request.pageSize).toBeLessThanOrEqual(250);
    }
  });

  it("overlaps by more than the list moved lately", () => {
    const request = bestOverlappingPage({ end: 10_000, maxPageSize: 250, shifts: [20, 18, 22] });
    expect(10_000 - offset(request)).toBeGreaterThan(22);
    expect(reach(request)).toBeGreaterThan(10_150);
  });

  it("does not guard against what happened once in many pages", () => {
    const calm = bestOverlappingPage({ end: 1_250, maxPageSize: 250, shifts: [] });
    const shifts = [900, ...Array.from({ length: 15 }, () => 0)];
    expect(bestOverlappingPage({ end: 1_250, maxPageSize: 250, shifts })).toEqual(calm);
  });

  it("merely follows when every page size up to the cap divides the end", () => {
    expect(bestOverlappingPage({ end: 12, maxPageSize: 4, shifts: [] })).toEqual({ page: 4, pageSize: 4 });
  });

  it.each([
    25_000, 50_000, 100_000, 400_000, 1_000_000,
  ])("costs 7 to 9 per cent more requests on a calm list of %i", (records) => {
    expect(surcharge(records, 250)).toBeGreaterThan(7);
    expect(surcharge(records, 250)).toBeLessThan(9);
  });
});

describe("how far the list moved between two responses", () => {
  const frontier = new GaplessFrontier({ from: undefined, label: "GET /Inventory" });
  const pageOf = (page: number, receivedAt: number) => ({
    request: { page, pageSize: 10 },
    page: { value: Array.from({ length: 10 }), totalCount: 100, page, pageSize: 10, pageCount: 10, hasMore: true },
    requestedAt: receivedAt - 1,
    receivedAt,
  });
  frontier.advance(pageOf(1, 1), { continuity: "overlapping", first: -1, last: -1 }, { isGrowthCredible: true });

  it.each([
    { seen: "only its first record was", last: 0, shift: -1 },
    { seen: "its first four records were", last: 3, shift: -4 },
    { seen: "only its first record was, and there was a response between", last: 0, receivedAt: 3, shift: -0.5 },
    { seen: "no record was", last: -1, shift: undefined },
  ])("is shown by a page of which $seen seen before", ({ last, receivedAt = 2, shift }) => {
    const overlap = { continuity: "overlapping", first: Math.min(last, 0), last } as const;
    expect(frontier.shiftShownBy(pageOf(2, receivedAt), overlap)).toBe(shift);
  });
});

describe("the page that reaches a position", () => {
  it.each([
    { position: 1_000, cap: 250, from: 750 },
    { position: 1_010, cap: 250, from: 808 },
    { position: 10, cap: 250, from: 0 },
    { position: 0, cap: 250, from: 0 },
    { position: -5, cap: 250, from: 0 },
  ])("$position begins as far left as it can: at $from", ({ position, cap, from }) => {
    const request = leftmostPageReaching(position, cap);
    expect(offset(request)).toBe(from);
    expect(reach(request)).toBeGreaterThanOrEqual(position);
    expect(request.page).toBeGreaterThanOrEqual(1);
  });
});
