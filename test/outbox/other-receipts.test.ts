import { describe, expect, it } from "vitest";
import { markOf } from "../../src/outbox/marks.js";
import { otherReceipts } from "../../src/outbox/run/find-outcome.js";
import type { StoredEntry } from "../../src/outbox/store.js";
import { emptyData, memoryStore } from "../../src/outbox/stores/memory-store.js";
import { newEntry } from "./stores/support/new-entry.js";

const SERIAL = { serial: "S-1" };

/** A store with these entries of one item, in this order; the search is for what the entry "own" was sent with. */
async function othersOf(entries: Record<string, Partial<StoredEntry>>) {
  const data = emptyData();
  const store = memoryStore(data);
  const all: Record<string, Partial<StoredEntry>> = { own: { state: "sending" }, ...entries };
  await store.add(Object.entries(all).map(([key, { operation = "receive" }]) => newEntry(key, "bolt", { operation })));
  for (const [key, stored] of Object.entries(all)) {
    const body = JSON.stringify({ remark: markOf("store", key), ...SERIAL });
    Object.assign(data.entries.get(key) ?? {}, { input: body, body, ...stored });
  }
  const own = await store.get("own");
  if (!own) throw new Error("the entry was not added");
  return otherReceipts({ store, storeId: "store" }, own, {
    itemID: "BOLT",
    units: 1,
    wid: 3,
    ...SERIAL,
  });
}

const applied = { state: "applied" } as const;

describe("what an outbox knows about the other receipts of an item", () => {
  it("is their marks and lots, without its own", async () => {
    const sent = { sentAt: 1_000, clockAheadMs: 200 };
    expect(await othersOf({ other: { ...applied, ...sent, result: '{"recNo":7}' } })).toEqual({
      recNos: new Map([[7, 1_200]]),
      marks: [markOf("store", "other")],
      withSameSerial: false,
    });
  });

  it("is that one whose lot is not known has the same serial", async () => {
    expect(await othersOf({ other: applied })).toMatchObject({ withSameSerial: true });
    expect(await othersOf({ other: { state: "rejected" } })).toMatchObject({ withSameSerial: false });
  });

  it("does not include other transactions", async () => {
    const none = { recNos: new Map(), marks: [], withSameSerial: false };
    expect(await othersOf({ issue: { ...applied, operation: "issue" } })).toEqual(none);
  });

  it("is complete, however many entries the item has", async () => {
    const entries = Array.from({ length: 1_100 }, (_, index) => [`k${index}`, { state: "pending" }] as const);
    const { marks, withSameSerial } = await othersOf({ ...Object.fromEntries(entries), last: applied });
    expect(marks).toHaveLength(1_101);
    expect(withSameSerial).toBe(true);
  });
});
