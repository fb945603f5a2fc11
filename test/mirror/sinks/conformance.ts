import assert from "node:assert/strict";
import fc from "fast-check";
import { ConfigurationError } from "stocklot";
import { afterEach, describe, expect, it } from "vitest";
import type { MirrorBatch, MirrorSink } from "../../../src/mirror/sink.js";
import {
  keyOf,
  type MirrorKey,
  type MirrorRecord,
  type MirrorResource,
  RESOURCES,
  tableOf,
} from "../../../src/mirror/tables.js";
import { runs } from "../../support/runs.js";
import { batch, recordsAfter } from "./support/history.js";
import { killCommitter } from "./support/kill.js";
import { anyRecord, asRead, lot } from "./support/records.js";
import { type SinkSpec, sinkAt } from "./support/sink-spec.js";

/** Processes that are killed for each sink. */
const KILLS = runs(32);

/** What every sink must do. `newCopy` returns a place where there is no copy yet. */
export function describeSink(name: string, newCopy: () => SinkSpec): void {
  const opened: MirrorSink[] = [];
  const sinkOn = (spec: SinkSpec) => {
    const sink = sinkAt(spec);
    opened.push(sink);
    return sink;
  };
  const openSink = async (spec = newCopy()) => {
    const sink = sinkOn(spec);
    await sink.open();
    return sink;
  };

  afterEach(async () => {
    for (const sink of opened.splice(0)) await sink.close();
  });

  describe(name, () => {
    it("is empty at first, without a state", async () => {
      const sink = sinkOn(newCopy());
      expect(await sink.open()).toBeUndefined();
      for (const resource of RESOURCES) {
        expect(await allKeys(sink, resource)).toEqual([]);
        expect(await sink.read(resource, [1, 2, 3])).toEqual([]);
        expect(await sink.read(resource, [])).toEqual([]);
      }
    });

    it("returns records unchanged, whatever they contain", async () => {
      const spec = newCopy();
      const sink = await openSink(spec);
      let state: string | undefined;
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...RESOURCES),
          fc
            .uniqueArray(fc.oneof(fc.maxSafeInteger(), fc.nat(20)), { minLength: 1, maxLength: 8 })
            .chain((keys) =>
              fc.tuple(...RESOURCES.map((resource) => fc.tuple(...keys.map((key) => anyRecord(resource, key || 0))))),
            ),
          async (resource, records) => {
            const upsert: MirrorRecord[] = deepFreeze(records[RESOURCES.indexOf(resource)] ?? []);
            const next = `${Number(state ?? 0) + 1}`;
            await sink.commit({ resource, upsert, remove: [], previousState: state, state: next });
            state = next;
            await expectRecords(sink, resource, upsert);
          },
        ),
        { numRuns: runs(200) },
      );
      // Also after the sink was closed.
      const before = await everything(sink);
      await sink.close();
      assert.deepStrictEqual(await everything(await openSink(spec)), before);
    });

    it("returns records unchanged that are nested 500 levels deep", async () => {
      const sink = await openSink();
      const nested = Array.from({ length: 499 }).reduce<unknown>(
        (value, _, level) => (level % 2 ? [value] : { value }),
        [],
      );
      const records = [lot(1, { nested }), lot(2, { nested, remark: "\0" })];
      await commit(sink, { upsert: records });
      await expectRecords(sink, "lots", records);
    });

    it("replaces records by key, removes others, and ignores unknown keys", async () => {
      const sink = await openSink();
      await commit(sink, { upsert: [lot(1, { note: "gone" }), lot(2), lot(3)] });
      await commit(sink, { upsert: [lot(1, { units: 7 }), lot(4)], remove: [2, 99], previousState: "1", state: "2" });
      expect(await allKeys(sink, "lots")).toEqual([1, 3, 4]);
      await expectRecords(sink, "lots", [lot(1, { units: 7 }), lot(3), lot(4)]);
      expect(await sink.read("lots", [2, 99])).toEqual([]);
    });

    it("keeps records of two resources with the same key apart", async () => {
      const sink = await openSink();
      const level = { partNo: 1, available: 1, inStock: 2, onOrder: 3, onHold: 0, committed: 1, packed: 0, aSN: 9 };
      const item = asRead("items", { ...level, inStock: 3 });
      await sink.commit({ resource: "items", upsert: [item], remove: [], previousState: undefined, state: "1" });
      await sink.commit({ resource: "stockLevels", upsert: [level], remove: [], previousState: "1", state: "2" });
      await sink.commit({ resource: "items", upsert: [], remove: [1], previousState: "2", state: "3" });
      await expectRecords(sink, "stockLevels", [level]);
      expect(await allKeys(sink, "items")).toEqual([]);
    });

    it("identifies stock levels of warehouses by both IDs", async () => {
      const sink = await openSink();
      const level = { partNo: 1, available: 1, inStock: 2, onOrder: 3, onHold: 0, committed: 1, packed: 0, aSN: 9 };
      const levels = [
        { ...level, wID: 1 },
        { ...level, wID: 2, inStock: 5 },
        { ...level, wID: 2, partNo: -7, note: "cold" },
        { ...level, wID: 12, partNo: Number.MAX_SAFE_INTEGER },
      ];
      const resource = "warehouseStockLevels";
      await sink.commit({ resource, upsert: levels, remove: [], previousState: undefined, state: "1" });
      expect(await allKeys(sink, resource)).toEqual(["1/1", "12/9007199254740991", "2/-7", "2/1"]);
      await expectRecords(sink, resource, levels);
      const changed = { ...level, wID: 2, inStock: 6 };
      await sink.commit({ resource, upsert: [changed], remove: ["1/1", "9/9"], previousState: "1", state: "2" });
      expect(await allKeys(sink, resource)).toEqual(["12/9007199254740991", "2/-7", "2/1"]);
      expect(await sink.read(resource, ["1/1", "2/1"])).toEqual([asRead(resource, changed)]);
    });

    it("has keys up to the largest whole numbers that are exact", async () => {
      const sink = await openSink();
      const keys = [Number.MIN_SAFE_INTEGER, -1, 0, 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER];
      await commit(sink, { upsert: keys.map((key) => lot(key)) });
      expect(await allKeys(sink, "lots")).toEqual(keys);
      await expectRecords(
        sink,
        "lots",
        keys.map((key) => lot(key)),
      );
      await commit(sink, { remove: keys, previousState: "1", state: "2" });
      expect(await allKeys(sink, "lots")).toEqual([]);
    });

    it("writes, returns and removes tens of thousands of records at once", async () => {
      const sink = await openSink();
      const records = Array.from({ length: 25_000 }, (_, index) => lot(index * 3));
      await commit(sink, { upsert: records });
      let batches = 0;
      const keys: MirrorKey[] = [];
      for await (const some of sink.keys("lots")) {
        expect(some.length).toBeGreaterThan(0);
        keys.push(...some);
        batches += 1;
      }
      expect(batches).toBeGreaterThan(1);
      expect(keys.sort((a, b) => Number(a) - Number(b))).toEqual(records.map((_, index) => index * 3));
      await expectRecords(sink, "lots", records);
      await commit(sink, { remove: keys.slice(1), previousState: "1", state: "2" });
      expect(await allKeys(sink, "lots")).toEqual([0]);
    });

    it("saves a state without records, and any text as a state", async () => {
      const spec = newCopy();
      const sink = await openSink(spec);
      const states = ["", "'; --", JSON.stringify({ text: "\0 \ud800 \u{1f4e6} ü", long: "x".repeat(1_000_000) }), "2"];
      let previousState: string | undefined;
      for (const state of states) {
        await commit(sink, { previousState, state });
        expect(await sinkOn(spec).open()).toBe(state);
        previousState = state;
      }
    });

    it("writes nothing of a batch that fails", async () => {
      const spec = newCopy();
      const sink = await openSink(spec);
      await commit(sink, { upsert: [lot(1), lot(2)] });
      const broken = Object.defineProperty(lot(3), "units", { enumerable: true, get: () => assert.fail("broken") });
      const failing = { upsert: [lot(1, { units: 0 }), broken], remove: [2], previousState: "1", state: "2" };
      await expect(commit(sink, failing)).rejects.toThrow("broken");
      for (const reader of [sink, sinkOn(spec)]) {
        expect(await reader.open()).toBe("1");
        expect(await allKeys(reader, "lots")).toEqual([1, 2]);
        await expectRecords(reader, "lots", [lot(1), lot(2)]);
      }
      await commit(sink, { ...failing, upsert: [lot(3)] });
      expect(await allKeys(sink, "lots")).toEqual([1, 3]);
    });

    it.each([
      undefined,
      "0",
      "",
      "11",
    ])("refuses a batch that follows the state %j when another was saved", async (previousState) => {
      const sink = await openSink();
      await commit(sink, { upsert: [lot(1)] });
      const refused = commit(sink, { upsert: [lot(2)], remove: [1], previousState, state: "2" });
      await expect(refused).rejects.toThrow(ConfigurationError);
      await expect(refused).rejects.toThrow("another mirror");
      expect(await sink.open()).toBe("1");
      expect(await allKeys(sink, "lots")).toEqual([1]);
    });

    it("refuses a batch that follows a state if none was saved", async () => {
      const sink = await openSink();
      const refused = commit(sink, { upsert: [lot(2)], previousState: "1", state: "2" });
      await expect(refused).rejects.toThrow("another mirror");
      expect(await sink.open()).toBeUndefined();
      expect(await allKeys(sink, "lots")).toEqual([]);
    });

    it("lets one of two mirrors write, and refuses the other", async () => {
      const spec = newCopy();
      const [one, other] = [await openSink(spec), await openSink(spec)];
      await commit(one, { upsert: [lot(1)] });
      await expect(commit(other, { upsert: [lot(2)] })).rejects.toThrow("another mirror");
      // A mirror that opens the copy again continues from there.
      expect(await other.open()).toBe("1");
      await expectRecords(other, "lots", [lot(1)]);
      await commit(other, { upsert: [lot(2)], previousState: "1", state: "2" });
      await expect(commit(one, { upsert: [lot(3)], previousState: "1", state: "2" })).rejects.toThrow("another mirror");
      expect(await sinkOn(spec).open()).toBe("2");
      expect(await allKeys(other, "lots")).toEqual([1, 2]);
    });

    it("accepts only one of two batches that come at once", async () => {
      const spec = newCopy();
      const sinks = [await openSink(spec), await openSink(spec)];
      for (let round = 0; round < 10; round += 1) {
        const previousState = await sinks[0]?.open();
        await sinks[1]?.open();
        const state = String(round);
        const results = await Promise.allSettled(
          sinks.map((sink, index) => commit(sink, { upsert: [lot(round * 2 + index)], previousState, state })),
        );
        expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      }
      expect(await allKeys(await openSink(spec), "lots")).toHaveLength(10);
    });

    it("continues after it was closed, and may be opened and closed twice", async () => {
      const spec = newCopy();
      const sink = sinkOn(spec);
      await sink.close();
      expect(await sink.open()).toBeUndefined();
      await commit(sink, { upsert: [lot(1)] });
      expect(await sink.open()).toBe("1");
      await sink.close();
      await sink.close();
      expect(await sink.open()).toBe("1");
      await expectRecords(sink, "lots", [lot(1)]);
      await commit(sink, { upsert: [lot(2)], previousState: "1", state: "2" });
      expect(await sinkOn(spec).open()).toBe("2");
    });

    it("rejects calls before it is open", async () => {
      const sink = sinkOn(newCopy());
      await expect(sink.read("lots", [1])).rejects.toThrow("not open");
      await expect(commit(sink, {})).rejects.toThrow("not open");
      await expect(allKeys(sink, "lots")).rejects.toThrow("not open");
    });

    it("has state and records that agree, wherever a process was killed", { timeout: 240_000 }, async () => {
      const spec = newCopy();
      let last = 0;
      for (let kill = 0; kill < KILLS; kill += 1) {
        const committed = await killCommitter(kill % 4, spec);
        const sink = await openSink(spec);
        const { state, lots } = await settledCopy(sink);
        // Committed batches stay; one more may have been committed before the process could report it.
        expect([Math.max(committed, last), Math.max(committed, last) + 1]).toContain(state);
        const expected = [...recordsAfter(state).values()].map((record) => asRead("lots", record));
        assert.deepStrictEqual(byKey("lots", lots), byKey("lots", expected));
        // Also the next process finds it in order.
        if (kill % 4 === 0) await sink.commit(batch(state + 1));
        last = Number(await sink.open());
        await sink.close();
      }
      expect(last).toBeGreaterThan(KILLS);
    });
  });
}

