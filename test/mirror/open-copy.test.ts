import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Client } from "pg";
import { ConfigurationError, InputValidationError } from "stocklot";
import { createMirror, type MirrorResource, openCopy, postgresSink, sqliteSink } from "stocklot/mirror";
import { describe, expect, it } from "vitest";
import { findSql } from "../../src/mirror/copy/sql.js";
import { tableOf } from "../../src/mirror/tables.js";
import { postgresDialect, SQLITE_DIALECT } from "../../src/storage/dialect.js";
import { findSqliteDriver } from "../../src/storage/sqlite-driver.js";
import { seededRandom } from "../support/random.js";
import { ChangingService } from "./support/changing-service.js";
import { useCopies } from "./support/copies.js";

const { files, postgres, schema, pool, sinks: SINKS } = await useCopies("open_copy");

/** Creates a service with one special item, and with further items and lots. */
function setUp(lots = 60, items = 9): ChangingService {
  const service = new ChangingService(seededRandom(3));
  service.addItem();
  service.changeItem({ shortID: " Bolt-M8", netWeight: 0.25, extra: { grade: ["8.8", null] } });
  for (let left = items; left > 0; left -= 1) service.addItem();
  for (let left = lots; left > 0; left -= 1) service.addLot();
  return service;
}

/** Sorts records in the order in which a copy is read. */
const byPartNo = <T extends { partNo: number }>(records: T[]) => records.sort((a, b) => a.partNo - b.partNo);

const all = async <T>(records: AsyncIterable<T>) => {
  const found: T[] = [];
  for await (const record of records) found.push(record);
  return found;
};

