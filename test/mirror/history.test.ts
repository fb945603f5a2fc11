import { readFileSync } from "node:fs";
import { Client } from "pg";
import { ConfigurationError, InputValidationError } from "stocklot";
import { createMirror, type MirrorChange, type MirrorOptions, type MirrorSink, openCopy } from "stocklot/mirror";
import { afterEach, describe, expect, it, vi } from "vitest";
import { findSqliteDriver } from "../../src/storage/sqlite-driver.js";
import { seededRandom } from "../support/random.js";
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

/** Changes the service, with at least one change of each kind. */
function change(service: ChangingService): void {
  service.advance(3_600_000);
  for (let left = 5; left > 0; left -= 1) service.changeLot();
  service.addLot();
  service.removeLot();
  service.changeItem({ netWeight: 2 });
}

/** Sets the date. Timers keep running. */
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
    // A reader that continues from an earlier row notices that changes were not recorded.
    await expect(changesIn(sinkOf(), { after: rows.length })).rejects.toThrow("have expired");
    change(service);
    await run(service);
    expect((await changesIn(sinkOf()))[0]?.seq).toBe(rows.length + 2);
  });

  it("loses the rows that are too old at the end of a run, and says so to whom it concerns", async () => {
    const service = setUp();
    const start = Date.now();
    await run(service, { history });
    const first = await changesFrom();
    expect(first).toBeGreaterThanOrEqual(start);
    change(service);
    await run(service);
    const rows = await changesIn(sinkOf());
    setDate(start + 20 * DAY_MS);
    change(service);
    await run(service);
    expect(await changesFrom()).toBe(first);
    const all = await changesIn(sinkOf());
    expect(all.slice(0, rows.length)).toEqual(rows);
    setDate(start + 40 * DAY_MS);
    await run(service);
    expect(await changesIn(sinkOf())).toEqual(all.slice(rows.length));
    expect(await changesIn(sinkOf(), { after: rows.length })).toEqual(all.slice(rows.length));
    await expect(changesIn(sinkOf(), { after: rows.length - 1 })).rejects.toThrow("have expired");
    expect(await changesFrom()).toBe(Date.now() - 30 * DAY_MS);
    setDate(start + 60 * DAY_MS);
    await run(service);
    expect(await changesIn(sinkOf())).toEqual([]);
    await expect(changesIn(sinkOf(), { after: rows.length })).rejects.toThrow("have expired");
    expect(await changesIn(sinkOf(), { after: all.length })).toEqual([]);
    change(service);
    await run(service);
    expect((await changesIn(sinkOf()))[0]?.seq).toBe(all.length + 1);
  });

  /** The `changesFrom` of the lots. */
  async function changesFrom(): Promise<number | null | undefined> {
    await using copy = await openCopy(sinkOf());
    return (await copy.status()).find(({ list }) => list === "lots")?.changesFrom;
  }

  it("is never read with a gap: rows that expire while a slow reader holds a batch are an error", async () => {
    const service = setUp(1_300);
    const start = Date.now();
    await run(service, { history });
    service.advance(3_600_000);
    for (let left = 4_000; left > 0; left -= 1) service.changeLot();
    await run(service);
    const last = (await changesIn(sinkOf())).at(-1)?.seq ?? 0;
    expect(last).toBeGreaterThan(1_001);
    for (const isExpired of [false, true]) {
      await using copy = await openCopy(sinkOf());
      const seen: number[] = [];
      const reading = (async () => {
        for await (const { seq } of copy.changes()) {
          seen.push(seq);
          if (seq !== 700) continue;
          // After 31 days, unread rows expire too. After one day, no row does.
          setDate(start + (isExpired ? 31 : 1) * DAY_MS);
          await run(service);
        }
      })();
      if (isExpired) {
        await expect(reading).rejects.toThrow(ConfigurationError);
        await expect(reading).rejects.toThrow("have expired while they were read");
      } else await reading;
      expect(seen).toEqual(Array.from({ length: isExpired ? 1_000 : last }, (_, index) => index + 1));
    }
  });
});

describe("the queries of examples/copy-queries.sql", () => {
  const page = readFileSync(new URL("../../examples/copy-queries.sql", import.meta.url), "utf8");
  const statements = page
    .split(";\n")
    .flatMap((text) => (/^(SELECT|WITH)/m.test(text) ? text.replace(/^--.*\n/gm, "") : []));
  const [bin = "", onHold = "", stock = "", without = "", trusted = "", ...ofHistory] = statements;
  const [changedSince = "", stockAt = "", stoodInSqlite = "", stoodInPostgres = "", ...others] = ofHistory;

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
    expect(others).toEqual([]);
    const service = new ChangingService(seededRandom(2), { startsAt: Date.parse("2026-01-20T00:00:00Z") });
    service.addItem();
    service.changeItem({ shortID: "BOLT-M8" });
    service.addLot();
    service.addLot();
    const run = (at: string) => {
      setDate(Date.parse(at));
      return createMirror({ client: service.client(), sink: sinkOf(), history }).run({
        full: true,
        allowRemovals: true,
      });
    };
    await run("2026-01-25T00:00:00Z");
    service.advance(3 * DAY_MS);
    service.changeLot();
    await run("2026-01-28T00:00:00Z");
    const [level] = service.records("stockLevels").values();
    const [lot] = service.records("lots").values();
    const inBin = bin.replace("3 AND spot = 'A-01'", `${lot?.wID} AND spot = '${lot?.spot}'`);
    expect((await query(inBin)).map(({ units }) => Number(units))).toContain(lot?.units);
    const held = [...service.records("lots").values()].filter(({ hold, shipped }) => hold && shipped === null);
    expect(held.length).toBeGreaterThan(0);
    expect((await query(onHold)).map(({ recNo }) => Number(recNo)).sort()).toEqual(
      held.map(({ recNo }) => recNo).sort(),
    );
    expect(await query(stock)).toMatchObject([{ shortID: "BOLT-M8" }]);
    expect(Number((await query(stock))[0]?.inStock)).toBe(level?.inStock);
    expect(await query(without)).toEqual([]);
    expect(await query(trusted)).toEqual([]);
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
    // At this later time, the item had no stock level any more.
    expect(Number((await query(stockAt.replace("2026-01-31", "2026-02-10")))[0]?.inStock)).toBe(0);
    const changes = await changesIn(sinkOf(), { after: 3 });
    expect((await query(changedSince)).map(({ seq }) => Number(seq))).toEqual(changes.map(({ seq }) => seq));
    const stood = await query(name === "SQLite" ? stoodInSqlite : stoodInPostgres);
    expect(stood.map(({ days }) => Math.round(Number(days) * 100) / 100)).toEqual([13, 14]);
    expect(stood.map(({ recNo }) => Number(recNo)).sort()).toEqual([1, 2]);
  });
});
