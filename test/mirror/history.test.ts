import { readFileSync } from "node:fs";
import { Client } from "pg";
import { ConfigurationError, InputValidationError } from "stocklot";
import {
  createMirror,
  type MirrorChange,
  type MirrorEvent,
  type MirrorKey,
  type MirrorOptions,
  type MirrorRecord,
  type MirrorSink,
  openCopy,
} from "stocklot/mirror";
import { afterEach, describe, expect, it, vi } from "vitest";
import { mapResources } from "../../src/mirror/tables.js";
import { findSqliteDriver } from "../../src/storage/sqlite/driver.js";
import { MemorySink } from "../support/memory-sink.js";
import { runs } from "../support/runs.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";
import { useCopies } from "./support/copies.js";

const DAY_MS = 86_400_000;
const { files, postgres, schema, sinks: SINKS } = await useCopies("history");
afterEach(() => vi.useRealTimers());

function setUp(lots = 30): ChangingService {
  const service = new ChangingService(seededRandom(5));
  for (let left = 5; left > 0; left -= 1) service.addItem();
  for (let left = lots; left > 0; left -= 1) service.addLot();
  return service;
}

/** Some changes of each kind. */
function change(service: ChangingService): void {
  service.advance(3_600_000);
  for (let left = 5; left > 0; left -= 1) service.changeLot();
  service.addLot();
  service.removeLot();
  service.changeItem({ netWeight: 2 });
}

/** Only the date: timers run. */
const setDate = (time: number) => vi.useFakeTimers({ toFake: ["Date"], now: time });

async function changesIn(sink: MirrorSink, filter = {}): Promise<MirrorChange[]> {
  await using copy = await openCopy(sink);
  const changes: MirrorChange[] = [];
  for await (const row of copy.changes(filter)) changes.push(row);
  return changes;
}

const history = { days: 30 };

