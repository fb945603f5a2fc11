import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, it, vi } from "vitest";
import {
  createMirror,
  type MirrorOptions,
  type MirrorSink,
  type MirrorStatus,
  postgresSink,
  sqliteSink,
} from "../../src/mirror/index.js";
import { findSqliteDriver } from "../../src/storage/sqlite/driver.js";
import { MemorySink } from "../support/memory-sink.js";
import { findPostgres } from "../support/postgres-server.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

const folder = mkdtempSync(join(tmpdir(), "stocklot-status-"));
const postgres = await findPostgres();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres?.close();
});

let copies = 0;
const SINKS: Record<string, () => () => MirrorSink> = {
  memory: () => {
    const sink = new MemorySink();
    return () => sink;
  },
  sqlite: () => {
    const path = join(folder, `${++copies}.db`);
    return () => sqliteSink({ path });
  },
  ...(postgres && {
    postgres: () => {
      const schema = `status_${process.pid}_${++copies}`;
      return () => postgresSink({ connectionString: postgres.url, schema });
    },
  }),
};

function newService() {
  const service = new ChangingService(seededRandom(9));
  for (let left = 30; left > 0; left -= 1) service.addItem();
  for (let left = 600; left > 0; left -= 1) service.addLot();
  service.advance(3_600_000);
  return service;
}

describe.each(Object.keys(SINKS))("the status of a copy in %s", (name) => {
  it("says during the first run that the copy is partial, and afterwards how recent it is", async () => {
    const sinkOf = (SINKS[name] ?? expect.fail())();
    const service = newService();
    const mirrorOf = (options: Partial<MirrorOptions> = {}) =>
      createMirror({ client: service.client(), sink: sinkOf(), warehouses: [1], ...options });
    // As from another process: it has a sink of its own.
    const reader = mirrorOf();
    expect(await reader.status()).toEqual({
      complete: false,
      lastRun: null,
      resources: expect.objectContaining({
        lots: { mirrored: true, records: 0, asOf: null, lagMs: null, awaitsFullPass: false, missing: null },
      }),
    });
    const seen: MirrorStatus[] = [];
    const onProgress = async () => void seen.push(await reader.status());
    const startedAt = Date.now();
    const requests = service.requests.length;
    await mirrorOf().run({ onProgress });
    expect(seen.every(({ complete }) => !complete)).toBe(true);
    expect(seen.some(({ resources }) => resources.lots?.records === 250)).toBe(true);
    const sent = service.requests.length - requests;
    const status = await reader.status();
    expect(service.requests.length - requests).toBe(sent);
    expect(status).toMatchObject({ complete: true, lastRun: { kind: "full" } });
    expect(status.lastRun?.error).toBeUndefined();
    expect(status.lastRun?.startedAt).toBeGreaterThanOrEqual(startedAt);
    expect(status.lastRun?.endedAt).toBeGreaterThanOrEqual(status.lastRun?.startedAt ?? Infinity);
    expect(Object.keys(status.resources)).toEqual(["items", "lots", "stockLevels", "warehouseStockLevels"]);
    expect(status.resources.lots).toMatchObject({ records: 600, awaitsFullPass: false, missing: 0 });
    expect(status.resources.lots?.asOf).toBeGreaterThanOrEqual(startedAt);
    expect(status.resources.lots?.lagMs).toBeLessThan(60_000);
  });

  it("names the error of the last run, and grows older until the next succeeds", async () => {
    const sinkOf = (SINKS[name] ?? expect.fail())();
    const service = newService();
    const mirror = createMirror({ client: service.client(), sink: sinkOf() });
    await mirror.run();
    const { asOf } = (await mirror.status()).resources.lots ?? expect.fail();
    service.beforePage = () => {
      throw new Error("the service is down");
    };
    await delay(20);
    await expect(mirror.run()).rejects.toThrow();
    const failed = await mirror.status();
    expect(failed.complete).toBe(true);
    expect(failed.lastRun?.error).toMatchObject({ name: expect.any(String), message: expect.stringContaining("down") });
    expect(failed.resources.lots?.asOf).toBe(asOf);
    expect(failed.resources.lots?.lagMs).toBeGreaterThanOrEqual(20);
    service.beforePage = () => {};
    await mirror.run();
    const after = await mirror.status();
    expect(after.lastRun).toMatchObject({ kind: "increment" });
    expect(after.lastRun).not.toHaveProperty("error");
    expect(after.resources.lots?.asOf).toBeGreaterThan(asOf ?? Infinity);
  });
});

it("the view mirror_status of SQLite shows the same to SQL", async () => {
  const path = join(folder, "view.db");
  const service = newService();
  const { DatabaseSync } = await findSqliteDriver();
  const mirror = createMirror({ client: service.client(), sink: sqliteSink({ path }) });
  const complete: unknown[] = [];
  await mirror.run({
    onProgress: () => {
      const database = new DatabaseSync(path);
      complete.push(database.prepare("SELECT min(complete) AS complete FROM mirror_status").all()[0]?.complete);
      database.close();
    },
  });
  expect(new Set(complete)).toEqual(new Set([0]));
  service.beforePage = () => {
    throw new Error("the service\0 is down");
  };
  await expect(mirror.run()).rejects.toThrow();
  const database = new DatabaseSync(path);
  const rows = database.prepare("SELECT * FROM mirror_status").all();
  expect(rows.map(({ resource, complete, records }) => [resource, complete, records])).toEqual([
    ["items", 1, 30],
    ["lots", 1, 600],
    ["stockLevels", 1, service.records("stockLevels").size],
  ]);
  expect(rows[0]?.lagMs).toBeLessThan(60_000);
  expect(rows[0]?.lastRunError).toContain("is down");
  expect(database.prepare("SELECT count(*) AS count FROM stock WHERE description LIKE 'Item%'").all()).toEqual([
    { count: service.records("stockLevels").size },
  ]);
  database.close();
});

