import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { createMirror, type MirrorKey, type MirrorSink, postgresSink, sqliteSink } from "../../../src/mirror/index.js";
import { tableOf } from "../../../src/mirror/tables.js";
import { findSqliteDriver } from "../../../src/storage/sqlite/driver.js";
import { findPostgres } from "../../support/postgres-server.js";
import { seededRandom } from "../../unit/paging/changing-list.js";
import { ChangingService } from "../support/changing-service.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-upgrade-"));
const postgres = await findPostgres();
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await postgres?.close();
});

const RESOURCES = ["items", "lots", "stockLevels"] as const;
const FIRST_FIELDS = [
  "count",
  "total",
  "lastFullPassAt",
  "lastFullPassMs",
  "modifiedSince",
  "checkpoint",
  "stale",
  "watermark",
];

/** The state as an earlier version would have saved it. */
function oldState(state: string): string {
  const { version, resources } = JSON.parse(state);
  for (const resource of Object.values<Record<string, unknown>>(resources)) {
    for (const field of Object.keys(resource)) if (!FIRST_FIELDS.includes(field)) delete resource[field];
  }
  return JSON.stringify({ version, resources });
}

/** The columns of a table as an earlier version created it: `extra` comes first. */
const oldColumns = (resource: (typeof RESOURCES)[number]) => ["extra", ...Object.keys(tableOf(resource).columns)];

/** Fills a copy, turns it into one of an earlier version, lets others change the service, and brings the copy up to date. */
async function upgrade(sinkOf: () => MirrorSink, degrade: () => Promise<void>): Promise<void> {
  const service = new ChangingService(seededRandom(2));
  for (let left = 30; left > 0; left -= 1) service.addItem();
  for (let left = 400; left > 0; left -= 1) service.addLot();
  service.changeItem({ netWeight: 2.5 });
  service.advance(3_600_000);
  await createMirror({ client: service.client(), sink: sinkOf() }).run();
  await degrade();
  service.advance(3_600_000);
  for (let left = 10; left > 0; left -= 1) service.changeLot();
  const mirror = createMirror({ client: service.client(), sink: sinkOf(), warehouses: [2] });
  expect((await mirror.status()).complete).toBe(false);
  const report = await mirror.run();
  expect(report.resources.items?.kind).toBe("increment");
  expect(report.resources.lots?.kind).toBe("increment");
  const sink = sinkOf();
  await sink.open();
  for (const resource of RESOURCES) {
    const keys: MirrorKey[] = [];
    for await (const some of sink.keys(resource)) keys.push(...some);
    const records = (await sink.read(resource, keys)).map((record) => JSON.stringify(sorted(record)));
    expect(records.sort(), resource).toEqual(
      [...service.records(resource).values()].map((record) => JSON.stringify(sorted(record))).sort(),
    );
  }
  const levels: MirrorKey[] = [];
  for await (const some of sink.keys("warehouseStockLevels")) levels.push(...some);
  expect(new Set(levels)).toEqual(new Set(service.warehouseLevels(2).keys()));
  await sink.close();
  expect(await mirror.status()).toMatchObject({ complete: true, lastRun: { kind: "full" } });
}

const sorted = (record: object) => Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