describe.each(Object.keys(SINKS))("a copy in %s", (name) => {
  const sinkOf = SINKS[name] ?? expect.fail();

  it("is not read to an end if a mirror drops the list meanwhile", async () => {
    const service = setUp(6_000, 1_500);
    const mirror = (...warehouses: number[]) =>
      createMirror({ client: service.client(), sink: sinkOf(), resources: ["items"], warehouses });
    await mirror(1, 2).run();
    await using copy = await openCopy(sinkOf());
    const reading = copy.stockLevels({ wID: 1 });
    await reading.next();
    await mirror(2).run();
    await expect(all(reading)).rejects.toThrow("the copy has no warehouseStockLevels/1");
  });

  it("is read as the service served it, by each filter", async () => {
    const service = setUp();
    await createMirror({ client: service.client(), sink: sinkOf(), warehouses: [2] }).run();
    await using copy = await openCopy(sinkOf());
    const items = [...service.records("items").values()];
    const lots = [...service.records("lots").values()];
    const levels = [...service.records("stockLevels").values()];
    expect(await all(copy.items())).toEqual(items);
    expect(await all(copy.lots())).toEqual(lots);
    expect(await all(copy.stockLevels())).toEqual(byPartNo(levels));
    expect(await all(copy.items({ partNo: 1 }))).toEqual([items[0]]);
    expect(await all(copy.items({ category: 2 }))).toEqual(items.filter(({ category }) => category === 2));
    expect(await all(copy.lots({ partNo: 4 }))).toEqual(lots.filter(({ partNo }) => partNo === 4));
    expect(await all(copy.lots({ wID: 2 }))).toEqual(lots.filter(({ wID }) => wID === 2));
    const inBin = lots.filter(({ wID, spot }) => wID === lots[7]?.wID && spot === lots[7]?.spot);
    expect(inBin.length).toBeGreaterThan(0);
    expect(await all(copy.lots({ wID: lots[7]?.wID, spot: lots[7]?.spot }))).toEqual(inBin);
    expect(await all(copy.lots({ spot: "A-3" }))).toEqual(lots.filter(({ spot }) => spot === "A-3"));
    expect(await all(copy.lots({ serial: "", wID: undefined }))).toEqual(lots);
    expect(await all(copy.lots({ rFIDTag: "none" }))).toEqual([]);
    expect(await all(copy.stockLevels({ partNo: 3 }))).toEqual(levels.filter(({ partNo }) => partNo === 3));
    const inWarehouse = [...service.warehouseLevels(2).values()];
    expect(await all(copy.stockLevels({ wID: 2 }))).toEqual(byPartNo(inWarehouse));
    expect(await all(copy.stockLevels({ wID: 2, shortID: "SKU-5" }))).toEqual(
      inWarehouse.filter(({ partNo }) => partNo === 5),
    );
  });

  it("is searched for a SKU without regard to case and surrounding spaces", async () => {
    const service = setUp();
    await createMirror({ client: service.client(), sink: sinkOf() }).run();
    await using copy = await openCopy(sinkOf());
    for (const shortID of ["bolt-m8", " BOLT-M8 ", " Bolt-M8"]) {
      expect((await all(copy.items({ shortID }))).map(({ partNo }) => partNo)).toEqual([1]);
      expect((await all(copy.stockLevels({ shortID }))).map(({ partNo }) => partNo)).toEqual([1]);
    }
    const lots = [...service.records("lots").values()].filter(({ partNo }) => partNo === 2);
    expect(await all(copy.lots({ shortID: "sku-2" }))).toEqual(lots);
  });

  it("is read list by list: those that were read completely, and no other", async () => {
    const service = setUp();
    service.beforePage = (page) => (page.startsWith("/Inventory?") ? 403 : undefined);
    await expect(createMirror({ client: service.client(), sink: sinkOf() }).run()).rejects.toThrow();
    await using copy = await openCopy(sinkOf());
    expect(await all(copy.items())).toHaveLength(10);
    await expect(all(copy.lots())).rejects.toThrow("copy.lots: the copy of lots is incomplete");
    await expect(all(copy.stockLevels({ wID: 1 }))).rejects.toThrow("no warehouseStockLevels/1");
  });

  it("rejects what the mirror does not read", async () => {
    const service = setUp();
    const sink = sinkOf();
    await createMirror({ client: service.client(), sink, resources: ["stockLevels", "lots"] }).run();
    await using copy = await openCopy(sinkOf());
    await expect(all(copy.items())).rejects.toThrow(ConfigurationError);
    await expect(all(copy.stockLevels({ wID: 9 }))).rejects.toThrow(ConfigurationError);
    await expect(all(copy.stockLevels({ shortID: "SKU-2" }))).rejects.toThrow("the copy has no items");
    expect(await all(copy.lots({ shortID: "SKU-2" }))).not.toEqual([]);
  });

  it("is read while a mirror writes it, and after a break", async () => {
    const service = setUp(2_500);
    const sink = sinkOf();
    const mirror = createMirror({ client: service.client(), sink });
    await mirror.run();
    await using copy = await openCopy(sinkOf());
    let read = 0;
    for await (const { recNo } of copy.lots()) {
      read += 1;
      if (recNo === 500) {
        for (let left = 20; left > 0; left -= 1) service.changeLot();
        service.addLot();
        expect((await mirror.run()).added).toBe(1);
      }
    }
    expect(read).toBe(2_501);
    for await (const _ of copy.lots()) break;
    expect(await all(copy.lots({ partNo: 1 }))).not.toEqual([]);
  });

  it("rejects wrong arguments, and reading after close()", async () => {
    const service = setUp();
    await createMirror({ client: service.client(), sink: sinkOf() }).run();
    await expect(Reflect.apply(openCopy, undefined, [{}])).rejects.toThrow("must be created by sqliteSink");
    const copy = await openCopy(sinkOf());
    const wrong = [{ shortid: "X" }, { partNo: "1" }, { partNo: 1.5 }, { shortID: "a\0" }, { wID: null }, []];
    for (const filter of wrong) {
      const reading = all(Reflect.apply(copy.lots, copy, [filter]));
      await expect(reading, JSON.stringify(filter)).rejects.toThrow(InputValidationError);
    }
    await copy.close();
    await copy.close();
    await expect(all(copy.items())).rejects.toThrow("closed");
    await expect(copy.status()).rejects.toThrow("closed");
  });

  it("of another version is refused, whoever asks, and says to use a new copy", async () => {
    const mirror = createMirror({ client: setUp().client(), sink: sinkOf() });
    await mirror.run();
    const writer = await sinkOf().open();
    const table = writer.dialect.nameOf("stocklot_mirror");
    const update = {
      sql: `UPDATE ${table} SET format = $1`,
      unapplied: `SELECT 1 FROM ${table} WHERE format <> $1`,
      rows: [[9]],
    };
    await writer.commit(Number((await writer.query(`SELECT version FROM ${table}`))[0]?.version), [update]);
    await writer.close();
    for (const call of [() => openCopy(sinkOf()), () => mirror.run(), () => mirror.status()]) {
      await expect(call()).rejects.toThrow(ConfigurationError);
      await expect(call()).rejects.toThrow(/another version of stocklot. Use a new copy/);
    }
  });

  it("that nobody has written is refused, and its status has nothing", async () => {
    await expect(openCopy(sinkOf())).rejects.toThrow("there is no copy");
    const status = await createMirror({ client: setUp().client(), sink: sinkOf() }).status();
    expect(status).toHaveLength(3);
    for (const list of status) expect(list).toMatchObject({ records: 0, asOf: null, lagMs: null, increments: null });
    await expect(openCopy(sinkOf())).rejects.toThrow("there is no copy");
  });
});

it("a missing file is not created, and one that is no database is refused", async () => {
  await expect(openCopy(sqliteSink({ path: files.path }))).rejects.toThrow("there is no copy");
  expect(existsSync(files.path)).toBe(false);
  writeFileSync(files.path, "not a database, but longer than a header of one would be".repeat(20));
  await expect(openCopy(sqliteSink({ path: files.path }))).rejects.toThrow("file is not a database");
});