describe.each(Object.keys(SINKS))("the history of a copy in %s", (name) => {
  const sinkOf = SINKS[name] ?? expect.fail();
  const run = (service: ChangingService, options: Partial<MirrorOptions> = {}) =>
    createMirror({ client: service.client(), sink: sinkOf(), ...options }).run({ full: true });

  it("has a row for each change of a record, and none of a first full pass", async () => {
    const service = setUp();
    await run(service, { history });
    expect(await changesIn(sinkOf())).toEqual([]);
    const before = service.records("lots");
    change(service);
    await run(service, { history });
    const rows = await changesIn(sinkOf());
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
    const lots = rows.filter(({ resource }) => resource === "lots");
    expect(new Set(lots.map(({ type }) => type))).toEqual(new Set(["added", "changed", "removed"]));
    const after = service.records("lots");
    for (const { type, key, before: was, after: is } of lots) {
      const record = { was: before.get(key), is: after.get(key) };
      if (type === "changed") {
        expect(Object.keys(was ?? {})).toEqual(Object.keys(is ?? {}));
        expect(record.was).toMatchObject(was ?? {});
        expect(record.is).toMatchObject(is ?? {});
      } else expect({ was, is }).toEqual({ was: record.was ?? null, is: record.is ?? null });
    }
    const item = rows.find(({ resource }) => resource === "items");
    expect(item).toMatchObject({ type: "changed", after: { netWeight: 2 } });
    expect(item?.before).not.toHaveProperty("netWeight");
    expect(Date.parse(item?.at ?? "")).toBeGreaterThan(0);
  });

  it("is read from a row on, by resource, and by key", async () => {
    const service = setUp();
    await run(service, { history, warehouses: [1, 2] });
    change(service);
    await run(service, { warehouses: [1, 2] });
    const rows = await changesIn(sinkOf());
    expect(await changesIn(sinkOf(), { after: 3 })).toEqual(rows.slice(3));
    expect(await changesIn(sinkOf(), { after: rows.length })).toEqual([]);
    const levels = rows.filter(({ resource }) => resource === "warehouseStockLevels");
    expect(levels.length).toBeGreaterThan(0);
    expect(await changesIn(sinkOf(), { resource: "warehouseStockLevels" })).toEqual(levels);
    const { key, resource } = levels[0] ?? expect.fail();
    expect(key).toMatch(/^[12]\/\d+$/);
    const ofKey = levels.filter((row) => row.key === key);
    expect(await changesIn(sinkOf(), { key, resource, after: 0 })).toEqual(ofKey);
    await expect(changesIn(sinkOf(), { after: rows.length + 1 })).rejects.toThrow(InputValidationError);
    await expect(changesIn(sinkOf(), { since: 1 })).rejects.toThrow(InputValidationError);
  });

  it("belongs to the copy: every mirror writes rows, until history: false", async () => {
    const service = setUp();
    await run(service);
    await expect(changesIn(sinkOf())).rejects.toThrow(ConfigurationError);
    await run(service, { history });
    change(service);
    await run(service);
    const rows = await changesIn(sinkOf());
    expect(rows).not.toEqual([]);
    await run(service, { history: false });
    await expect(changesIn(sinkOf())).rejects.toThrow("the copy has no history");
    change(service);
    await run(service);
    await run(service, { history: { days: 7 } });
    expect(await changesIn(sinkOf())).toEqual([]);
    // What was not recorded meanwhile is noticed.
    await expect(changesIn(sinkOf(), { after: rows.length })).rejects.toThrow("have expired");
    change(service);
    await run(service);
    expect((await changesIn(sinkOf()))[0]?.seq).toBe(rows.length + 2);
  });

  it("has the same changes as the records, whatever happened: undone, they are the records as they were", async () => {
    const service = setUp();
    await run(service, { history });
    const start = new Map(service.records("lots"));
    for (let round = 0; round < 5; round += 1) {
      change(service);
      await run(service);
    }
    const lots = new Map<MirrorKey, object>(service.records("lots"));
    for (const { key, before } of (await changesIn(sinkOf(), { resource: "lots" })).reverse()) {
      if (before === null) lots.delete(key);
      else lots.set(key, { ...lots.get(key), ...before });
    }
    expect(lots).toEqual(start);
  });

  it("loses the rows that are too old at the end of a run, and says so to whom it concerns", async () => {
    const service = setUp();
    const start = Date.now();
    await run(service, { history });
    const first = { ...(await statusOf()) };
    expect(first?.from).toBeGreaterThanOrEqual(start);
    change(service);
    await run(service);
    const rows = await changesIn(sinkOf());
    setDate(start + 20 * DAY_MS);
    change(service);
    await run(service);
    expect((await statusOf())?.from).toBe(first?.from);
    const all = await changesIn(sinkOf());
    expect(all.slice(0, rows.length)).toEqual(rows);
    setDate(start + 40 * DAY_MS);
    await run(service);
    expect(await changesIn(sinkOf())).toEqual(all.slice(rows.length));
    expect(await changesIn(sinkOf(), { after: rows.length })).toEqual(all.slice(rows.length));
    await expect(changesIn(sinkOf(), { after: rows.length - 1 })).rejects.toThrow("have expired");
    expect((await statusOf())?.from).toBe(Date.now() - 30 * DAY_MS);
    setDate(start + 60 * DAY_MS);
    await run(service);
    expect(await changesIn(sinkOf())).toEqual([]);
    await expect(changesIn(sinkOf(), { after: rows.length })).rejects.toThrow("have expired");
    expect(await changesIn(sinkOf(), { after: all.length })).toEqual([]);
    change(service);
    await run(service);
    expect((await changesIn(sinkOf()))[0]?.seq).toBe(all.length + 1);

    async function statusOf() {
      await using copy = await openCopy(sinkOf());
      return (await copy.status()).history;
    }
  });

  it("does not record the first full pass of a warehouse that is added later, but its removal", async () => {
    const service = setUp();
    await run(service, { history, warehouses: [1] });
    const { from } = (await createMirror({ client: service.client(), sink: sinkOf() }).status()).history ?? {};
    await run(service, { warehouses: [1, 2] });
    expect(await changesIn(sinkOf())).toEqual([]);
    const { from: later } = (await createMirror({ client: service.client(), sink: sinkOf() }).status()).history ?? {};
    expect(later).toBeGreaterThanOrEqual(from ?? Infinity);
    await run(service, { warehouses: [1] });
    const rows = await changesIn(sinkOf());
    expect(rows.map(({ type, key }) => [type, key])).toEqual(
      [...service.warehouseLevels(2).keys()].sort(byPartNo).map((key) => ["removed", key]),
    );
  });

  it("records what another account sees otherwise", async () => {
    const service = setUp();
    await run(service, { history });
    service.hideLots(({ wID }) => wID === 1);
    const client = service.client({ clientId: "another" });
    const mirror = createMirror({ client, sink: sinkOf(), resources: ["lots"], maxRemovedShare: 1 });
    await mirror.run({ acceptAccount: true });
    const rows = await changesIn(sinkOf(), { resource: "lots" });
    expect(rows.every(({ type, before }) => type === "removed" && before?.wID === 1)).toBe(true);
    expect(rows.length).toBeGreaterThan(0);
  });

  it("delivers each row to the listener, in order, whoever has written it", async () => {
    const service = setUp();
    const received: MirrorEvent[] = [];
    const onEvent = (event: MirrorEvent) => void received.push(event);
    await run(service, { history, onEvent });
    expect(received).toEqual([]);
    change(service);
    await run(service, { onEvent });
    const early = received.length;
    change(service);
    await run(service);
    change(service);
    // Those that were added, too.
    for (let left = 200; left > 0; left -= 1) service.changeLot();
    await run(service, { resources: ["lots"] });
    expect(received).toHaveLength(early);
    await run(service, { onEvent });
    const rows = await changesIn(sinkOf());
    expect(received.map(({ type, resource, key }) => ({ type, resource, key }))).toEqual(
      rows.map(({ type, resource, key }) => ({ type, resource, key })),
    );
    expect(received.every(({ record }) => record !== undefined)).toBe(true);
    const added = rows.flatMap(({ type, after }) => (type === "added" ? [after] : []));
    expect(added.length).toBeGreaterThan(0);
    expect(received.flatMap(({ type, record }) => (type === "added" ? [record] : []))).toEqual(added);
    const changed = received.find(({ type }) => type === "changed");
    if (changed?.type !== "changed") expect.fail();
    const row = rows[received.indexOf(changed)];
    expect(Object.fromEntries(changed.changes.map(({ field, before }) => [field, before]))).toEqual(row?.before);
    await run(service, { onEvent });
    expect(received).toHaveLength(rows.length);
  });

  it("delivers rows again after the listener failed, and reports a gap if they expired before", async () => {
    const service = setUp();
    const start = Date.now();
    await run(service, { history });
    change(service);
    let left = 2;
    const failing = () => {
      left -= 1;
      if (left < 0) throw new Error("the listener failed");
    };
    await expect(run(service, { onEvent: failing })).rejects.toThrow("the listener failed");
    const rest: unknown[] = [];
    const onEvent = ({ type, key }: MirrorEvent) => void rest.push({ type, key });
    await run(service, { onEvent });
    const rows = await changesIn(sinkOf());
    expect(rest).toEqual(rows.slice(2).map(({ type, key }) => ({ type, key })));
    rest.length = 0;
    change(service);
    await run(service);
    setDate(start + 20 * DAY_MS);
    change(service);
    await run(service);
    setDate(start + 40 * DAY_MS);
    await run(service);
    await run(service, { onEvent });
    const kept = (await changesIn(sinkOf())).map(({ type, key }) => ({ type, key }));
    expect(rest).toEqual([{ type: "gap", key: undefined }, ...kept]);
    setDate(start + 41 * DAY_MS);
    change(service);
    await run(service);
    setDate(start + 90 * DAY_MS);
    await run(service);
    rest.length = 0;
    await run(service, { onEvent });
    await run(service, { onEvent });
    expect(rest).toEqual([{ type: "gap", key: undefined }]);
  });

  it("is not written twice if a commit is refused", async () => {
    const service = setUp();
    await run(service, { history });
    const [one, other] = [sinkOf(), sinkOf()];
    const previousState = await one.open();
    await other.open();
    const row: MirrorChange = {
      ...{ seq: 1, at: new Date().toISOString(), resource: "lots", key: 1, type: "added" },
      ...{ before: null, after: { recNo: 1, text: "a\0b", zero: -0 } },
    };
    const batch = { resource: "lots", upsert: [], remove: [], changes: [row] } as const;
    const state = previousState?.replace('"seq":0', '"seq":1') ?? "";
    await one.commit({ ...batch, previousState, state });
    await expect(other.commit({ ...batch, previousState, state: "{}" })).rejects.toThrow("another mirror");
    await one.close();
    await other.close();
    expect(await changesIn(sinkOf())).toEqual([row]);
  });
});