describe("a copy of an earlier version is upgraded in place", () => {
  it("in SQLite, with columns that others have added", async () => {
    const path = join(directory, "old.db");
    const { DatabaseSync } = await findSqliteDriver();
    await upgrade(
      () => sqliteSink({ path }),
      async () => {
        const database = new DatabaseSync(path);
        database.exec(
          "DROP VIEW stock; DROP VIEW mirror_status; DROP TABLE stocklot_status; DROP TABLE warehouse_stock_levels",
        );
        for (const resource of RESOURCES) {
          const { name, columns, key } = tableOf(resource);
          const types = { integer: "INTEGER", decimal: "REAL", text: "TEXT", boolean: "INTEGER" };
          const definitions = Object.entries(columns).map(
            ([column, type]) => `"${column}" ${types[type]}${column === key[0] ? " PRIMARY KEY" : ""}`,
          );
          const names = oldColumns(resource).map((column) => `"${column}"`);
          database.exec(`ALTER TABLE ${name} RENAME TO newer;
            CREATE TABLE ${name} ("extra" TEXT NOT NULL DEFAULT '{}', ${definitions});
            INSERT INTO ${name} (${names}) SELECT ${names} FROM newer; DROP TABLE newer`);
        }
        const [row] = database.prepare("SELECT state FROM stocklot_state").all();
        database.prepare("UPDATE stocklot_state SET state = ?").run(oldState(String(row?.state)));
        database.exec("ALTER TABLE lots ADD COLUMN checked TEXT; UPDATE lots SET checked = 'by hand'");
        database.close();
      },
    );
    const database = new DatabaseSync(path);
    const columnsOf = (table: string) =>
      database
        .prepare("SELECT name FROM pragma_table_info(?)")
        .all(table)
        .map(({ name }) => name);
    expect(columnsOf("items").at(-1)).toBe("extra");
    expect(columnsOf("lots").slice(-2).sort()).toEqual(["checked", "extra"]);
    expect(database.prepare("SELECT DISTINCT checked FROM lots").all()).toContainEqual({ checked: "by hand" });
    const plan = (sql: string) => JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all());
    expect(plan("SELECT * FROM lots WHERE shortID = 'SKU-1'")).toContain("stocklot_lots_shortID");
    expect(plan("SELECT * FROM lots WHERE wID = 3 AND spot = 'A-1'")).toContain("stocklot_lots_wID_spot");
    expect(plan("SELECT * FROM lots WHERE partNo = 3")).toContain("stocklot_lots_partNo");
    expect(plan("SELECT * FROM lots WHERE serial = '3'")).toContain("stocklot_lots_serial");
    expect(plan("SELECT * FROM stock WHERE shortID = 'SKU-1'")).not.toContain("SCAN");
    database.close();
  });

  it("in SQLite, where a view of others keeps extra at its place", async () => {
    const path = join(directory, "view.db");
    const { DatabaseSync } = await findSqliteDriver();
    const first = sqliteSink({ path });
    await first.open();
    await first.close();
    const database = new DatabaseSync(path);
    database.exec(`DROP VIEW stock; DROP TABLE items;
      CREATE TABLE items (extra TEXT NOT NULL DEFAULT '{}', partNo INTEGER PRIMARY KEY, shortID TEXT);
      CREATE VIEW mine AS SELECT extra ->> 'grade' AS grade FROM items; CREATE TABLE stock (mine TEXT)`);
    await sqliteSink({ path }).open();
    expect(database.prepare("SELECT grade FROM mine").all()).toEqual([]);
    expect(database.prepare("SELECT mine FROM stock").all()).toEqual([]);
    database.close();
  });

  it.skipIf(!postgres)("in PostgreSQL", async () => {
    const schema = `upgrade_${process.pid}`;
    const connectionString = postgres?.url ?? "";
    const pool = new Pool({ connectionString });
    const rows = async (sql: string) => (await pool.query(sql)).rows;
    await upgrade(
      () => postgresSink({ connectionString, schema }),
      async () => {
        await pool.query(
          `SET search_path = ${schema}; DROP VIEW stock, mirror_status; DROP TABLE stocklot_status, warehouse_stock_levels`,
        );
        for (const resource of RESOURCES) {
          const { name, columns, key } = tableOf(resource);
          const types = { integer: "bigint", decimal: "numeric", text: "text", boolean: "boolean" };
          const definitions = Object.entries(columns).map(
            ([column, type]) => `"${column}" ${types[type]}${column === key[0] ? " PRIMARY KEY" : ""}`,
          );
          const names = oldColumns(resource).map((column) => `"${column}"`);
          await pool.query(`CREATE TABLE ${schema}.older (extra json NOT NULL DEFAULT '{}', ${definitions});
            INSERT INTO ${schema}.older (${names}) SELECT ${names} FROM ${schema}.${name};
            DROP TABLE ${schema}.${name}; ALTER TABLE ${schema}.older RENAME TO ${name}`);
        }
        const [row] = await rows(`SELECT state FROM ${schema}.stocklot_state`);
        await pool.query(`UPDATE ${schema}.stocklot_state SET state = $1`, [oldState(row.state)]);
      },
    );
    const columns = await rows(
      `SELECT attname FROM pg_attribute WHERE attrelid = '${schema}.items'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    );
    expect(columns.at(-1)).toEqual({ attname: "extra" });
    const indexes = await rows(
      `SELECT indexname FROM pg_indexes WHERE schemaname = '${schema}' AND indexname LIKE 'stocklot%lots%'`,
    );
    expect(indexes.map(({ indexname }) => indexname).sort()).toEqual([
      "stocklot_lots_partNo",
      "stocklot_lots_serial",
      "stocklot_lots_shortID",
      "stocklot_lots_wID_spot",
    ]);
    const [stock] = await rows(`SELECT count(*) AS count, count("shortID") AS named FROM ${schema}.stock`);
    expect(Number(stock.named)).toBe(Number(stock.count));
    const status = await rows(`SELECT * FROM ${schema}.mirror_status ORDER BY resource`);
    expect(status.map(({ resource, complete }) => [resource, complete])).toEqual([
      ["items", true],
      ["lots", true],
      ["stockLevels", true],
      ["warehouseStockLevels", true],
    ]);
    expect(Number(status[0].lagMs)).toBeLessThan(60_000);
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });
});
