import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { ConfigurationError, StorageError } from "stocklot";
import { postgresSink } from "stocklot/mirror";
import { postgresOutboxStore } from "stocklot/outbox";
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { SqlQuery } from "../../src/storage/database.js";
import { PostgresDatabase, type PostgresOptions } from "../../src/storage/postgres.js";
import { findLeaks } from "../support/leaks.js";
import { turnsOf } from "../support/loop-time.js";
import { findPostgres, openPool } from "../support/postgres-server.js";
import { brokenNetwork } from "./support/broken-network.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());

describe.skipIf(!postgres)("a PostgreSQL connection", () => {
  const connectionString = postgres?.url ?? "";
  const table = `storage_${process.pid}`;
  const insert = (value: number) => (query: SqlQuery) => query(`INSERT INTO ${table} VALUES ($1)`, [value]);
  const values = async () => (await admin.query(`SELECT a FROM ${table} ORDER BY a`)).rows.map(({ a }) => a);

  let admin: Client;
  const cleanups: (() => Promise<unknown>)[] = [];
  const open = (options: PostgresOptions = { connectionString }) => {
    const connection = new PostgresDatabase(options);
    cleanups.push(() => connection.close());
    return connection;
  };

  beforeEach(async () => {
    admin = new Client({ connectionString });
    await admin.connect();
    await admin.query(`CREATE TABLE ${table} (a int)`);
  });

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await admin.query(`DROP TABLE ${table}`);
    await admin.end();
  });

  const lockTable = async () => {
    const other = new Client({ connectionString });
    await other.connect();
    cleanups.push(() => other.end());
    await other.query(`BEGIN; LOCK TABLE ${table}`);
    return other;
  };

  const callersPool = (options: object = {}) => {
    const pool = openPool({ connectionString, ...options });
    cleanups.push(() => pool.end());
    return pool;
  };

  it("commits all of a transaction or nothing, and passes the error of the work on", async () => {
    const connection = open();
    await connection.transaction(async (query) => {
      await insert(1)(query);
      await insert(2)(query);
    });
    const failing = connection.transaction(async (query) => {
      await insert(3)(query);
      throw new RangeError("mine");
    });
    await expect(failing).rejects.toThrow(new RangeError("mine"));
    await expect(connection.transaction((query) => query("SELECT nonsense"))).rejects.toMatchObject({
      name: "StorageError",
      mayBeStored: false,
      message: expect.stringContaining('column "nonsense" does not exist'),
    });
    expect(await values()).toEqual([1, 2]);
  });

  it.each(["own", "the caller's"])("ends the wait for a table lock, with %s pool", async (whose) => {
    const pool = callersPool({ max: 1 });
    const connection = open({ ...(whose === "own" ? { connectionString } : { pool }), waitMs: 2_000 });
    const other = await lockTable();
    const waiting = connection.transaction(insert(1));
    expect(await turnsOf(waiting)).toBeLessThan(8_000);
    await expect(waiting).rejects.toMatchObject({
      name: "StorageError",
      message: expect.stringContaining("lock timeout. The change was not stored. Check"),
      mayBeStored: false,
    });
    await other.query("ROLLBACK");
    await connection.transaction(insert(2));
    expect(await values()).toEqual([2]);
    // The limits applied to the transaction, and are not left in the session.
    expect((await pool.query("SHOW lock_timeout")).rows).toEqual([{ lock_timeout: "0" }]);
  });

  it("asks the network whether the server is still there while it waits for a response", async () => {
    const setKeepAlive = vi.spyOn(Socket.prototype, "setKeepAlive");
    onTestFinished(() => void setKeepAlive.mockRestore());
    await open().transaction(insert(1));
    expect(setKeepAlive).toHaveBeenCalledWith(true, expect.any(Number));
  });

  it("ends a command that takes too long", async () => {
    const slow = open().transaction((query) => query("SELECT pg_sleep(60)"), { timeoutMs: 100 });
    await expect(slow).rejects.toMatchObject({
      message: expect.stringContaining("canceling statement due to statement timeout"),
      mayBeStored: false,
    });
  });

  it("notices a silent network, keeps its promises then, and does not keep close() waiting", async () => {
    const network = await brokenNetwork(connectionString);
    cleanups.push(network.close);
    const connection = open({ connectionString: network.url, waitMs: 2_000 });
    await connection.transaction(insert(1));
    network.silence();
    const unstored = connection.transaction(insert(2), { timeoutMs: 300 });
    expect(await turnsOf(unstored)).toBeLessThan(15_000);
    await expect(unstored).rejects.toMatchObject({ mayBeStored: false });
    await connection.close();
    expect(await values()).toEqual([1]);
  });

  it("does not know whether a change is stored if the reply to its commit is lost; before, it is tried again", async () => {
    const network = await brokenNetwork(connectionString);
    cleanups.push(network.close);
    const connection = open({ connectionString: network.url });
    network.cutAfter("COMMIT\0");
    await expect(connection.transaction(insert(1))).rejects.toMatchObject({
      message: expect.stringContaining("Then try again"),
      mayBeStored: true,
    });
    expect(await values()).toEqual([1]);
    network.cutAfter("INSERT");
    await connection.transaction(insert(2));
    expect(await values()).toEqual([1, 2]);
  });

  it.each([
    "own",
    "the caller's",
  ])("continues when connections were lost, also within a transaction: %s pool", async (whose) => {
    const connection = open(whose === "own" ? { connectionString } : { pool: callersPool() });
    const kill = () =>
      admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL",
      );
    await connection.transaction(insert(1));
    await kill();
    await connection.transaction(insert(2));
    const killed = connection.transaction(async (query) => {
      await insert(3)(query);
      await kill();
      await sleep(100);
    });
    await expect(killed).rejects.toMatchObject({ message: expect.stringContaining("Then try again") });
    await connection.transaction(insert(4));
    expect(await values()).toEqual([1, 2, 4]);
  });

  it("ends the wait for a free connection of the caller's pool", async () => {
    const pool = callersPool({ max: 1 });
    const busy = await pool.connect();
    const connection = open({ pool, waitMs: 2_000 });
    await expect(connection.transaction(insert(1))).rejects.toMatchObject({
      message: expect.stringContaining(
        "no reply within 2 s. The change was not stored. Check that the database can be reached",
      ),
    });
    busy.release();
    await connection.transaction(insert(2));
    expect(await values()).toEqual([2]);
  });

  it("runs 1 000 transactions at once", async () => {
    const connection = open();
    await Promise.all(Array.from({ length: 1_000 }, (_, value) => connection.transaction(insert(value))));
    expect(await values()).toHaveLength(1_000);
  });

  it("waits for the disk at each commit, whatever the database says", async () => {
    const pool = callersPool({ options: "-c synchronous_commit=off" });
    const setting = open({ pool }).transaction((query) => query("SHOW synchronous_commit"));
    expect(await setting).toEqual([{ synchronous_commit: "on" }]);
  });

  it("says who was refused where, without the password", async () => {
    const password = "correct horse battery staple";
    const user = `${table}_user`;
    await admin.query(`CREATE ROLE ${user}`);
    cleanups.push(() => admin.query(`DROP ROLE ${user}`));
    const address = new URL(connectionString);
    address.username = user;
    address.password = password;
    const connection = open({ connectionString: address.href });
    const error: unknown = await connection.transaction(insert(1)).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(StorageError);
    expect(error).toMatchObject({
      message: expect.stringContaining("is not permitted to log in"),
      location: `${address.host}/postgres`,
    });
    expect(findLeaks(error, [password, encodeURIComponent(password)])).toEqual([]);
    expect(findLeaks(connection, [password, encodeURIComponent(password)])).toEqual([]);
  });

  it.each([
    [
      "nobody listens",
      "postgres://nobody:verysecretpassword@127.0.0.1:1/none",
      "connect ECONNREFUSED 127.0.0.1:1. The change was not stored. Check that the database can be reached",
    ],
    ["there is no such database", () => connectionString.replace(/[^/]+$/, "no_such"), "does not exist"],
  ])("reports that %s", async (_, url, text) => {
    const connection = open({ connectionString: typeof url === "string" ? url : url() });
    const failing = connection.transaction(insert(1));
    await expect(failing).rejects.toMatchObject({ name: "StorageError", mayBeStored: false });
    await expect(failing).rejects.toThrow(text);
    expect(findLeaks(await failing.catch((error: unknown) => error), ["verysecretpassword"])).toEqual([]);
  });

  it.each([
    "postgres://nobody:verysecretpassword@127.0.0.1:port/x",
    "postgres://nobody:4711/verysecretpassword@127.0.0.1/x",
    "postgres:///nobody:verysecretpassword@127.0.0.1/x",
    "postgres:nobody:verysecretpassword@127.0.0.1/x",
    "postgres://127.0.0.1/x;password=verysecretpassword",
    "postgres://127.0.0.1/x?user=nobody;password=verysecretpassword",
    "nobody:verysecretpassword@127.0.0.1/x",
    "//nobody:verysecretpassword@127.0.0.1/x",
    "",
  ])("refuses an address that is none, and does not show it: %s", (address) => {
    for (const open of [postgresSink, postgresOutboxStore]) {
      expect(() => open({ connectionString: address })).toThrow(ConfigurationError);
      expect(() => open({ connectionString: address })).not.toThrow("verysecretpassword");
    }
  });

  it.each([
    "postgres://stock@db:5433/stock?options=-c%20x%3D1",
    "postgresql://stock:p%40ss@db",
    "postgres://stock:secret@/stock?host=/var/run/postgresql",
    "socket:/var/run/postgresql?db=stock&user=stock",
    "/var/run/postgresql stock",
  ])("accepts what the driver does: %s", (address) => {
    expect(() => postgresSink({ connectionString: address })).not.toThrow();
  });
});