describe("the queries of examples/history.sql", () => {
  const statements = readFileSync(new URL("../../examples/history.sql", import.meta.url), "utf8").split(/;\n/);
  const [stockAt = "", changedSince = "", stoodInSqlite = "", stoodInPostgres = "", ...others] = statements;

  const queries: Record<string, (sql: string) => Promise<Record<string, unknown>[]>> = {
    SQLite: async (sql) => {
      const { DatabaseSync } = await findSqliteDriver();
      const database = new DatabaseSync(files.path);
      const rows = database.prepare(sql).all();
      database.close();
      return rows;
    },
    PostgreSQL: async (sql) => {
      const client = new Client({ connectionString: postgres?.url ?? "", options: `-c search_path=${schema}` });
      await client.connect();
      const { rows } = await client.query(sql);
      await client.end();
      return rows;
    },
  };

  it.each(Object.keys(SINKS))("are right in %s", async (name) => {
    const sinkOf = SINKS[name] ?? expect.fail();
    const query = queries[name] ?? expect.fail();
    expect(others).toEqual([""]);
    const service = new ChangingService(seededRandom(2), { startsAt: Date.parse("2026-01-20T00:00:00Z") });
    service.addItem();
    service.changeItem({ shortID: "BOLT-M8" });
    service.addLot();
    service.addLot();
    const run = (at: string) => {
      setDate(Date.parse(at));
      return createMirror({ client: service.client(), sink: sinkOf(), history }).run({ full: true });
    };
    await run("2026-01-25T00:00:00Z");
    service.advance(3 * DAY_MS);
    service.changeLot();
    await run("2026-01-28T00:00:00Z");
    const [level] = service.records("stockLevels").values();
    expect(Number((await query(stockAt))[0]?.inStock)).toBe(level?.inStock);
    service.advance(5 * DAY_MS);
    service.removeLot();
    await run("2026-02-02T00:00:00Z");
    expect(service.records("stockLevels").get(1)?.inStock).not.toBe(level?.inStock);
    expect(Number((await query(stockAt))[0]?.inStock)).toBe(level?.inStock);
    service.removeLot();
    await run("2026-02-03T00:00:00Z");
    expect(service.records("stockLevels").size).toBe(0);
    expect(Number((await query(stockAt))[0]?.inStock)).toBe(level?.inStock);
    // At a time when there was none any more.
    expect(Number((await query(stockAt.replace("2026-01-31", "2026-02-10")))[0]?.inStock)).toBe(0);
    const changes = await changesIn(sinkOf(), { after: 3 });
    expect((await query(changedSince)).map(({ seq }) => Number(seq))).toEqual(changes.map(({ seq }) => seq));
    const stood = await query(name === "SQLite" ? stoodInSqlite : stoodInPostgres);
    expect(stood.map(({ days }) => Math.round(Number(days) * 100) / 100)).toEqual([13, 14]);
    expect(stood.map(({ recNo }) => Number(recNo)).sort()).toEqual([1, 2]);
  });
});

