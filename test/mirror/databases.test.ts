import assert from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import fc from "fast-check";
import { Pool, types } from "pg";
import { ConfigurationError } from "stocklot";
import { createMirror, type MirrorSink, postgresSink, sqliteSink } from "stocklot/mirror";
import { describe, expect, it, vi } from "vitest";
import { Copy } from "../../src/mirror/copy/copy.js";
import { SqliteSink } from "../../src/mirror/copy/sqlite.js";
import { type MirrorList, mirrorListsOf, numberedRecord, RESOURCES, tableOf } from "../../src/mirror/tables.js";
import { findSqliteDriver, loadNodeDriver, loadPackageDriver } from "../../src/storage/sqlite-driver.js";
import { seededRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { ChangingService } from "./support/changing-service.js";
import { recordsIn, useCopies } from "./support/copies.js";
import { anyRecord, asRead, lot } from "./support/records.js";

const { files, postgres, schema, pool, sinks: SINKS } = await useCopies("databases");
const connectionString = postgres?.url ?? "";

const ACCOUNT = { id: "service", address: "http://127.0.0.1/api/v1", clientId: "mirror" };
const LOTS: MirrorList = { resource: "lots", wID: null };

async function inCopy<T>(sink: MirrorSink, work: (copy: Copy) => Promise<T>, lists = [LOTS]): Promise<T> {
  const copy = await Copy.begin(await sink.open(), ACCOUNT, { lists, history: undefined });
  try {
    return await work(copy);
  } finally {
    await copy.close();
  }
}

const write = (copy: Copy, list: MirrorList, records: object[]) =>
  copy.write(
    list,
    records.map((record) => numberedRecord(list, record as ReturnType<typeof lot>)),
  );

function fill(sink: MirrorSink) {
  const service = new ChangingService(seededRandom(2));
  for (let left = 30; left > 0; left -= 1) service.addItem();
  for (let left = 400; left > 0; left -= 1) service.addLot();
  return createMirror({ client: service.client(), sink, warehouses: [2] }).run();
}

describe.each(Object.keys(SINKS))("a copy in %s", (name) => {
  const newSink = () => (SINKS[name] ?? expect.fail())();

  it("returns records unchanged, whatever they contain, and finds that nothing has changed", async () => {
    const sink = newSink();
    const lists = mirrorListsOf(RESOURCES, [3]);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...lists),
        fc
          .uniqueArray(fc.oneof(fc.maxSafeInteger(), fc.nat(20)), { minLength: 1, maxLength: 8 })
          .chain((keys) =>
            fc.tuple(...lists.map(({ resource }) => fc.tuple(...keys.map((key) => anyRecord(resource, key || 0))))),
          ),
        async (list, records) => {
          const given = records[lists.indexOf(list)] ?? [];
          await inCopy(
            sink,
            async (copy) => {
              await write(copy, list, given);
              expect(await write(copy, list, given)).toEqual({ added: 0, changed: 0, modified: [] });
            },
            lists,
          );
          const found = await recordsIn(sink, list.resource);
          for (const record of given) {
            const key = tableOf(list.resource).key.map((field) => Number(Reflect.get(record, field)));
            assert.deepStrictEqual(
              found.get(key.length === 1 ? (key[0] ?? 0) : key.join("/")),
              asRead(list.resource, record),
            );
          }
        },
      ),
      { numRuns: runs(25) },
    );
  });

  it("removes tens of thousands of records at once, and no others", async () => {
    const sink = newSink();
    await inCopy(sink, async (copy) => {
      const numbers = Array.from({ length: 25_000 }, (_, index) => index - 100);
      for (let start = 0; start < numbers.length; start += 5_000)
        await write(
          copy,
          LOTS,
          numbers.slice(start, start + 5_000).map((number) => lot(number)),
        );
      expect(await copy.numbersOutside(LOTS, new Set([5, 7]))).toHaveLength(24_998);
      await copy.save(LOTS, {}, await copy.numbersOutside(LOTS, new Set([5, 7])));
    });
    expect([...(await recordsIn(sink, "lots")).keys()]).toEqual([5, 7]);
  });

  it("writes nothing of a commit that fails, and accepts one of two that come at once", async () => {
    const sink = newSink();
    await inCopy(sink, (copy) => write(copy, LOTS, [lot(1)]));
    const databases = [await sink.open(), await sink.open()];
    const table = databases[0]?.dialect.nameOf("lots");
    const removal = { sql: `DELETE FROM ${table}`, unapplied: `SELECT 1 FROM ${table}`, rows: [[]] };
    const [copy] =
      (await databases[0]?.query(`SELECT version FROM ${databases[0].dialect.nameOf("stocklot_mirror")}`)) ?? [];
    const version = Number(copy?.version);
    await expect(databases[0]?.commit(version, [removal, { ...removal, sql: "nonsense" }])).rejects.toThrow("nonsense");
    await expect(databases[0]?.commit(99, [removal])).rejects.toThrow("another mirror writes");
    expect((await recordsIn(sink, "lots")).size).toBe(1);
    const ends = await Promise.allSettled(databases.map((database) => database.commit(version, [removal])));
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    for (const database of databases) await database.close();
  });

  it("leaves tables alone that no mirror has created", async () => {
    const sink = newSink();
    await (await sink.open()).close();
    const database = await sink.open();
    const nameOf = (table: string) => database.dialect.nameOf(table);
    await database.query(`DROP TABLE ${nameOf("stocklot_mirror")}`);
    await database.close();
    await expect(fill(sink)).rejects.toThrow(ConfigurationError);
    await expect(fill(sink)).rejects.toThrow(/has a table or view "\w+" that this version of stocklot has not created/);
  });

  it("has its indexes once the first full pass of a table has ended, also if the run was killed before", async () => {
    const sink = newSink();
    const kill = vi.fn(() => Promise.reject(new Error("killed")));
    const open = sink.open.bind(sink);
    vi.spyOn(sink, "open").mockImplementation(async () => ({ ...(await open()), createIndexes: kill }));
    await expect(fill(sink)).rejects.toThrow("killed");
    vi.restoreAllMocks();
    await fill(sink);
    const database = await sink.open();
    const names = await database.query(
      name === "SQLite"
        ? "SELECT name FROM sqlite_schema WHERE type = 'index'"
        : `SELECT indexname AS name FROM pg_indexes WHERE schemaname = '${schema}'`,
    );
    await database.close();
    expect(names.map((row) => row.name)).toEqual(expect.arrayContaining(["stocklot_lots_spot", "stocklot_items_sku"]));
  });
});

