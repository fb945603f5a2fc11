import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createMirror, type MirrorSink, postgresSink, sqliteSink } from "../../../src/mirror/index.js";
import { findSqliteDriver } from "../../../src/storage/sqlite/driver.js";
import { findPostgres, openPool } from "../../support/postgres-server.js";
import { seededRandom } from "../../unit/paging/changing-list.js";
import { ChangingService } from "../support/changing-service.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-queries-"));
const postgres = await findPostgres();
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await postgres?.close();
});

async function fill(sink: MirrorSink): Promise<void> {
  const service = new ChangingService(seededRandom(2));
  for (let left = 30; left > 0; left -= 1) service.addItem();
  for (let left = 400; left > 0; left -= 1) service.addLot();
  const mirror = createMirror({ client: service.client(), sink, warehouses: [2] });
  await mirror.run();
  expect(await mirror.status()).toMatchObject({ complete: true, lastRun: { kind: "full" } });
}

describe("a copy has indexes, views and a last column extra", () => {
  it("in SQLite", async () => {
    const path = join(directory, "copy.db");
    await fill(sqliteSink({ path }));
    const { DatabaseSync } = await findSqliteDriver();
    const database = new DatabaseSync(path);
    const columns = database.prepare("SELECT name FROM pragma_table_info('items')").all();
    expect(columns.at(-1)?.name).toBe("extra");
    const plan = (sql: string) => JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all());
    expect(plan("SELECT * FROM lots WHERE shortID = 'SKU-1'")).toContain("stocklot_lots_shortID");
    expect(plan("SELECT * FROM lots WHERE wID = 3 AND spot = 'A-1'")).toContain("stocklot_lots_wID_spot");
    expect(plan("SELECT * FROM lots WHERE partNo = 3")).toContain("stocklot_lots_partNo");
    expect(plan("SELECT * FROM lots WHERE serial = '3'")).toContain("stocklot_lots_serial");
    expect(plan("SELECT * FROM stock WHERE shortID = 'SKU-1'")).not.toContain("SCAN");
    database.close();
  });

  it("in SQLite, also if the file was deleted between two runs", async () => {
    const path = join(directory, "deleted.db");
    const sink = sqliteSink({ path });
    await fill(sink);
    rmSync(path);
    await fill(sink);
    const { DatabaseSync } = await findSqliteDriver();
    const database = new DatabaseSync(path);
    const indexes = database.prepare("SELECT name FROM sqlite_schema WHERE name = 'stocklot_lots_serial'").all();
    expect(indexes).toHaveLength(1);
    database.close();
  });

  it("in SQLite, except a table or view of the same name that others have created", async () => {
    const path = join(directory, "mine.db");
    const { DatabaseSync } = await findSqliteDriver();
    const database = new DatabaseSync(path);
    database.exec("CREATE TABLE stock (mine TEXT)");
    const sink = sqliteSink({ path });
    await sink.open();
    await sink.close();
    expect(database.prepare("SELECT mine FROM stock").all()).toEqual([]);
    database.close();
  });

  it.skipIf(!postgres)("in PostgreSQL", async () => {
    const schema = `queries_${process.pid}`;
    const connectionString = postgres?.url ?? "";
    const pool = openPool({ connectionString });
    const rows = async (sql: string) => (await pool.query(sql)).rows;
    await fill(postgresSink({ connectionString, schema }));
    const columns = await rows(
      `SELECT attname FROM pg_attribute WHERE attrelid = '${schema}.items'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    );
    expect(columns.at(-1)).toEqual({ attname: "extra" });
    const indexes = await rows(
      `SELECT indexname FROM pg_indexes WHERE schemaname = '${schema}' AND indexname LIKE 'stocklot%lots%'`,
    );
    expect(indexes.map(({ indexname }) => indexname).sort()).toEqual([
      "stocklot_lots_partNo",
      "stocklot_lots_rFIDTag",
      "stocklot_lots_serial",
      "stocklot_lots_shortID",
      "stocklot_lots_sku",
      "stocklot_lots_spot",
      "stocklot_lots_wID_recNo",
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
