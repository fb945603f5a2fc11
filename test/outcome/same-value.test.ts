import { describe, expect, it } from "vitest";
import { isStoredAs } from "../../src/client/find/sent-write.js";
import { InventoryClient } from "../../src/index.js";
import { isSameValue } from "../../src/service/same-value.js";
import { REDACTED } from "../../src/shared/errors/redact.js";

const SAME: [unknown, unknown][] = [
  ["A", "A"],
  ["", null],
  [null, undefined],
  [50, 50.0],
  [true, true],
  [
    { a: 1, b: [2] },
    { b: [2], a: 1 },
  ],
];

const DIFFERENT: [unknown, unknown][] = [
  ["A", "a"],
  ["é", "e\u0301"],
  ["50", 50],
  [50, "50"],
  ["050", "50"],
  ["", 0],
  [0, null],
  [false, null],
  ["true", true],
  [{ a: 1 }, { a: "1" }],
  [
    [1, 2],
    [2, 1],
  ],
];

describe("the planner, the outbox and look-ups agree", () => {
  it.each(SAME)("%j is the same as %j", (one, other) => {
    for (const isSame of [isSameValue, isStoredAs])
      expect([isSame(one, other), isSame(other, one)]).toEqual([true, true]);
  });

  it.each(DIFFERENT)("%j differs from %j", (one, other) => {
    for (const isSame of [isSameValue, isStoredAs])
      expect([isSame(one, other), isSame(other, one)]).toEqual([false, false]);
  });
});

describe("only a look-up ignores", () => {
  it.each([
    [" A ", "A"],
    ["A", "A\n"],
    [" ", null],
  ])("white space around texts: %j, %j", (sent, stored) => {
    expect([isStoredAs(sent, stored), isSameValue(sent, stored)]).toEqual([true, false]);
  });

  it("what was redacted in the request", () => {
    const clientSecret = "a-secret-of-this-client";
    new InventoryClient({ baseUrl: "https://example.test/v1", clientId: "a", clientSecret });
    const sent = `by ${REDACTED}`;
    expect(isStoredAs(sent, `by ${clientSecret}`)).toBe(true);
    expect(isStoredAs(sent, "by another-secret")).toBe(false);
    expect(isSameValue(sent, `by ${clientSecret}`)).toBe(false);
  });
});