describe("a copy in SQLite", () => {
  it.each([
    ["node:sqlite", async () => loadNodeDriver() ?? (await loadPackageDriver())],
    ["@photostructure/sqlite", loadPackageDriver],
  ] as const)("works with %s, and is one file between two runs", async (_, load) => {
    const sink = new SqliteSink({ path: files.path }, load);
    for (let run = 0; run < 5; run += 1) {
      await fill(sink);
      const names = readdirSync(files.folder).filter((file) => file.startsWith(basename(files.path)));
      expect(names).toEqual([basename(files.path)]);
    }
    expect((await recordsIn(sink, "lots")).size).toBe(400);
  });

  it("changes nothing in a file that is another database, when its status is asked", async () => {
    const { DatabaseSync } = await findSqliteDriver();
    const database = new DatabaseSync(files.path);
    database.exec("CREATE TABLE mine (a INTEGER); INSERT INTO mine VALUES (1)");
    database.close();
    const before = readFileSync(files.path);
    const client = new ChangingService(seededRandom(1)).client();
    const mirror = createMirror({ client, sink: sqliteSink({ path: files.path }) });
    expect((await mirror.status()).map(({ asOf }) => asOf)).toEqual([null, null, null]);
    expect(readFileSync(files.path)).toEqual(before);
    // A run adds the tables of the mirror to this file.
    await fill(sqliteSink({ path: files.path }));
  });

  it("of the version before this one is refused", async () => {
    const { DatabaseSync } = await findSqliteDriver();
    const database = new DatabaseSync(files.path);
    database.exec("CREATE TABLE stocklot_state (id INTEGER PRIMARY KEY, state TEXT)");
    database.close();
    await expect(fill(sqliteSink({ path: files.path }))).rejects.toThrow(/another version of stocklot. Use a new copy/);
  });
});

