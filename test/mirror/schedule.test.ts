import { describe, expect, it } from "vitest";
import type { ListState } from "../../src/mirror/copy/state.js";
import {
  incrementStart,
  lagAfterIncrement,
  modifiedSinceSupportAfterCheck,
  shouldVerifyModifiedSince,
  sinceOf,
} from "../../src/mirror/sync/increment.js";
import { isFullPassDue, wasLastPassShortOrLongAgo } from "../../src/mirror/sync/list-sync.js";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const lastPass = { endedAt: 1_000, durationMs: 0, shortage: 0, unlisted: 0 };
const increments = { support: "honoured", since: 5_000 } as const;
const complete: ListState = { count: 9, increments, lastPass };
const options = { full: false, fullPassEveryMs: 10_000, overlapMs: 400 };

describe("the schedule of a resource", () => {
  it.each<[string, boolean, ListState]>([
    ["new", true, { count: 0, increments: {} }],
    ["being filled", true, { count: 250, increments: {} }],
    ["complete", false, complete],
  ])("of a copy that is %s has a full pass that is due: %s", (_, isDue, state) => {
    expect(isFullPassDue(state, options, 1_001)).toBe(isDue);
  });

  it.each([
    ["honoured", {}, {}, 5_000],
    ["ignored", { support: "ignored" }, {}, undefined],
    ["doubted", { support: "doubted" }, {}, undefined],
    ["not known", { support: undefined }, {}, undefined],
    ["honoured, without a Date header", { since: undefined }, {}, undefined],
    ["honoured, but everything is to be read", {}, { full: true }, undefined],
  ] as const)("has increments if modifiedSince is %s", (_, known, wanted, since) => {
    const scheduled = { ...complete, increments: { ...increments, ...known } };
    if (!("full" in wanted)) expect(sinceOf(scheduled)).toBe(since);
    expect(isFullPassDue(scheduled, { ...options, ...wanted }, 1_001)).toBe(since === undefined);
  });

  it("reads everything when the interval has passed, and increments from a little earlier", () => {
    expect(isFullPassDue(complete, options, 10_999)).toBe(false);
    expect(isFullPassDue(complete, options, 11_000)).toBe(true);
    expect(isFullPassDue(complete, { ...options, fullPassEveryMs: Infinity }, 1e15)).toBe(false);
    // The clock was set back.
    expect(isFullPassDue(complete, options, 900)).toBe(true);
    expect(isFullPassDue(complete, { ...options, fullPassEveryMs: Infinity }, 900)).toBe(false);
    expect(wasLastPassShortOrLongAgo({ lastPass: { ...lastPass, durationMs: 3_600_000 } }, 900)).toBe(true);
    expect(incrementStart(5_000, increments, { overlapMs: 400, modifiedLagMs: 0 })).toEqual(new Date(4_600));
  });

  it.each([
    ["the newest change has a date of that time", 1, 0],
    ["the newest change is in the overlap", -400, 0],
    ["the newest change is older: until the increment began", -401, 30 * MINUTE_MS + 401],
    ["it is older by days: a day at most", -9 * DAY_MS, DAY_MS],
  ])("concludes how far dates of changes are behind the service's clock if %s", (_, afterSince, lagMs) => {
    expect(lagAfterIncrement(DAY_MS + afterSince, DAY_MS, DAY_MS + 30 * MINUTE_MS, 400)).toBe(lagMs);
  });

  it.each([
    [59_999, 1, true],
    [MINUTE_MS, 9 * MINUTE_MS, false],
    [MINUTE_MS, 10 * MINUTE_MS, true],
    [0, 0, true],
  ])("allows a full pass out of turn after one of %s ms that ended %d ms ago: %s", (durationMs, ago, allowed) => {
    expect(wasLastPassShortOrLongAgo({ lastPass: { ...lastPass, durationMs } }, lastPass.endedAt + ago)).toBe(allowed);
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