const byPartNo = (a: MirrorKey, b: MirrorKey) => Number(String(a).split("/")[1]) - Number(String(b).split("/")[1]);

it("a sink without changes() supports no history", () => {
  const sink = new MemorySink();
  const plain: MirrorSink = {
    open: () => sink.open(),
    keys: (resource) => sink.keys(resource),
    read: (resource, keys) => sink.read(resource, keys),
    commit: (batch) => sink.commit(batch),
    close: () => sink.close(),
  };
  const client = setUp().client();
  expect(() => createMirror({ client, sink: plain, history })).toThrow("history: the sink does not support it");
  createMirror({ client, sink: plain, history: false });
});

it.each([
  true,
  {},
  { days: 0 },
  { days: "9" },
  { days: Infinity },
  { days: 1, day: 2 },
])("history: %j is refused", (wrong) => {
  const options = { client: setUp().client(), sink: new MemorySink(), history: wrong };
  expect(() => Reflect.apply(createMirror, undefined, [options])).toThrow("history: must be false, or { days }");
});

it("in random schedules with kills, a follower of the events is equal to the copy, and rows are neither lost nor renumbered", async () => {
  for (let seed = 1; seed <= runs(150); seed += 1) {
    const random = seededRandom(seed);
    const service = new ChangingService(random, { maxPageSize: 20 });
    for (let left = 8; left > 0; left -= 1) service.addItem();
    for (let left = 60; left > 0; left -= 1) service.addLot();
    const sink = new MemorySink();
    await createMirror({ client: service.client(), sink, history }).run();
    const followed = mapResources((resource) => sink.all(resource));
    let lastSeq = 0;
    const onEvent = ({ type, resource, key, record }: MirrorEvent) => {
      if (type === "gap") expect.fail("a gap");
      if (random(40) === 0) throw new Error("killed");
      if (type === "removed") followed[resource].delete(key);
      else followed[resource].set(key, record);
    };
    for (let round = 0; round < 8; round += 1) {
      change(service);
      sink.beforeCommit = ({ changes = [] }) => {
        if (random(12) === 0) throw new Error("killed");
        for (const { seq } of changes) expect(seq).toBeGreaterThan(lastSeq);
      };
      const listener = random(3) === 0 ? {} : { onEvent };
      const options = { full: random(2) === 0, allowRemovals: true };
      await createMirror({ client: service.client(), sink, ...listener })
        .run(options)
        .catch(ignoreKill);
      lastSeq = sink.rows.at(-1)?.seq ?? 0;
    }
    sink.beforeCommit = () => {};
    for (let ended = false; !ended; ) {
      const mirror = createMirror({ client: service.client(), sink, onEvent });
      ended = await mirror.run({ full: true, allowRemovals: true }).then(() => true, ignoreKill);
    }
    for (const resource of ["items", "lots", "stockLevels"] as const) {
      expect(followed[resource], `seed ${seed}`).toEqual(new Map<MirrorKey, MirrorRecord>(sink.all(resource)));
    }
    expect(sink.rows.map(({ seq }) => seq)).toEqual(sink.rows.map((_, index) => index + 1));
  }
});

function ignoreKill(error: Error): false {
  expect(error.message).toBe("killed");
  return false;
}
