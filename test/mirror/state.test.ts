import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/index.js";
import { formatMirrorState, parseMirrorState } from "../../src/mirror/copy/state.js";

const SAVED = JSON.stringify({
  version: 1,
  resources: {
    items: { count: 3, total: 3, lastFullPassAt: 5, lastFullPassMs: 1.5, modifiedSince: "honoured", watermark: 1_700 },
    lots: { count: 250, stale: true, checkpoint: { list: "/Inventory", end: 250, keys: [1, 2] }, watermark: 1_800 },
  },
  pendingEvents: {
    resource: "lots",
    events: [
      { type: "added", key: 1 },
      { type: "changed", key: 2, changes: [{ field: "units", before: 1, after: 2 }, { field: "new" }] },
      { type: "removed", key: 3, record: { recNo: 3 } },
    ],
  },
});

describe("a saved state", () => {
  it("is read in full", () => {
    const { lists, pendingEvents } = parseMirrorState(SAVED);
    expect(lists.get("items")).toMatchObject({ count: 3, watermark: 1_700, modifiedSince: "honoured" });
    expect(lists.get("lots")).toMatchObject({ count: 250, watermark: 1_800, stale: true });
    expect(lists.get("lots")?.checkpoint).toEqual({ list: "/Inventory", end: 250, keys: [1, 2] });
    expect(pendingEvents?.resource).toBe("lots");
    expect(pendingEvents?.events.map(({ type, key }) => `${type} ${key}`)).toEqual([
      "added 1",
      "changed 2",
      "removed 3",
    ]);
  });

  it("is written as it was read", () => {
    expect(JSON.parse(formatMirrorState(parseMirrorState(SAVED)))).toEqual(JSON.parse(SAVED));
    expect(JSON.parse(formatMirrorState(parseMirrorState(undefined)))).toEqual({ version: 1, resources: {} });
  });

  it.each([
    "",
    "{",
    "[]",
    '{"version":0}',
    '{"version":2,"resources":{}}',
    '{"version":1,"resources":{"lots":{}}}',
  ])("%j is refused", (saved) => {
    expect(() => parseMirrorState(saved)).toThrow(ConfigurationError);
    expect(() => parseMirrorState(saved)).toThrow("another version");
  });
});
