import { Client, type Pool, types } from "pg";
import { ConfigurationError } from "stocklot";
import { type PostgresSinkOptions, postgresSink } from "stocklot/mirror";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { quoteName } from "../../../src/storage/tables.js";
import { findPostgres, openPool } from "../../support/postgres-server.js";
import { describeSink } from "./conformance.js";
import { lot } from "./support/records.js";

const postgres = await findPostgres();
let schemas = 0;

afterAll(() => postgres?.close());

describe.skipIf(!postgres)("postgresSink", () => {
  const connectionString = postgres?.url ?? "";
  /** Also where others test on the same server. A name that has to be quoted. */
  const newSchema = () => `stocklot "test" ${process.pid} ${++schemas}`;

  describeSink("as every sink", () => ({ kind: "postgres", connectionString, schema: newSchema() }));

  let schema: string;
  let pool: Pool;
  const opened: ReturnType<typeof postgresSink>[] = [];
  const newSink = (options: Partial<PostgresSinkOptions> = { connectionString }) => {
    const sink = postgresSink({ schema, ...options });
    opened.push(sink);
    return sink;
  };
  const rows = async (sql: string) => (await pool.query(sql)).rows;
  const table = (name: string) => `${quoteName(schema)}.${quoteName(name)}`;
  const firstBatch = { resource: "lots", remove: [], previousState: undefined, state: "1" } as const;

  beforeEach(async () => {
    schema = newSchema();
    pool = openPool({ connectionString });
    await pool.query(`CREATE SCHEMA ${quoteName(schema)}`);
  });

  afterEach(async () => {
    for (const sink of opened.splice(0)) await sink.close();
    await pool.query(`DROP SCHEMA ${quoteName(schema)} CASCADE`);
    await pool.end();
  });

  it("starts a new copy if somebody has deleted the state", async () => {
    const sink = newSink();
    await sink.open();
    await sink.commit({ ...firstBatch, upsert: [lot(1)] });
    await sink.close();
    await pool.query(`DELETE FROM ${table("stocklot_state")}`);
    expect(await sink.open()).toBeUndefined();
    await sink.commit({ ...firstBatch, upsert: [lot(2)] });
    expect(await rows(`SELECT "recNo" FROM ${table("lots")} ORDER BY 1`)).toEqual([{ recNo: "1" }, { recNo: "2" }]);
  });

  it("has a column for each documented field, and the rest as JSON", async () => {
    const sink = newSink();
    await sink.open();
    const odd = { spot: "A\0B", jobID: "J7", units: -0, hold: 2, remark: "\ud800", grade: { of: "steel" } };
    await sink.commit({ ...firstBatch, upsert: [lot(1, { units: 0.1, hold: true }), lot(2, odd)] });
    const [one, two] = await rows(`SELECT *, extra::text AS extra FROM ${table("lots")} ORDER BY "recNo"`);
    expect(one).toMatchObject({
      recNo: "1",
      wID: "3",
      units: "0.1",
      hold: true,
      active: true,
      shipped: null,
      extra: "{}",
    });
    expect(two).toMatchObject({ spot: null, jobID: null, units: null, hold: null, remark: null, active: true });
    const extra = '{"spot":"A\\\\u0000B","units":-0,"remark":"\\\\ud800","hold":2,"jobID":"J7","grade":{"of":"steel"}}';
    expect(two.extra).toBe(extra);
    const grade = `SELECT extra -> 'grade' ->> 'of' AS steel FROM ${table("lots")} WHERE "recNo" = 2`;
    expect(await rows(grade)).toEqual([{ steel: "steel" }]);
    expect(await rows(`SELECT state FROM ${table("stocklot_state")}`)).toEqual([{ state: "1" }]);
  });

  it("keeps decimals as they are spelled, so that sums are exact", async () => {
    const sink = newSink();
    await sink.open();
    await sink.commit({ ...firstBatch, upsert: [lot(1, { units: 0.1 }), lot(2, { units: 0.2 })] });
    expect(await rows(`SELECT sum(units) FROM ${table("lots")}`)).toEqual([{ sum: "0.3" }]);
  });

  it.each(["pool", "client"] as const)("uses the caller's %s, leaves it open, and asks for no parser", async (kind) => {
    const client = new Client({ connectionString });
    await client.connect();
    const sink = newSink({ [kind]: kind === "pool" ? pool : client });
    const bigint = types.getTypeParser(types.builtins.INT8);
    types.setTypeParser(types.builtins.INT8, BigInt);
    try {
      expect(await sink.open()).toBeUndefined();
      await sink.commit({ ...firstBatch, upsert: [lot(1)] });
      expect(await sink.read("lots", [1])).toEqual([lot(1)]);
      for await (const keys of sink.keys("lots")) expect(keys).toEqual([1]);
    } finally {
      types.setTypeParser(types.builtins.INT8, bigint);
    }
    await sink.close();
    expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    expect(await sink.open()).toBe("1");
    await client.end();
  });

  it("makes its tables in the first schema of the search_path unless another is named", async () => {
    const client = new Client({ connectionString });
    await client.connect();
    await client.query(`SET search_path = ${quoteName(schema)}, public`);
    const sink = newSink({ client, schema: undefined });
    await sink.open();
    await sink.commit({ ...firstBatch, upsert: [lot(1)] });
    await client.query("SET search_path = public");
    expect(await rows(`SELECT count(*)::int FROM ${table("lots")}`)).toEqual([{ count: 1 }]);
    await client.end();
  });

  it("leaves a table alone that no mirror created", async () => {
    await pool.query(`CREATE TABLE ${table("items")} (id serial PRIMARY KEY, name text)`);
    await pool.query(`INSERT INTO ${table("items")} (name) VALUES ('precious')`);
    await expect(newSink().open()).rejects.toThrow(ConfigurationError);
    await expect(newSink().open()).rejects.toThrow('the table "items" was not created by a mirror');
    expect(await rows(`SELECT name FROM ${table("items")}`)).toEqual([{ name: "precious" }]);
    expect(await rows(`SELECT to_regclass('${table("lots")}') AS lots`)).toEqual([{ lots: null }]);
  });

  it("does not take a table that was dropped for an empty one", async () => {
    const sink = newSink();
    await sink.open();
    await sink.commit({ ...firstBatch, upsert: [lot(1)] });
    await sink.close();
    await pool.query(`DROP TABLE ${table("lots")}`);
    await expect(sink.open()).rejects.toThrow('the table "lots" is missing');
    await pool.query(`DROP TABLE ${table("stocklot_state")}`);
    expect(await sink.open()).toBeUndefined();
  });

  it("keeps what others have added, and needs no right to create tables that exist", async () => {
    await newSink().open();
    await pool.query(`ALTER TABLE ${table("lots")} ADD COLUMN checked text DEFAULT 'not yet'`);
    const user = `stocklot_user_${process.pid}`;
    await pool.query(`CREATE ROLE ${user} LOGIN`);
    await pool.query(`GRANT USAGE ON SCHEMA ${quoteName(schema)} TO ${user}`);
    await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoteName(schema)} TO ${user}`);
    const sink = newSink({ connectionString: connectionString.replace("postgres@", `${user}@`) });
    await sink.open();
    await sink.commit({ ...firstBatch, upsert: [lot(1)] });
    await pool.query(`UPDATE ${table("lots")} SET checked = 'by hand'`);
    const upsert = [lot(1, { units: 8 })];
    await sink.commit({ ...firstBatch, upsert, previousState: "1", state: "2" });
    expect(await rows(`SELECT units, checked FROM ${table("lots")}`)).toEqual([{ units: "8", checked: "by hand" }]);
    await sink.close();
    await pool.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
  });

  it("makes the tables once when two mirrors begin at the same moment", async () => {
    const sinks = [newSink(), newSink(), newSink(), newSink()];
    await pool.query(`DROP SCHEMA ${quoteName(schema)}`);
    expect(await Promise.all(sinks.map((sink) => sink.open()))).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("waits for the commit of a killed process, which the server completes", async () => {
    const sink = newSink();
    await sink.open();
    await sink.commit({ ...firstBatch, upsert: [] });
    await sink.close();
    const killed = new Client({ connectionString });
    await killed.connect();
    await killed.query(`BEGIN; UPDATE ${table("stocklot_state")} SET state = '2'`);
    const state = sink.open();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await killed.query("COMMIT");
    expect(await state).toBe("2");
    await killed.end();
  });

  it("rejects with a StorageError if the database fails", async () => {
    const sink = newSink({ connectionString: "postgres://nobody@127.0.0.1:1/none" });
    const location = "127.0.0.1:1/none";
    await expect(sink.open()).rejects.toMatchObject({ name: "StorageError", location, problem: "unreachable" });
  });

  it("refuses a second mirror that waits for the first one's commit", async () => {
    const sink = newSink();
    await sink.open();
    const other = new Client({ connectionString });
    await other.connect();
    await other.query(`BEGIN; UPDATE ${table("stocklot_state")} SET state = 'theirs'`);
    const refused = expect(sink.commit({ ...firstBatch, upsert: [lot(1)] })).rejects.toThrow("another mirror");
    await new Promise((resolve) => setTimeout(resolve, 100));
    await other.query("COMMIT");
    await refused;
    expect(await rows(`SELECT count(*)::int FROM ${table("lots")}`)).toEqual([{ count: 0 }]);
    await other.end();
  });

  it("continues after the server has closed its connection", async () => {
    const sink = newSink();
    await sink.open();
    await pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL",
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await sink.open()).toBeUndefined();
    await sink.commit({ ...firstBatch, upsert: [lot(1)] });
    expect(await sink.read("lots", [1])).toEqual([lot(1)]);
  });

  it("refuses a database that cannot hold all characters", async () => {
    const name = `stocklot_latin1_${process.pid}`;
    await pool.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`);
    const address = new URL(connectionString);
    address.pathname = name;
    const sink = newSink({ connectionString: address.href });
    await expect(sink.open()).rejects.toThrow("the encoding of the database must be UTF8, not LATIN1");
    await sink.close();
    await pool.query(`DROP DATABASE ${name}`);
  });

  it.each([
    [undefined, "options"],
    [{}, "exactly one of"],
    [{ connectionString: "" }, "connectionString"],
    [{ connectionString: "x", pool: { query() {} } }, "exactly one of"],
    [{ pool: {} }, "pool: must be a Pool or a Client of pg"],
    [{ connectionString: "x", table: "lots" }, 'unknown option "table"'],
  ])("refuses the options %j", (options, message) => {
    const make = () => Reflect.apply(postgresSink, undefined, [options]);
    expect(make).toThrow(ConfigurationError);
    if (options) expect(make).toThrow(message);
  });
});
