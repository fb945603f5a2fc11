import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EntryChange, NewEntry, OutboxState, OutboxStore, StoredEntry } from "../../../src/outbox/store.js";
import { runs } from "../../support/runs.js";
import { newEntry } from "./support/new-entry.js";

/** Creates stores on one new, empty place: each is like that of another process. */
export type OpenPlace = () => OutboxStore;

const LONG_MS = 60_000;

const asAdded = (entry: NewEntry, sequence: unknown = expect.any(Number)) => ({
  ...entry,
  sequence,
  state: "pending",
  attempts: 0,
  body: null,
  sentAt: null,
  clockAheadMs: null,
  settledAt: null,
  result: null,
  error: null,
});

/** What every store of an outbox must do. */
export function describeStore(name: string, newPlace: () => OpenPlace | Promise<OpenPlace>): void {
  describe(name, () => {
    let place: OpenPlace;
    let store: OutboxStore;
    const opened: OutboxStore[] = [];
    const openStore = async (on = place) => {
      const another = on();
      opened.push(another);
      await another.open();
      return another;
    };

    beforeEach(async () => {
      place = await newPlace();
      store = await openStore();
    });

    afterEach(async () => {
      for (const some of opened.splice(0)) await some.close();
    });

    const claim = (
      on: OutboxStore,
      owner: string,
      options: { leaseMs?: number; limit?: number; except?: string[] } = {},
    ) => on.claim({ owner, leaseMs: LONG_MS, limit: 10, except: [], ...options });
    const itemsOf = (claimed: readonly { lane: string }[]) => claimed.map(({ lane }) => lane);
    const change = async (key: string, changes: EntryChange, on = store) => {
      const entry = (await on.get(key)) ?? expect.fail();
      const result = await on.update(key, { state: entry.state, attempts: entry.attempts }, changes);
      expect(result?.changed).toBe(true);
    };

    it("has an id of its own, which stays", async () => {
      const id = await store.open();
      expect(id.length).toBeGreaterThan(8);
      expect(await (await openStore()).open()).toBe(id);
      await store.close();
      expect(await store.open()).toBe(id);
      const other = await openStore(await newPlace());
      expect(await other.open()).not.toBe(id);
    });

    it("is created once when several processes open it at the same moment", async () => {
      const fresh = await newPlace();
      const stores = Array.from({ length: 6 }, fresh);
      opened.push(...stores);
      const ids = await Promise.all(stores.map((some) => some.open()));
      expect(new Set(ids).size).toBe(1);
    });

    it("keeps its entries when it is closed, and may be closed twice", async () => {
      await store.add([newEntry("a")]);
      await store.close();
      await store.close();
      await store.open();
      expect(await store.get("a")).toEqual(asAdded(newEntry("a")));
    });

    it("rejects calls before it is open", async () => {
      const closed = place();
      await closed.open();
      await closed.close();
      // A store may also open itself.
      await closed.get("a").catch((error: unknown) => expect(String(error)).toContain("not open"));
      await closed.close();
    });

    it("stores entries as pending, in the order added", async () => {
      const added = [newEntry("b"), newEntry("a", "nut"), newEntry("c")];
      const stored = await store.add(added);
      expect(stored).toEqual(added.map((entry) => asAdded(entry)));
      const [one = 0, two = 0, three = 0] = stored.map(({ sequence }) => sequence);
      expect(one).toBeGreaterThan(0);
      expect([two > one, three > two]).toEqual([true, true]);
      const [later] = await store.add([newEntry("0")]);
      expect(later?.sequence).toBeGreaterThan(three);
      expect(await (await openStore()).list({ after: 0, limit: 10 })).toEqual([...stored, later]);
      expect(await store.add([])).toEqual([]);
    });

    it("leaves an entry as it is that is added again", async () => {
      await store.add([newEntry("a"), newEntry("b")]);
      await change("a", { state: "applied", settledAt: 5, result: "{}" });
      const again = await store.add([
        newEntry("c"),
        newEntry("a", "bolt-m8", { addedAt: 9, input: '{"same":"otherwise"}' }),
      ]);
      expect(again).toMatchObject([
        { key: "c", state: "pending" },
        { key: "a", state: "applied", addedAt: 1_700_000_000_000 },
      ]);
      expect(await store.get("a")).toMatchObject({ state: "applied", input: newEntry("a").input });
      expect(await store.count([])).toMatchObject({ applied: 1, pending: 2 });
    });

    it("adds nothing if one of the keys exists with another input", async () => {
      await store.add([newEntry("a")]);
      const returned = await store.add([newEntry("b"), newEntry("a", "nut", { inputHash: "another" }), newEntry("c")]);
      expect(returned.filter(({ key }) => key === "a")).toEqual([asAdded(newEntry("a"))]);
      expect(await store.get("b")).toBeUndefined();
      expect(await store.count([])).toMatchObject({ pending: 1 });
    });

    it("adds each key once when two processes add it at the same moment", async () => {
      const other = await openStore();
      for (let round = 0; round < 20; round += 1) {
        const keys = Array.from({ length: 5 }, (_, index) => `${round}-${index}`);
        const results = await Promise.all([
          store.add(keys.map((key) => newEntry(key))),
          other.add(keys.map((key) => newEntry(key))),
        ]);
        expect(results[0]).toEqual(results[1]);
      }
      expect(await store.count([])).toMatchObject({ pending: 100 });
    });

    it("adds the same keys in another order at the same moment", { timeout: 60_000 }, async () => {
      const keys = Array.from({ length: 300 }, (_, index) => newEntry(`key-${index}`));
      const stores = [store, await openStore(), await openStore()];
      await Promise.all(stores.map((some, index) => some.add(index === 1 ? [...keys].reverse() : keys)));
      expect(await store.count([])).toMatchObject({ pending: 300 });
    });

    it("adds one of two inputs of a key when two processes add it at the same moment", async () => {
      const other = await openStore();
      for (let round = 0; round < 20; round += 1) {
        const input = (inputHash: string) => [
          newEntry(`mine-${inputHash}-${round}`),
          newEntry(`both-${round}`, "nut", { inputHash }),
        ];
        await Promise.all([store.add(input("one")), other.add(input("two"))]);
        const { inputHash } = (await store.get(`both-${round}`)) ?? expect.fail();
        const loser = inputHash === "one" ? "two" : "one";
        expect(await store.get(`mine-${inputHash}-${round}`)).toBeDefined();
        expect(await store.get(`mine-${loser}-${round}`)).toBeUndefined();
      }
    });

    it("adds 5 000 entries at once, in a time that grows as they do", async () => {
      const entries = (name: string, length: number) =>
        Array.from({ length }, (_, index) => newEntry(`${name}-${index}`, `lane-${index % 700}`));
      const timeOf = async (work: () => Promise<unknown>) => {
        const start = performance.now();
        await work();
        return performance.now() - start;
      };
      const added = entries("key", 5_000);
      let stored: StoredEntry[] = [];
      const atOnce = await timeOf(async () => {
        stored = await store.add(added);
      });
      const inParts = await timeOf(async () => {
        for (let part = 0; part < 20; part += 1) await store.add(entries(`part-${part}`, 250));
      });
      // As many entries. What compares each with each would take twenty times as long.
      expect(atOnce).toBeLessThan(7 * inParts);
      expect(stored.map(({ key }) => key)).toEqual(added.map(({ key }) => key));
      expect(stored.every(({ sequence }, index) => index === 0 || sequence > (stored[index - 1]?.sequence ?? 0))).toBe(
        true,
      );
      expect(await store.count([])).toMatchObject({ pending: 10_000 });
    });

    it("takes 1 000 calls at once", async () => {
      await Promise.all(
        Array.from({ length: 250 }, async (_, index) => {
          await store.add([newEntry(`key-${index}`, `lane-${index}`)]);
          await Promise.all([change(`key-${index}`, { attempts: 1 }), store.count([]), store.next(`lane-${index}`)]);
        }),
      );
      expect(await store.count([])).toMatchObject({ pending: 250 });
    });

    it("returns contents unchanged, whatever they are", async () => {
      const text = () => fc.string({ unit: "binary" }).filter((value) => value.isWellFormed() && !value.includes("\0"));
      const json = () => fc.json();
      const time = () => fc.oneof(fc.nat(2 ** 31), fc.double({ noNaN: true, min: 0, max: 4e12 }));
      let count = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            key: text(),
            lane: fc.oneof(text(), fc.constantFrom("a\0b", "\ud800", '"', "\\u0000", "\\", "ü\n")),
            input: json(),
            inputHash: text(),
            addedAt: time(),
          }),
          fc.record({
            body: fc.option(json()),
            result: fc.option(json()),
            error: fc.option(json()),
            sentAt: fc.option(time()),
            settledAt: fc.option(time()),
            clockAheadMs: fc.option(fc.oneof(fc.integer(), fc.double({ noNaN: true, min: -1e9, max: 1e9 }))),
          }),
          async (given, progress) => {
            count += 1;
            const entry = newEntry(`${count} ${given.key}`.slice(0, 200), given.lane, {
              ...given,
              key: `${count} ${given.key}`,
            });
            const [stored] = await store.add([entry]);
            expect(stored).toEqual(asAdded(entry));
            await change(entry.key, progress);
            // SQL has no negative zero.
            const asStored = { ...progress, clockAheadMs: progress.clockAheadMs && progress.clockAheadMs + 0 };
            const expected = { ...asAdded(entry), ...asStored };
            expect(plusZero(await store.get(entry.key))).toEqual(plusZero(expected));
            expect(await store.next(entry.lane)).toBeDefined();
            expect(await store.list({ lane: entry.lane, after: (stored?.sequence ?? 0) - 1, limit: 1 })).toHaveLength(
              1,
            );
          },
        ),
        { numRuns: runs(150) },
      );
    });

    it("lists entries by state and by item, batch after batch", async () => {
      await store.add([newEntry("a", "x"), newEntry("b", "y"), newEntry("c", "x"), newEntry("d", "x")]);
      await change("c", { state: "applied", settledAt: 1 });
      const keys = async (filter: { state?: OutboxState; lane?: string; after?: number; limit?: number }) =>
        (await store.list({ after: 0, limit: 10, ...filter })).map(({ key }) => key);
      expect(await keys({})).toEqual(["a", "b", "c", "d"]);
      expect(await keys({ state: "pending" })).toEqual(["a", "b", "d"]);
      expect(await keys({ lane: "x" })).toEqual(["a", "c", "d"]);
      expect(await keys({ lane: "x", state: "pending" })).toEqual(["a", "d"]);
      expect(await keys({ lane: "nothing" })).toEqual([]);
      expect(await keys({ limit: 2 })).toEqual(["a", "b"]);
      expect(await keys({ limit: 2, after: (await store.get("b"))?.sequence ?? 0 })).toEqual(["c", "d"]);
    });

    it("counts entries by state, and those that an unknown one holds back", async () => {
      const states = { pending: 0, sending: 0, applied: 0, rejected: 0, unknown: 0, canceled: 0, heldBack: 0 };
      const nothing = { ...states, oldestUnsettledAt: expect.toBeOneOf([null, expect.any(Number)]) };
      expect(await store.count([])).toEqual({ ...states, oldestUnsettledAt: null });
      await store.add(["a", "b", "c", "d", "e"].map((key) => newEntry(key, "x")));
      await store.add(["f", "g", "h", "i"].map((key) => newEntry(key, "y")));
      await change("a", { state: "applied", settledAt: 1 });
      await change("i", { state: "canceled", settledAt: 1 });
      await change("c", { state: "unknown" });
      await change("e", { state: "sending", attempts: 1 });
      await change("f", { state: "sending", attempts: 1 });
      await change("h", { state: "rejected", settledAt: 1 });
      // b comes before the unknown entry, and f is of another lane.
      const counts = { pending: 3, sending: 2, applied: 1, rejected: 1, unknown: 1, canceled: 1, heldBack: 2 };
      const oldestUnsettledAt = newEntry("b").addedAt;
      expect(await store.count([])).toEqual({ ...counts, oldestUnsettledAt });
      expect(await store.count(["x"])).toEqual({ ...nothing, pending: 1, sending: 1, rejected: 1, canceled: 1 });
      expect(await store.count(["x", "y", "z"])).toEqual(nothing);
    });

    it("belongs to the service that used it first, or to the name that takes the place of its address", async () => {
      const [address, other] = ["https://a.example/api/v1", "https://b.example/api/v1"];
      expect(await store.claimService({ id: address, address })).toBe(address);
      expect(await store.claimService({ id: other, address: other })).toBe(address);
      expect(await store.claimService({ id: "acme", address: other })).toBe(address);
      expect(await store.claimService({ id: "acme", address })).toBe("acme");
      expect(await store.claimService({ id: address, address })).toBe("acme");
      expect(await store.claimService({ id: "acme", address: other })).toBe("acme");
      const another = await openStore();
      expect(await another.claimService({ id: other, address: other })).toBe("acme");
    });

    it("claims items in the order in which their first entries were added", async () => {
      await store.add([newEntry("a", "x"), newEntry("b", "y"), newEntry("c", "x"), newEntry("d", "z")]);
      const claimed = await claim(store, "me", { limit: 2 });
      expect(claimed).toEqual([
        { lane: "x", entry: asAdded(newEntry("a", "x")), unleasedMs: undefined, quietMs: 0 },
        { lane: "y", entry: asAdded(newEntry("b", "y")), unleasedMs: undefined, quietMs: 0 },
      ]);
      expect(itemsOf(await claim(store, "me", { limit: 2 }))).toEqual(["z"]);
      expect(await claim(store, "me")).toEqual([]);
    });

    it("claims no item that has nothing to send, is excepted, or waits for an unknown entry", async () => {
      await store.add(["done", "blocked", "under way", "excepted", "free"].map((lane) => newEntry(lane, lane)));
      await store.add([newEntry("behind", "blocked"), newEntry("second", "done")]);
      await change("done", { state: "rejected", settledAt: 1 });
      await change("blocked", { state: "unknown" });
      await change("under way", { state: "sending", attempts: 1 });
      const claimed = await claim(store, "me", { except: ["excepted", "nothing"] });
      expect(claimed.map(({ entry }) => entry.key)).toEqual(["under way", "free", "second"]);
      await change("blocked", { state: "applied", settledAt: 1 });
      expect((await claim(store, "me", { except: ["excepted"] })).map(({ entry }) => entry.key)).toEqual(["behind"]);
    });

    it("gives an item to one owner at a time, until the lease ends or is released", async () => {
      const other = await openStore();
      await store.add([newEntry("a", "x"), newEntry("b", "y")]);
      expect(itemsOf(await claim(store, "one", { leaseMs: 300, limit: 1 }))).toEqual(["x"]);
      expect(itemsOf(await claim(other, "two"))).toEqual(["y"]);
      await store.release({ owner: "two", lane: "x" });
      await sleep(400);
      const [taken] = await claim(other, "two");
      expect(taken?.lane).toBe("x");
      expect(taken?.unleasedMs).toBeGreaterThanOrEqual(90);
      expect(taken?.unleasedMs).toBeLessThan(30_000);
      await other.release({ owner: "two", lane: "x" });
      const [again] = await claim(store, "one");
      expect(again?.lane).toBe("x");
      expect(again?.unleasedMs).toBeLessThan(10_000);
      expect(again?.unleasedMs).toBeGreaterThanOrEqual(0);
    });

    it("renews leases that have not ended, of their owner", async () => {
      await store.add([newEntry("a", "x"), newEntry("b", "y"), newEntry("c", "z")]);
      await claim(store, "one", { leaseMs: 2_000, limit: 2 });
      await claim(store, "two");
      expect(await store.renew({ owner: "one", leaseMs: LONG_MS, lanes: ["x", "z", "nothing"] })).toEqual(["x"]);
      expect(await store.renew({ owner: "one", leaseMs: LONG_MS, lanes: [] })).toEqual([]);
      await sleep(2_100);
      expect(await store.renew({ owner: "one", leaseMs: LONG_MS, lanes: ["y", "x"] })).toEqual(["x"]);
      expect(itemsOf(await claim(store, "two"))).toEqual(["y"]);
    });

    it("returns the next entry of an item", async () => {
      await store.add([newEntry("a"), newEntry("b"), newEntry("c"), newEntry("other", "nut")]);
      expect(await store.next("nothing")).toBeUndefined();
      await change("a", { state: "rejected", settledAt: 1 });
      expect((await store.next("bolt-m8"))?.key).toBe("b");
      await change("b", { state: "sending", attempts: 1 });
      expect((await store.next("bolt-m8"))?.key).toBe("b");
      await change("b", { state: "unknown" });
      expect(await store.next("bolt-m8")).toBeUndefined();
      await change("b", { state: "applied", settledAt: 1 });
      await change("c", { state: "applied", settledAt: 1 });
      expect(await store.next("bolt-m8")).toBeUndefined();
    });

    it("returns the entry whose attempt has begun before those that are pending, wherever it is", async () => {
      await store.add([newEntry("a"), newEntry("b"), newEntry("c"), newEntry("d")]);
      await change("c", { state: "sending", attempts: 1 });
      expect((await store.next("bolt-m8"))?.key).toBe("c");
      expect((await claim(store, "one")).map(({ entry }) => entry.key)).toEqual(["c"]);
      await change("b", { state: "unknown" });
      expect((await store.next("bolt-m8"))?.key).toBe("c");
      await change("a", { state: "canceled", settledAt: 1 });
      expect(await store.next("bolt-m8")).toBeUndefined();
    });

    it("changes an entry only if it is as expected", async () => {
      await store.add([newEntry("a"), newEntry("b", "nut")]);
      const entry = asAdded(newEntry("a"));
      const sending = { state: "sending", attempts: 1, body: "{}", sentAt: 5, clockAheadMs: -0.25 } as const;
      const expected = { ...entry, ...sending };
      expect(await store.update("nothing", { state: "pending", attempts: 0 }, sending)).toBeUndefined();
      for (const condition of [
        { state: "sending" as const, attempts: 0 },
        { state: "unknown" as const, attempts: 0 },
        { state: "pending" as const, attempts: 1 },
        { state: "pending" as const, attempts: 0, owner: "me" },
      ]) {
        expect(await store.update("a", condition, sending)).toEqual({ changed: false, entry });
      }
      const result = await store.update("a", { state: "pending", attempts: 0, owner: undefined }, sending);
      expect(result).toEqual({ changed: true, entry: expected });
      const empty = await store.update("a", { state: "sending", attempts: 1 }, {});
      expect(empty).toEqual({ changed: true, entry: expected });
      const cleared = await store.update("a", { state: "sending", attempts: 1 }, { body: null, error: '"x"' });
      expect(cleared).toEqual({ changed: true, entry: { ...expected, body: null, error: '"x"' } });
      expect(await store.get("b")).toEqual(asAdded(newEntry("b", "nut")));
    });

    it("changes an entry for the owner of its lease only, while that lasts", async () => {
      await store.add([newEntry("a")]);
      await claim(store, "one", { leaseMs: 1_000 });
      const update = (owner: string, attempts: number) =>
        store.update("a", { state: "pending", attempts, owner }, { attempts: attempts + 1 });
      expect(await update("two", 0)).toMatchObject({ changed: false });
      expect(await update("one", 0)).toMatchObject({ changed: true, entry: { attempts: 1 } });
      await sleep(1_100);
      expect(await update("one", 1)).toMatchObject({ changed: false, entry: { attempts: 1 } });
      await claim(store, "two");
      expect(await update("one", 1)).toMatchObject({ changed: false });
      expect(await update("two", 1)).toMatchObject({ changed: true });
    });

    it("remembers how long an item must be quiet, the longest time", async () => {
      await store.add([newEntry("a"), newEntry("b", "nut")]);
      await claim(store, "one", { limit: 1 });
      await change("a", { quietMs: 50_000 });
      await change("a", { quietMs: 10 });
      await change("b", { quietMs: 10 });
      await store.release({ owner: "one", lane: "bolt-m8" });
      await sleep(20);
      const [bolt, nut] = await claim(await openStore(), "two");
      expect(bolt).toMatchObject({ lane: "bolt-m8", entry: { state: "pending", attempts: 0 } });
      expect(bolt?.quietMs).toBeGreaterThan(20_000);
      expect(bolt?.quietMs).toBeLessThanOrEqual(50_000);
      expect(nut).toMatchObject({ lane: "nut", quietMs: 0 });
    });

    it("remembers whose the quiet time is, unless it is that of several entries", async () => {
      await store.add([newEntry("a"), newEntry("b"), newEntry("other", "nut")]);
      const claimAgain = async () => {
        const [bolt] = await claim(store, "one", { limit: 1 });
        await store.release({ owner: "one", lane: "bolt-m8" });
        return bolt;
      };
      expect((await claimAgain())?.quietKey).toBeUndefined();
      await change("b", { quietMs: 1 });
      await sleep(20);
      await change("a", { quietMs: LONG_MS });
      expect(await claimAgain()).toMatchObject({ entry: { key: "a" }, quietKey: "a" });
      await change("a", { quietMs: 2 * LONG_MS });
      expect((await claimAgain())?.quietKey).toBe("a");
      await change("b", { quietMs: 1 });
      expect((await claimAgain())?.quietKey).toBeUndefined();
      await change("a", { quietMs: LONG_MS });
      const both = await claimAgain();
      expect(both?.quietKey).toBeUndefined();
      expect(both?.quietMs).toBeGreaterThan(LONG_MS);
    });

    it("removes the contents of settled entries, but keeps their keys and hashes", async () => {
      await store.add(["old", "young", "rejected", "unknown", "pending"].map((key) => newEntry(key, key)));
      await change("old", { state: "applied", settledAt: 100, body: "{}", result: "{}", attempts: 2 });
      await change("young", { state: "applied", settledAt: 200, result: "{}" });
      await change("rejected", { state: "rejected", settledAt: 199, error: "{}" });
      await change("unknown", { state: "unknown", settledAt: 1 });
      expect(await store.prune({ settledBefore: 200 })).toBe(2);
      expect(await store.prune({ settledBefore: 200 })).toBe(0);
      expect(await store.get("old")).toEqual({
        ...asAdded(newEntry("old", "old")),
        state: "applied",
        attempts: 2,
        settledAt: 100,
        input: null,
      });
      expect((await store.list({ after: 0, limit: 10 })).map(({ key }) => key)).toEqual([
        "young",
        "unknown",
        "pending",
      ]);
      expect(await store.add([newEntry("old", "old")])).toMatchObject([{ state: "applied", input: null }]);
      expect(await store.count([])).toMatchObject({ applied: 2, rejected: 1 });
    });

    it("never gives an item to two of three stores that claim at once", async () => {
      const lanes = Array.from({ length: 60 }, (_, index) => `lane-${index}`);
      await store.add(lanes.flatMap((lane) => [newEntry(`${lane}-1`, lane), newEntry(`${lane}-2`, lane)]));
      const holders = new Map<string, string>();
      const finished = new Set<string>();
      const work = async (on: OutboxStore) => {
        const owner = randomUUID();
        while (finished.size < lanes.length) {
          const claimed = await claim(on, owner, { limit: 3 });
          expect(claimed.length).toBeLessThanOrEqual(3);
          for (const { lane, entry } of claimed) {
            expect(holders.get(lane)).toBeUndefined();
            holders.set(lane, owner);
            let next: StoredEntry | undefined = entry;
            while (next) {
              const condition = { state: "pending" as const, attempts: next.attempts, owner };
              expect(
                await on.update(next.key, condition, { state: "applied", attempts: 1, settledAt: 1 }),
              ).toMatchObject({
                changed: true,
              });
              next = await on.next(lane);
            }
            finished.add(lane);
            holders.delete(lane);
            await on.release({ owner, lane });
          }
        }
      };
      await Promise.all([work(store), work(await openStore()), work(await openStore())]);
      expect(await store.count([])).toMatchObject({ applied: 120, pending: 0 });
    });
  });
}

/** Zeros without a sign: SQL has no negative ones. */
const plusZero = (entry: object | undefined) =>
  entry && Object.fromEntries(Object.entries(entry).map(([name, value]) => [name, value === 0 ? 0 : value]));
