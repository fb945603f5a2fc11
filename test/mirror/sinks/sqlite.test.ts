import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ConfigurationError } from "stocklot";
import { sqliteSink } from "stocklot/mirror";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  loadNodeDriver,
  loadPackageDriver,
  type SqliteDatabase,
  type SqliteDriver,
} from "../../../src/storage/sqlite/driver.js";
import { builtProgram } from "../../support/built-program.js";
import { describeSink } from "./conformance.js";
import { lot } from "./support/records.js";
import { sinkAt } from "./support/sink-spec.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-sqlite-"));
const lotCounter = await builtProgram(new URL("./support/count-lots.ts", import.meta.url));
let files = 0;
const newPath = () => join(directory, `copy-${++files}.db`);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("sqliteSink", () => {
  it("works with any driver that is installed", async () => {
    const path = newPath();
    const sink = sqliteSink({ path });
    await sink.open();
    await sink.commit({ resource: "lots", upsert: [lot(1)], remove: [], previousState: undefined, state: "1" });
    await sink.close();
    expect(await sqliteSink({ path }).open()).toBe("1");
  });

  it.each([
    undefined,
    {},
    { path: "" },
    { path: 1 },
    { path: "x", driver: "node" },
  ])("refuses the options %j", (options) => {
    expect(() => Reflect.apply(sqliteSink, undefined, [options])).toThrow(ConfigurationError);
  });

  describeDriver("package");
  if (loadNodeDriver()) describeDriver("node");
  else describe.skip(`on node:sqlite: Node.js ${process.versions.node} has none`, () => it("is not tested", () => {}));
});