it("the file of a copy is not changed, and nothing keeps others from writing it between two batches", async () => {
  const service = setUp(1_500);
  await createMirror({ client: service.client(), sink: sqliteSink({ path: files.path }) }).run();
  const before = readFileSync(files.path);
  const { DatabaseSync } = await findSqliteDriver();
  const copy = await openCopy(sqliteSink({ path: files.path }));
  const other = new DatabaseSync(files.path);
  let read = 0;
  for await (const _ of copy.lots()) {
    read += 1;
    // `busy` would be 1 if the reader blocked the checkpoint.
    if (read === 700) expect(other.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all()).toMatchObject([{ busy: 0 }]);
  }
  expect(read).toBe(1_500);
  other.close();
  await copy.close();
  expect(readFileSync(files.path).equals(before)).toBe(true);
});

it.skipIf(!postgres)("in PostgreSQL, the right to SELECT is enough, and no transaction stays open", async () => {
  const service = setUp(1_500);
  const connectionString = postgres?.url ?? "";
  await createMirror({ client: service.client(), sink: postgresSink({ connectionString, schema }) }).run();
  const reader = `reader_${process.pid}`;
  await pool.query(`CREATE ROLE ${reader} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${reader};
    GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${reader}`);
  const address = new URL(connectionString);
  address.username = reader;
  const copy = await openCopy(postgresSink({ connectionString: address.href, schema }));
  let read = 0;
  for await (const _ of copy.lots()) {
    read += 1;
    if (read !== 1_200) continue;
    const { rows } = await pool.query("SELECT state FROM pg_stat_activity WHERE usename = $1", [reader]);
    expect(rows).toEqual([{ state: "idle" }]);
  }
  expect(read).toBe(1_500);
  await copy.close();
  await pool.query(`DROP OWNED BY ${reader}; DROP ROLE ${reader}`);
});

const SEARCHES: [MirrorResource, Record<string, string | number>, string][] = [
  ["items", { shortID: "BOLT-M8" }, "stocklot_items_sku"],
  ["items", { category: 3 }, "stocklot_items_category_partNo"],
  ["items", { partNo: 3 }, "items_pkey"],
  ["lots", { shortID: "BOLT-M8" }, "stocklot_lots_sku"],
  ["lots", { shortID: "Größe" }, "stocklot_lots_sku"],
  ["lots", { partNo: 3 }, "stocklot_lots_partNo"],
  ["lots", { wID: 3 }, "stocklot_lots_wID_recNo"],
  ["lots", { wID: 3, spot: "A-1" }, "stocklot_lots_wID_spot"],
  ["lots", { spot: "A-1" }, "stocklot_lots_spot"],
  ["lots", { serial: "1" }, "stocklot_lots_serial"],
  ["lots", { rFIDTag: "1" }, "stocklot_lots_rFIDTag"],
  ["stockLevels", { partNo: 3 }, "stock_levels_pkey"],
  ["stockLevels", { shortID: "BOLT-M8" }, "stocklot_items_sku"],
  ["warehouseStockLevels", { wID: 3, partNo: 3 }, "warehouse_stock_levels_pkey"],
  ["warehouseStockLevels", { wID: 3, shortID: "BOLT-M8" }, "stocklot_items_sku"],
];

describe("each search uses an index", () => {
  it("in SQLite", async () => {
    await createMirror({ client: setUp().client(), sink: sqliteSink({ path: files.path }), warehouses: [2] }).run();
    const { DatabaseSync } = await findSqliteDriver();
    const database = new DatabaseSync(files.path);
    for (const [resource, where, index] of SEARCHES) {
      const last = resource === "warehouseStockLevels" ? [0, 0] : [0];
      const { sql, values } = findSql(SQLITE_DIALECT, tableOf(resource), where, last, 1_000);
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll("$", "?")}`).all(...values);
      const steps = plan.map(({ detail }) => String(detail)).join("\n");
      expect(steps, JSON.stringify(where)).not.toContain("SCAN");
      // In SQLite, the index of a primary key has no name.
      expect(steps, JSON.stringify(where)).toMatch(index.endsWith("_pkey") ? /PRIMARY KEY|autoindex/ : index);
    }
    database.close();
  });

  it.skipIf(!postgres)("in PostgreSQL", async () => {
    const sink = postgresSink({ connectionString: postgres?.url ?? "", schema });
    await createMirror({ client: setUp(3_000, 400).client(), sink, warehouses: [2] }).run();
    const client = new Client({ connectionString: postgres?.url ?? "" });
    await client.connect();
    // These settings make the planner behave as with large tables, so that it uses an index wherever it can.
    await client.query("SET enable_seqscan = off; SET enable_bitmapscan = off; SET cpu_tuple_cost = 1");
    await client.query(`ANALYZE ${schema}.lots; ANALYZE ${schema}.items`);
    for (const [resource, where, index] of SEARCHES) {
      const last = resource === "warehouseStockLevels" ? [0, 0] : [0];
      const { sql, values } = findSql(postgresDialect(schema), tableOf(resource), where, last, 1_000);
      const { rows } = await client.query(`EXPLAIN ${sql}`, values);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan, JSON.stringify(where)).toContain(index);
      expect(plan, JSON.stringify(where)).not.toContain("Seq Scan");
    }
    await client.end();
  });
});
