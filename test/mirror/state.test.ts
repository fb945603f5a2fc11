import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/index.js";
import { parseMirrorState, surplusOf } from "../../src/mirror/copy/state.js";

const SAVED = JSON.stringify({
  version: 1,
  lists: {
    items: {
      count: 3,
      lacking: 0,
      lastPass: { endedAt: 5, durationMs: 1.5, shortage: 0, unlisted: 0 },
      increments: { support: "honoured", since: 1_700 },
    },
    lots: {
      count: 250,
      staleUntil: 1_700,
      increments: {},
    },
  },
  pending: {
    resource: "lots",
    changes: [
      { type: "added", key: 1, before: null, after: null },
      { type: "changed", key: 2, before: { units: 1 }, after: { units: 2, new: null } },
      { type: "removed", key: 3, before: { recNo: 3 }, after: null },
    ],
  },
  history: { days: 90, seq: 17, delivered: 12, from: { items: 1, lots: 2 } },
});

describe("a saved state", () => {
  it("is read in full", () => {
    const { lists, pending } = parseMirrorState(SAVED);
    expect(lists.items).toMatchObject({ count: 3, increments: { since: 1_700, support: "honoured" } });
    expect(lists.lots).toMatchObject({ count: 250, staleUntil: 1_700 });
    expect(pending?.resource).toBe("lots");
    expect(pending?.changes.map(({ type, key }) => `${type} ${key}`)).toEqual(["added 1", "changed 2", "removed 3"]);
  });

  it("is written as it was read", () => {
    expect(parseMirrorState(SAVED)).toEqual(JSON.parse(SAVED));
    expect(parseMirrorState(undefined)).toEqual({ version: 1, lists: {} });
  });

  it.each([
    "",
    "{",
    "[]",
    '{"version":0}',
    '{"version":2,"lists":{}}',
    '{"version":1,"lists":{"lots":{}}}',
  ])("%j is refused", (saved) => {
    expect(() => parseMirrorState(saved)).toThrow(ConfigurationError);
    expect(() => parseMirrorState(saved)).toThrow("another version");
  });
});

describe("a service that counts two records that it never lists", () => {
  it.each([
    ["the first full pass lacks them", { count: 98, lacking: 2, shortage: 2, unlisted: 0 }, -2],
    [
      "a second one that lacks them too shows that they are not listed",
      { count: 98, lacking: 2, shortage: 2, unlisted: 2 },
      0,
    ],
    ["a record that is removed later is in excess", { count: 98, lacking: 1, shortage: 2, unlisted: 2 }, 1],
  ])("%s", (_, { count, lacking, ...pass }, surplus) => {
    const lastPass = { endedAt: 0, durationMs: 0, ...pass };
    expect(surplusOf({ count, lacking, lastPass, increments: {} })).toBe(surplus);
  });
});