it.each<[string, ConstructorParameters<typeof ChangingService>[1], number]>([
  ["one page", {}, 20],
  ["many pages", {}, 700],
  ["lists that are not sorted", { sorts: false }, 700],
  [
    "lists that ignore modifiedSince",
    { modifiedSince: { items: "ignored", lots: "ignored", stockLevels: "ignored" }, sorts: false },
    700,
  ],
])("asOf advances with each successful run: %s", async (_, behaviour, lots) => {
  const service = new ChangingService(seededRandom(11), behaviour);
  for (let left = 5; left > 0; left -= 1) service.addItem();
  for (let left = lots; left > 0; left -= 1) service.addLot();
  service.advance(3_600_000);
  const mirror = createMirror({ client: service.client(), sink: new MemorySink() });
  for (let run = 0; run < 3; run += 1) {
    const startedAt = Date.now();
    await mirror.run({ full: run === 2 });
    const { resources } = await mirror.status();
    for (const [resource, status] of Object.entries(resources))
      expect(status.asOf, `${resource} in run ${run}`).toBeGreaterThanOrEqual(startedAt);
    await delay(5);
  }
});

it("asOf is not in the future after the clock was set back, even if every run is a full pass", async () => {
  const service = newService();
  const mirror = createMirror({ client: service.client(), sink: new MemorySink(), resources: ["lots"] });
  const start = Date.now();
  vi.useFakeTimers({ toFake: ["Date"], now: start + 3_600_000 });
  try {
    await mirror.run({ full: true });
    vi.setSystemTime(start);
    await mirror.run({ full: true });
    expect((await mirror.status()).resources.lots?.asOf).toBeLessThanOrEqual(Date.now());
  } finally {
    vi.useRealTimers();
  }
});

describe("the asOf of a run that was cut off", () => {
  const isIncrement = (request: string) => request.includes("modifiedSince");

  it("is that of the run before if removals may be unknown", async () => {
    const service = newService();
    const sink = new MemorySink();
    const mirror = createMirror({ client: service.client(), sink });
    await mirror.run();
    const before = (await mirror.status()).resources;
    await delay(5);
    service.removeLot();
    service.changeLot();
    // The increments of all lists are in the copy, and no count.
    service.beforePage = (request) => {
      if (!isIncrement(request)) throw new Error("cut off");
    };
    await expect(mirror.run()).rejects.toThrow();
    const { lots } = (await createMirror({ client: service.client(), sink }).status()).resources;
    expect(lots).toMatchObject({ records: 600, awaitsFullPass: false, asOf: before.lots?.asOf });
    service.beforePage = () => {};
    await mirror.run();
    const after = (await mirror.status()).resources.lots;
    expect(after).toMatchObject({ records: 599, awaitsFullPass: false });
    expect(after?.asOf).toBeGreaterThan(before.lots?.asOf ?? Infinity);
  });
});

describe("what this mirror no longer reads", () => {
  it("keeps its row, which grows old", async () => {
    const service = newService();
    const sink = new MemorySink();
    const mirrorOf = (options: Partial<MirrorOptions>) => createMirror({ client: service.client(), sink, ...options });
    await mirrorOf({ warehouses: [1] }).run();
    const before = (await mirrorOf({ warehouses: [1] }).status()).resources.items?.asOf;
    await delay(5);
    const mirror = mirrorOf({ resources: ["lots"] });
    await mirror.run();
    const { resources } = await mirror.status();
    expect(resources.lots).toMatchObject({ mirrored: true });
    expect(resources.items).toMatchObject({ mirrored: false, asOf: before });
    expect(resources.items?.lagMs).toBeGreaterThan(resources.lots?.lagMs ?? Infinity);
    expect(resources.warehouseStockLevels).toMatchObject({ mirrored: false });
    expect(sink.statusRows().map(({ resource, mirrored }) => [resource, mirrored])).toEqual([
      ["items", false],
      ["lots", true],
      ["stockLevels", false],
      ["warehouseStockLevels", false],
    ]);
  });

  it("a warehouse that was taken out of the option is removed with its rows, also the last one", async () => {
    const service = newService();
    const sink = new MemorySink();
    const mirrorOf = (warehouses: number[]) => createMirror({ client: service.client(), sink, warehouses });
    await mirrorOf([1, 2]).run();
    const all = sink.all("warehouseStockLevels").size;
    const one = await mirrorOf([1]).run();
    const left = sink.all("warehouseStockLevels").size;
    expect(left).toBeGreaterThan(0);
    expect(one.resources.warehouseStockLevels).toMatchObject({ removed: all - left });
    const none = await mirrorOf([]).run();
    expect(none.resources.warehouseStockLevels).toMatchObject({ removed: left, inCopy: 0 });
    expect(sink.all("warehouseStockLevels").size).toBe(0);
    expect((await mirrorOf([]).status()).resources).not.toHaveProperty("warehouseStockLevels");
  });
});
