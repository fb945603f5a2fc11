import { expect, it } from "vitest";
import type { EntryCallEnd } from "../../src/outbox/call.js";
import type { StoredEntry } from "../../src/outbox/entry.js";
import type { LookUpResult } from "../../src/outbox/find-outcome.js";
import { afterCall, afterLookUp } from "../../src/outbox/transitions.js";

const entry = (state: StoredEntry["state"], operation: StoredEntry["operation"] = "receive"): StoredEntry => ({
  ...{
    sequence: 1,
    key: "a",
    operation,
    lane: "bolt",
    input: "{}",
    inputHash: "",
    boundTo: null,
    addedAt: 0,
    attempts: 1,
  },
  ...{ state, sentAt: 0, clockAheadMs: 0, lastRecNo: null, settledAt: null, resolvedAt: null, resolvedFrom: null },
  ...{ result: null, error: null },
});

type Call = [before: "pending" | "sending", outcome: EntryCallEnd["outcome"], now: StoredEntry["state"]];

/** Each row: a call of an entry, the stored state ("same": nothing is stored), whether an error is stored, the next step. */
it.each<[...Call, state: string, hasError: boolean, next: string]>([
  ["pending", "applied", "sending", "applied", false, "nothing"],
  ["sending", "applied", "sending", "applied", false, "nothing"],
  ["pending", "refused", "sending", "rejected", true, "nothing"],
  ["sending", "refused", "sending", "sending", true, "look-up"],
  ["pending", "uncertain", "sending", "sending", true, "settle"],
  ["sending", "uncertain", "sending", "sending", true, "settle"],
  ["pending", "failed", "sending", "pending", true, "set-aside"],
  ["pending", "failed", "pending", "same", false, "set-aside"],
  ["sending", "failed", "sending", "sending", true, "set-aside"],
  ["pending", "fails-for-all", "sending", "pending", true, "set-aside"],
  ["sending", "fails-for-all", "sending", "sending", true, "set-aside"],
  ["pending", "interrupted", "sending", "pending", false, "read-again"],
  ["pending", "interrupted", "pending", "same", false, "read-again"],
  ["sending", "interrupted", "sending", "same", false, "read-again"],
])("an entry that was %s, whose call ended as %s while it was %s, is then %s (error: %s); next: %s", (...row) => {
  const [before, outcome, now, state, hasError, next] = row;
  const error = outcome === "applied" ? undefined : new Error("why");
  const after = afterCall(before, { outcome, entry: entry(now), result: { recNo: 1 }, error });
  expect(after.next).toBe(next);
  expect(after.change ? (after.change.state ?? now) : "same").toBe(state);
  expect(after.change?.error ?? "").toEqual(hasError ? expect.stringContaining("why") : "");
});

const FOUND = {
  applied: { outcome: "applied", result: { recNo: 1 } },
  absent: { outcome: "absent", reason: "no lot" },
  unclear: { outcome: "unclear", reason: "two lots", lots: [1, 2] },
  unreadable: { outcome: "unreadable", reason: "403" },
} as const satisfies Record<string, LookUpResult>;

/** Each row: an entry, and its state after each result of a look-up. `undefined`: the entry is sent again without a change. */
it.each<[operation: StoredEntry["operation"], wasRefused: boolean, Record<keyof typeof FOUND, string | undefined>]>([
  ["receive", false, { applied: "applied", absent: "pending", unclear: "unknown", unreadable: "unknown" }],
  ["create", false, { applied: "applied", absent: undefined, unclear: undefined, unreadable: "unknown" }],
  ["receive", true, { applied: "applied", absent: "unknown", unclear: "unknown", unreadable: "unknown" }],
  ["create", true, { applied: "applied", absent: "unknown", unclear: "unknown", unreadable: "unknown" }],
  ["update", true, { applied: "applied", absent: "unknown", unclear: "unknown", unreadable: "unknown" }],
])("a %s (refused: %s) is after a look-up: %j", (operation, wasRefused, states) => {
  const after = Object.entries(FOUND).map(([name, found]) => {
    return [name, afterLookUp(entry("sending", operation), found, wasRefused)?.state];
  });
  expect(Object.fromEntries(after)).toEqual(states);
});
