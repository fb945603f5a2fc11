import { describe, expect, it } from "vitest";
import { possiblyMissedRange } from "../../../src/client/lists/sequential.js";

/** The page of 100 that begins at `start`, requested after this many responses. */
const read = (start: number, totalCount: number, requestedAt = 5) => ({
  request: { page: start / 100 + 1, pageSize: 100 },
  page: { value: [], totalCount, page: start / 100 + 1, pageSize: 100, pageCount: 10, hasMore: true },
  requestedAt,
  receivedAt: 6,
});
const frontier = { end: 300, totalCount: 1_000, pageSize: 100, receivedAt: 5 };

describe("the range in which records may have been missed", () => {
  it.each([
    { name: "none while the total is constant", next: read(300, 1_000), expected: undefined },
    { name: "none when the total grows", next: read(300, 1_040), expected: undefined },
    { name: "as far before the page as the total decreased", next: read(300, 993), expected: { from: 293, to: 300 } },
    { name: "at most from the start of the list", next: read(300, 600), expected: { from: 0, to: 300 } },
    { name: "not beyond the end of the list", next: read(300, 250), expected: { from: 0, to: 250 } },
    { name: "none in an empty list", next: read(300, 0), expected: undefined },
    { name: "in what the page left out", next: read(400, 1_000), expected: { from: 300, to: 400 } },
    {
      name: "on both sides if the page may be the older one",
      next: read(300, 993, 4),
      expected: { from: 293, to: 307 },
    },
  ])("$name", ({ next, expected }) => {
    expect(possiblyMissedRange(frontier, next)).toEqual(expected);
  });
});