/** Commits lots; the first state is `"1"`. */
const commit = (sink: MirrorSink, some: Partial<MirrorBatch>) =>
  sink.commit({ resource: "lots", upsert: [], remove: [], previousState: undefined, state: "1", ...some });

async function allKeys(sink: MirrorSink, resource: MirrorResource): Promise<MirrorKey[]> {
  const keys: MirrorKey[] = [];
  for await (const some of sink.keys(resource)) keys.push(...some);
  return keys.sort(byNumberOrName);
}

/** State and lots that belong together: a commit of a killed process may arrive at the database while they are read. */
async function settledCopy(sink: MirrorSink) {
  for (;;) {
    const state = await sink.open();
    const lots = await sink.read("lots", await allKeys(sink, "lots"));
    if ((await sink.open()) === state) return { state: Number(state ?? 0), lots };
  }
}

async function everything(sink: MirrorSink) {
  const copy = RESOURCES.map(async (resource) =>
    byKey(resource, await sink.read(resource, await allKeys(sink, resource))),
  );
  return Promise.all(copy);
}

/** Expects exactly these records. Node's own comparison distinguishes zeros, and sees fields of any name. */
async function expectRecords(sink: MirrorSink, resource: MirrorResource, records: readonly MirrorRecord[]) {
  const expected = byKey(
    resource,
    records.map((record) => asRead(resource, record)),
  );
  assert.deepStrictEqual(byKey(resource, await sink.read(resource, [...expected.keys()])), expected);
}

const byKey = (resource: MirrorResource, records: readonly MirrorRecord[]) =>
  new Map(
    records
      .map((record): [MirrorKey, MirrorRecord] => [keyOf(tableOf(resource), record), record])
      .sort(([one], [other]) => byNumberOrName(one, other)),
  );

const byNumberOrName = (one: MirrorKey, other: MirrorKey) =>
  typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
