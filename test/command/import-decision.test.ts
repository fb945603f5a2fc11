import { describe, expect, it } from "vitest";
import { correctionOf, decide, REPLACED } from "../../src/command/import/delivery.js";
import type { NewDelivery, StoredDelivery } from "../../src/outbox/delivery-store.js";
import type { OutboxState, StoredEntry } from "../../src/outbox/index.js";
import { newEntry } from "../outbox/stores/support/new-entry.js";

describe("what an import does with a delivery", () => {
  const today: NewDelivery = { name: "day", file: "day.csv", digest: "today", lines: 2, begunAt: 2 };
  const stored = (state: OutboxState, changes: Partial<NewDelivery> = {}): StoredDelivery => ({
    ...today,
    begunAt: 1,
    entries: { applied: 1, [state]: 1 },
    ...changes,
  });
  const sameName = { digest: "yesterday" };
  const sameFile = { name: "other", digest: "yesterday" };
  const sameWrites = { name: "other", file: "other.csv" };

  it.each<[string, StoredDelivery[], boolean, object]>([
    ["nothing is recorded", [], false, { kind: "begin" }],
    ["nothing is recorded", [], true, { kind: "refused", because: "nothing-to-correct" }],
    ["another one is complete", [stored("canceled", sameFile)], false, { kind: "begin" }],
    ["another one is in the way: same file", [stored("pending", sameFile)], false, { because: "in-the-way" }],
    ["another one is in the way: same writes", [stored("unknown", sameWrites)], false, { because: "in-the-way" }],
    ["another one is in the way", [stored("sending", sameFile)], true, { because: "nothing-to-correct" }],
    ["these writes are incomplete", [stored("pending")], false, { kind: "continue" }],
    ["these writes are incomplete", [stored("unknown")], true, { kind: "continue" }],
    ["these writes are incomplete", [stored("sending"), stored("pending", sameFile)], false, { kind: "continue" }],
    ["these writes are complete", [stored("rejected")], false, { kind: "complete" }],
    ["these writes are complete", [stored("canceled"), stored("pending", sameFile)], true, { kind: "complete" }],
    ["other writes, complete", [stored("applied", sameName)], false, { because: "other-contents" }],
    ["other writes, incomplete", [stored("pending", sameName)], false, { because: "other-contents" }],
    ["other writes, complete", [stored("applied", sameName)], true, { kind: "correct" }],
    ["other writes, incomplete", [stored("pending", sameName)], true, { kind: "correct" }],
    [
      "other writes, another one in the way",
      [stored("applied", sameName), stored("pending", sameFile)],
      true,
      { because: "in-the-way", other: { name: "other" } },
    ],
  ])("%s", (_, related, corrects, expected) => {
    expect(decide(today, related, corrects)).toMatchObject(expected);
  });
});

describe("a corrected version", () => {
  let sequence = 0;
  const earlier = (key: string, contents: string, state: OutboxState, changes: Partial<StoredEntry> = {}) => ({
    ...newEntry(key, "x", { inputHash: contents }),
    sequence: ++sequence,
    state,
    attempts: 0,
    body: null,
    sentAt: null,
    clockAheadMs: null,
    settledAt: null,
    result: null,
    error: null,
    ...changes,
  });
  const lines = (...contents: string[]) =>
    contents.map((inputHash, index) => newEntry(`day:${index + 2}`, "x", { inputHash }));
  const keysOf = (correction: ReturnType<typeof correctionOf>) =>
    Object.fromEntries(
      Object.entries(correction).map(([name, entries]: [string, { key: string }[]]) => [
        name,
        entries.map(({ key }) => key),
      ]),
    );

  it.each<[string, StoredEntry[], string[], object]>([
    [
      "names what another import has replaced",
      [earlier("day:2", "a", "applied"), { ...earlier("day:3", "b", "canceled"), error: REPLACED }],
      ["a"],
      { takenElsewhere: ["day:3"], kept: ["day:2"] },
    ],
    [
      "of the same lines in another order changes nothing",
      [earlier("day:2", "a", "applied"), earlier("day:3", "b", "pending")],
      ["b", "a"],
      { kept: ["day:3", "day:2"] },
    ],
    [
      "adds lines, with keys that no earlier line has",
      [earlier("day:2", "a", "applied"), earlier("day:3", "b", "canceled")],
      ["a", "b", "c"],
      { kept: ["day:2"], added: ["day:3#2", "day:4"] },
    ],
    [
      "cancels what was not applied",
      [earlier("day:2", "a", "pending"), earlier("day:3", "b", "rejected")],
      ["c"],
      { toCancel: ["day:2", "day:3"], added: ["day:2#2"] },
    ],
    [
      "may not lack what was sent",
      [earlier("day:2", "a", "applied"), earlier("day:3", "b", "sending"), earlier("day:4", "c", "unknown")],
      [],
      { missingSent: ["day:2", "day:3", "day:4"] },
    ],
    [
      "may not lack an update that may have been applied",
      [earlier("day:2", "a", "pending", { operation: "update", sentAt: 1 })],
      ["b"],
      { missingSent: ["day:2"], added: ["day:2#2"] },
    ],
    [
      "contains each line as often as before",
      [earlier("day:2", "a", "applied"), earlier("day:3", "a", "applied")],
      ["a"],
      { kept: ["day:2"], missingSent: ["day:3"] },
    ],
    [
      "keeps what was sent, then what is pending, of equal lines",
      [earlier("day:2", "a", "rejected"), earlier("day:3", "a", "pending"), earlier("day:4", "a", "applied")],
      ["a", "a"],
      { kept: ["day:4", "day:3"], toCancel: ["day:2"] },
    ],
    [
      "keeps a rejected line that it contains",
      [earlier("day:2", "a", "rejected")],
      ["a", "a"],
      { kept: ["day:2"], added: ["day:3"] },
    ],
  ])("%s", (_, before, contents, expected) => {
    expect(keysOf(correctionOf(before, lines(...contents)))).toEqual({
      takenElsewhere: [],
      kept: [],
      missingSent: [],
      toCancel: [],
      added: [],
      ...expected,
    });
  });
});