function describeDriver(driver: "node" | "package"): void {
  const name = driver === "node" ? "node:sqlite" : "@photostructure/sqlite";
  describeSink(`as every sink, on ${name}`, () => ({ kind: "sqlite", path: newPath(), driver }));

  describe(`on ${name}`, () => {
    let path: string;
    let database: SqliteDatabase;
    let DatabaseSync: SqliteDriver["DatabaseSync"];
    const countLots = (file: string) => {
      const copy = new DatabaseSync(file);
      const [row] = copy.prepare("SELECT count(*) AS count FROM lots").all();
      copy.close();
      return row?.count;
    };
    const newSink = () => sinkAt({ kind: "sqlite", path, driver });
    const rows = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));

    beforeEach(async () => {
      path = newPath();
      ({ DatabaseSync } = (driver === "node" ? loadNodeDriver() : undefined) ?? (await loadPackageDriver()));
      database = new DatabaseSync(path);
    });

    afterEach(() => database.close());

    it("has a column for each documented field, and the rest as JSON", async () => {
      const sink = newSink();
      await sink.open();
      const odd = { spot: "A\0B", jobID: "J7", units: -0, hold: 2, grade: { of: "steel" }, "a b": [1] };
      const upsert = [lot(1, { units: 0.1, hold: true }), lot(2, odd)];
      await sink.commit({ resource: "lots", upsert, remove: [], previousState: undefined, state: "so far" });
      const [one, two] = rows("SELECT * FROM lots ORDER BY recNo");
      expect(one).toEqual({ ...lot(1, { units: 0.1 }), hold: 1, active: 1, extra: "{}" });
      expect(two).toMatchObject({ spot: null, jobID: null, units: null, hold: null, active: 1 });
      const extra = '{"spot":"A\\\\u0000B","units":-0,"hold":2,"jobID":"J7","grade":{"of":"steel"},"a b":[1]}';
      expect(two?.extra).toBe(extra);
      expect(rows("SELECT extra ->> '$.grade.of' AS steel FROM lots WHERE recNo = 2")).toEqual([{ steel: "steel" }]);
      expect(rows("SELECT state FROM stocklot_state")).toEqual([{ state: "so far" }]);
      expect(rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").map((row) => row.name)).toEqual([
        "items",
        "lots",
        "stock_levels",
        "stocklot_state",
        "stocklot_status",
        "warehouse_stock_levels",
      ]);
      await sink.close();
    });

    it("lets others read while it writes", async () => {
      const sink = newSink();
      await sink.open();
      const before = rows("SELECT count(*) AS count FROM lots");
      database.exec("BEGIN");
      expect(rows("SELECT count(*) AS count FROM lots")).toEqual(before);
      await sink.commit({ resource: "lots", upsert: [lot(1)], remove: [], previousState: undefined, state: "1" });
      expect(rows("SELECT count(*) AS count FROM lots")).toEqual(before);
      database.exec("COMMIT");
      expect(rows("SELECT count(*) AS count FROM lots")).toEqual([{ count: 1 }]);
      await sink.close();
    });

    it("waits while another process writes, without blocking the event loop", async () => {
      const sink = newSink();
      await sink.open();
      database.exec("BEGIN IMMEDIATE");
      let ticks = 0;
      const clock = setInterval(() => {
        ticks += 1;
        if (ticks === 10) database.exec("ROLLBACK");
      }, 10);
      await sink.commit({ resource: "lots", upsert: [lot(1)], remove: [], previousState: undefined, state: "1" });
      clearInterval(clock);
      expect(ticks).toBeGreaterThanOrEqual(10);
      await sink.close();
    });

    it("may be copied between two runs, by this process too, and is one file then", async () => {
      path = newPath();
      const commit = async (previousState: string | undefined, state: string) => {
        const sink = newSink();
        await sink.open();
        await sink.commit({ resource: "lots", upsert: [lot(Number(state))], remove: [], previousState, state });
        await sink.close();
      };
      for (let run = 1; run <= 20; run += 1) {
        await commit(run === 1 ? undefined : String(run - 1), String(run));
        expect(readdirSync(directory).filter((file) => file.startsWith(basename(path)))).toEqual([basename(path)]);
        copyFileSync(path, `${path}.copy`);
        expect(countLots(`${path}.copy`)).toBe(run);
        rmSync(`${path}.copy`);
      }
      const other = execFileSync(process.execPath, [lotCounter, path], { encoding: "utf8" });
      expect(Number(other)).toBe(20);
    });

    it("rejects with a StorageError if SQLite fails", async () => {
      path = join(directory, "no", "such", "copy.db");
      await expect(newSink().open()).rejects.toMatchObject({
        name: "StorageError",
        location: path,
        problem: "missing",
      });
    });

    it("leaves a table alone that no mirror created", async () => {
      database.exec("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO items VALUES (1, 'precious')");
      await expect(newSink().open()).rejects.toThrow(ConfigurationError);
      await expect(newSink().open()).rejects.toThrow(
        'the table "items" was not created by a mirror: it has no column "extra"',
      );
      expect(rows("SELECT * FROM items")).toEqual([{ id: 1, name: "precious" }]);
      expect(rows("SELECT count(*) AS count FROM sqlite_schema WHERE name LIKE 'st%'")).toEqual([{ count: 0 }]);
    });

    it("does not treat a dropped table as an empty one", async () => {
      const sink = newSink();
      await sink.open();
      await sink.commit({ resource: "lots", upsert: [lot(1)], remove: [], previousState: undefined, state: "1" });
      await sink.close();
      database.exec("DROP TABLE lots");
      await expect(sink.open()).rejects.toThrow('the table "lots" is missing');
      database.exec("DROP TABLE stocklot_state");
      expect(await sink.open()).toBeUndefined();
      await sink.close();
    });

    it("keeps columns, rows and tables that others have added", async () => {
      const sink = newSink();
      await sink.open();
      database.exec(
        "ALTER TABLE lots ADD COLUMN checked TEXT; CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')",
      );
      await sink.commit({ resource: "lots", upsert: [lot(1)], remove: [], previousState: undefined, state: "1" });
      database.exec("UPDATE lots SET checked = 'by hand'");
      await sink.close();
      await sink.open();
      const upsert = [lot(1, { units: 8 })];
      await sink.commit({ resource: "lots", upsert, remove: [], previousState: "1", state: "2" });
      expect(rows("SELECT units, checked FROM lots")).toEqual([{ units: 8, checked: "by hand" }]);
      expect(await sink.read("lots", [1])).toEqual(upsert);
      expect(rows("SELECT * FROM notes")).toEqual([{ text: "mine" }]);
      await sink.close();
    });
  });
}
