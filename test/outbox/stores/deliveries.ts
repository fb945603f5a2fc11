import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DeliveryOutbox } from "../../../src/outbox/delivery-outbox.js";
import type { DeliveryStore, NewLine, OutboxBatch } from "../../../src/outbox/delivery-store.js";
import type { EntryChange } from "../../../src/outbox/store.js";
import { newEntry } from "./support/new-entry.js";

/** What a store must do that also records deliveries. `newStore` creates one on a new, empty place. */
export function describeDeliveries(newStore: () => DeliveryStore): void {
  describe("as a store of deliveries", () => {
    let store: DeliveryStore;

    beforeEach(async () => {
      store = newStore();
      await store.open();
    });

    afterEach(() => store.close());

    const change = async (key: string, changes: EntryChange) => {
      const entry = (await store.get(key)) ?? expect.fail();
      const result = await store.update(key, { state: entry.state, attempts: entry.attempts }, changes);
      expect(result?.changed).toBe(true);
    };
    const newLine = (key: string): NewLine => ({ ...newEntry(key, "x"), delivery: "day-1" });

    const day = { name: "day-1", file: "day.csv", digest: "d1", lines: 2, begunAt: 1 };
    const dayLines = ["a", "b"].map((key) => newLine(key));

    it("records a delivery once, and none beside an incomplete one of the same file or digest", async () => {
      expect(await store.deliveries({ name: "day-1" })).toEqual([]);
      expect(await store.commit({ add: dayLines, delivery: day })).toMatchObject({ deliveries: [], changed: [] });
      expect(await store.deliveries({ name: "day-1" })).toEqual([{ ...day, entries: { pending: 2 } }]);
      expect(await store.commit({ add: dayLines, delivery: day })).toMatchObject({ deliveries: [{ name: "day-1" }] });
      await store.add([newEntry("c")]);
      await change("a", { state: "applied", settledAt: 1 });
      const incomplete = { deliveries: [{ ...day, entries: { applied: 1, pending: 1 } }], changed: [], entries: [] };
      const sameFile = { ...day, name: "day-2", digest: "d2", begunAt: 2 };
      const sameDigest = { ...day, name: "copy", file: "copy.csv" };
      const other = { ...day, name: "other", file: "other.csv", digest: "d3" };
      expect(await store.commit({ add: [], delivery: sameFile })).toEqual(incomplete);
      expect(await store.commit({ add: [newEntry("d")], delivery: sameDigest })).toEqual(incomplete);
      expect(await store.get("d")).toBeUndefined();
      expect(await store.commit({ add: [], delivery: other })).toMatchObject({ deliveries: [] });
      await change("b", { state: "canceled", settledAt: 1 });
      expect(await store.commit({ add: [], delivery: sameFile })).toMatchObject({ deliveries: [] });
      expect(await store.deliveries({ name: "day-1" })).toEqual([{ ...day, entries: { applied: 1, canceled: 1 } }]);
      expect((await store.deliveries()).map(({ name }) => name)).toEqual(["day-1", "other", "day-2"]);
    });

    it("reports through an outbox what prevents a delivery with lines", async () => {
      const outbox = new DeliveryOutbox({ store });
      await outbox.commit({ add: dayLines, delivery: day });
      const next = { add: [newLine("c")], delivery: { ...day, name: "day-2", digest: "d2" } };
      expect(await outbox.commit(next)).toMatchObject({ deliveries: [{ name: "day-1" }], entries: [] });
    });

    it("cancels entries, adds others and replaces their delivery, all of it or nothing", async () => {
      await store.commit({ add: dayLines, delivery: day });
      const corrected = { ...day, digest: "d2", lines: 3, begunAt: 9 };
      const asRead = { key: "b", state: "pending", attempts: 0 } as const;
      const add = [newLine("e")];
      const prevented: [OutboxBatch, object][] = [
        [{ add, cancel: [asRead], delivery: corrected }, { deliveries: [{ digest: "d1" }] }],
        [{ add, cancel: [asRead], delivery: corrected, correctsDigest: "d0" }, { deliveries: [{ digest: "d1" }] }],
        [{ add, cancel: [{ ...asRead, attempts: 1 }] }, { changed: [{ key: "b", attempts: 0 }] }],
        [{ add, cancel: [asRead, { ...asRead, key: "a", state: "rejected" }] }, { changed: [{ key: "a" }] }],
        [
          {
            add: [...add, newEntry("a", "x", { inputHash: "?" })],
            cancel: [asRead],
            delivery: corrected,
            correctsDigest: "d1",
          },
          { deliveries: [], changed: [], entries: [{ key: "a", inputHash: "hash of a" }] },
        ],
      ];
      for (const [batch, result] of prevented) {
        expect(await store.commit(batch)).toMatchObject(result);
        expect(await store.deliveries({ name: "day-1" })).toEqual([{ ...day, entries: { pending: 2 } }]);
        expect(await store.get("e")).toBeUndefined();
      }
      const batch = { add, cancel: [asRead], delivery: corrected, correctsDigest: "d1" };
      expect(await store.commit(batch)).toEqual({ deliveries: [], changed: [], entries: [await store.get("e")] });
      expect(await store.get("b")).toMatchObject({ state: "canceled", settledAt: expect.any(Number) });
      // It still began when it was imported first.
      const [recorded] = await store.deliveries({ name: "day-1" });
      expect(recorded).toEqual({ ...corrected, begunAt: 1, entries: { pending: 2, canceled: 1 } });
    });

    it("adds more entries in one batch than one command can", async () => {
      const add = Array.from({ length: 1_201 }, (_, index) => newEntry(`many ${index}`, `lane ${index}`));
      const { entries } = await store.commit({ add });
      expect(entries.map(({ key }) => key)).toEqual(add.map(({ key }) => key));
      const other = [
        ...add.slice(1).map((entry) => ({ ...entry, key: `${entry.key}!` })),
        newEntry("many 0", "other", { inputHash: "?" }),
      ];
      await store.commit({ add: other });
      expect(await store.count([])).toMatchObject({ pending: 1_201 });
    });

    it("lists the entries of a delivery, pruned ones too", async () => {
      await store.commit({ add: [...dayLines, newEntry("c", "x")], delivery: day });
      await change("a", { state: "applied", settledAt: 1 });
      await store.prune({ settledBefore: 2 });
      const list = async (filter: object) =>
        (await store.list({ delivery: "day-1", after: 0, limit: 9, ...filter })).map(({ key, input }) => [key, !input]);
      expect(await list({})).toEqual([
        ["a", true],
        ["b", false],
      ]);
      expect(await list({ state: "pending", lane: "x" })).toEqual([["b", false]]);
      expect(await list({ lane: "y" })).toEqual([]);
    });
  });
}
