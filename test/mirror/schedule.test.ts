import { describe, expect, it } from "vitest";
import type { Checkpoint } from "../../src/index.js";
import type { ListState } from "../../src/mirror/copy/state.js";
import { incrementStart } from "../../src/mirror/sync/modified-dates.js";
import { modifiedSinceSupportAfterCheck, shouldVerifyModifiedSince } from "../../src/mirror/sync/modified-since.js";
import {
  type CopyProgress,
  copyProgressOf,
  isFullPassDue,
  mayRepairByFullPass,
  watermarkOf,
} from "../../src/mirror/sync/schedule.js";

const MINUTE_MS = 60_000;
const complete = { count: 9, watermark: 5_000, modifiedSince: "honoured", lastFullPassAt: 1_000 } as const;
const checkpoint: Checkpoint = {
  version: 1,
  list: "/Inventory",
  end: 250,
  keys: [],
  totalCount: 900,
  pageSize: 250,
  done: false,
};
const options = { full: false, fullPassEveryMs: 10_000, overlapMs: 400 };

describe("the schedule of a resource", () => {
  it.each<[CopyProgress, ListState]>([
    ["new", { count: 0, watermark: undefined }],
    ["interrupted", { count: 250, watermark: 5, checkpoint }],
    ["complete", complete],
  ])("knows a copy that is %s", (progress, state) => {
    expect(copyProgressOf(state)).toBe(progress);
  });

  it.each([
    ["honoured", {}, {}, 5_000],
    ["ignored", { modifiedSince: "ignored" }, {}, undefined],
    ["doubted", { modifiedSince: "doubted" }, {}, undefined],
    ["not known", { modifiedSince: undefined }, {}, undefined],
    ["honoured, without a Date header", { watermark: undefined }, {}, undefined],
    ["honoured, but everything is to be read", {}, { full: true }, undefined],
  ] as const)("has the watermark for an increment if modifiedSince is %s", (_, state, wanted, watermark) => {
    const scheduled = { ...complete, ...state };
    expect(watermarkOf(scheduled, { ...options, ...wanted })).toBe(watermark);
    expect(isFullPassDue(scheduled, { ...options, ...wanted }, 1_001)).toBe(watermark === undefined);
  });

  it("reads everything when the interval has passed, and increments from a little earlier", () => {
    expect(isFullPassDue(complete, options, 10_999)).toBe(false);
    expect(isFullPassDue(complete, options, 11_000)).toBe(true);
    expect(isFullPassDue(complete, { ...options, fullPassEveryMs: Infinity }, 1e15)).toBe(false);
    expect(incrementStart(5_000, complete, { overlapMs: 400, modifiedLagMs: 0 })).toEqual(new Date(4_600));
  });

  it.each([
    [59_999, 1, true],
    [MINUTE_MS, 9 * MINUTE_MS, false],
    [MINUTE_MS, 10 * MINUTE_MS, true],
    [undefined, 0, true],
  ])("allows a full pass out of turn after one of %s ms that ended %d ms ago: %s", (lastFullPassMs, ago, allowed) => {
    expect(mayRepairByFullPass({ ...complete, lastFullPassMs }, complete.lastFullPassAt + ago)).toBe(allowed);
  });

  it.each([
    ["honoured", true, "honoured"],
    ["honoured", false, "doubted"],
    ["doubted", false, "incomplete"],
    ["doubted", true, "honoured"],
    ["incomplete", true, "honoured"],
    ["incomplete", false, "incomplete"],
  ] as const)("takes %s and a check that found all changes: %s, to %s", (before, listsAllChanges, after) => {
    expect(modifiedSinceSupportAfterCheck(before, listsAllChanges)).toBe(after);
  });

  it.each([
    ["honoured", false, true],
    ["doubted", false, true],
    ["incomplete", false, false],
    ["incomplete", true, true],
    ["ignored", true, false],
    [undefined, true, false],
  ] as const)("checks increments of a list that is %s, again %s: %s", (support, again, checks) => {
    expect(shouldVerifyModifiedSince(support, again)).toBe(checks);
  });
});