describe.skipIf(!postgres)("a copy in PostgreSQL", () => {
  const newSink = () => postgresSink({ connectionString, schema });
  const rows = async (sql: string) => (await pool.query(sql)).rows;

  it("has a column for each documented field, exact decimals, and the rest as JSON", async () => {
    const odd = { spot: "A\0B", jobID: "J7", units: -0, hold: 2, remark: "\ud800", grade: { of: "steel" } };
    await inCopy(newSink(), (copy) =>
      write(copy, LOTS, [lot(1, { units: 0.1, hold: true }), lot(2, odd), lot(3, { units: 0.2 })]),
    );
    const [one, two] = await rows(`SELECT *, extra::text AS extra FROM ${schema}.lots ORDER BY "recNo"`);
    expect(one).toMatchObject({ recNo: "1", wID: "3", units: "0.1", hold: true, shipped: null, extra: "{}" });
    expect(two).toMatchObject({ spot: null, jobID: null, units: null, hold: null, remark: null, active: true });
    const extra = '{"spot":"A\\\\u0000B","units":-0,"remark":"\\\\ud800","hold":2,"jobID":"J7","grade":{"of":"steel"}}';
    expect(two.extra).toBe(extra);
    const steel = await rows(`SELECT extra -> 'grade' ->> 'of' AS steel FROM ${schema}.lots WHERE "recNo" = 2`);
    expect(steel).toEqual([{ steel: "steel" }]);
    expect(await rows(`SELECT sum(units) FROM ${schema}.lots`)).toEqual([{ sum: "0.3" }]);
  });

  it("uses the caller's pool, leaves it open, asks for no parser, and takes no schema from the search_path", async () => {
    await pool.query(`CREATE SCHEMA ${schema}`);
    const own = new Pool({ connectionString, options: `-c search_path=${schema},public`, max: 1 });
    const bigint = types.getTypeParser(types.builtins.INT8);
    types.setTypeParser(types.builtins.INT8, BigInt);
    try {
      await expect(fill(postgresSink({ pool: own }))).rejects.toThrow(/option schema is required/);
      expect((await fill(postgresSink({ pool: own, schema }))).resources.lots?.inCopy).toBe(400);
    } finally {
      types.setTypeParser(types.builtins.INT8, bigint);
    }
    expect((await own.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await own.end();
    expect((await recordsIn(newSink(), "lots")).size).toBe(400);
  });

  it("is created once when several mirrors begin at the same moment", async () => {
    const opened = await Promise.all(Array.from({ length: 4 }, () => newSink().open()));
    for (const database of opened) await database.close();
  });

  it("waits for the commit of a killed process, which the server completes", async () => {
    await fill(newSink());
    const killed = await pool.connect();
    await killed.query(`BEGIN; UPDATE ${schema}.stocklot_mirror SET version = version + 1`);
    const run = fill(newSink());
    await new Promise((resolve) => setTimeout(resolve, 100));
    await killed.query("COMMIT");
    await run;
    killed.release();
  });

  it("refuses a database that cannot hold all characters", async () => {
    const name = `stocklot_latin1_${process.pid}`;
    await pool.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`);
    const address = new URL(connectionString);
    address.pathname = name;
    const message = "the encoding of the database must be UTF8, not LATIN1";
    await expect(fill(postgresSink({ connectionString: address.href }))).rejects.toThrow(message);
    await pool.query(`DROP DATABASE ${name}`);
  });
});

it.each([
  [postgresSink, {}, "exactly one of pool and connectionString"],
  [postgresSink, { pool: { query() {} } }, "pool: must be a Pool of pg"],
  [postgresSink, { connectionString: "x", table: "lots" }, "table: unknown option"],
  [sqliteSink, undefined, "options: is required"],
])("%o(%j) is refused", (create, options, message) => {
  const call = () => Reflect.apply(create, undefined, [options]);
  expect(call).toThrow(ConfigurationError);
  expect(call).toThrow(message);
});
