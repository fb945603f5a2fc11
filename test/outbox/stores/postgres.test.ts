import { Client, Pool } from "pg";
import { ConfigurationError } from "stocklot";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/outbox/delivery-store.js";
import {
  PostgresOutboxStore,
  type PostgresOutboxStoreOptions,
  postgresOutboxStore,
} from "../../../src/outbox/stores/postgres-store.js";
import { quoteName } from "../../../src/storage/tables.js";
import { brokenNetwork } from "../../storage/support/broken-network.js";
import { findLeaks } from "../../support/leaks.js";
import { findPostgres, openPool } from "../../support/postgres-server.js";
import { describeStore } from "./conformance.js";
import { describeDeliveries } from "./deliveries.js";
import { newEntry } from "./support/new-entry.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());

describe.skipIf(!postgres)("postgresOutboxStore", () => {
  const connectionString = postgres?.url ?? "";
  let schemas = 0;
  const newSchema = () => `outbox "test" ${process.pid} ${++schemas}`;

  describeStore("as every store", () => {
    const schema = newSchema();
    return () => postgresOutboxStore({ connectionString, schema });
  });

  describeDeliveries(() => new PostgresOutboxStore({ connectionString, schema: newSchema() }));

  let schema: string;
  let pool: Pool;
  let store: DeliveryStore;
  const cleanups: (() => Promise<unknown>)[] = [];
  const openStore = async (options: PostgresOutboxStoreOptions = { connectionString }) => {
    const opened = new PostgresOutboxStore({ schema, ...options });
    cleanups.push(() => opened.close());
    await opened.open();
    return opened;
  };
  const table = (name: string) => `${quoteName(schema)}.stocklot_outbox_${name}`;

  beforeEach(async () => {
    schema = newSchema();
    pool = openPool({ connectionString });
    store = await openStore();
  });

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await pool.query(`DROP SCHEMA ${quoteName(schema)} CASCADE`);
    await pool.end();
  });

  it("adds entries in the caller's transaction: stored with its commit, and not before", async () => {
    const client = await pool.connect();
    await client.query("BEGIN");
    expect(await store.add([newEntry("a")], client)).toMatchObject([{ key: "a", state: "pending" }]);
    expect(await store.get("a")).toBeUndefined();
    expect(await store.claim({ owner: "me", leaseMs: 1_000, limit: 1, except: [] })).toEqual([]);
    await client.query("COMMIT");
    expect(await store.get("a")).toBeDefined();
    await client.query("BEGIN");
    await store.add([newEntry("b")], client);
    await client.query("ROLLBACK");
    expect(await store.get("b")).toBeUndefined();
    client.release();
  });

  it("leaves the caller's transaction usable if an entry is refused", async () => {
    await store.add([newEntry("a")]);
    const client = await pool.connect();
    await client.query("BEGIN");
    await store.add([newEntry("b")], client);
    const refused = await store.add([newEntry("c"), newEntry("a", "nut", { inputHash: "another" })], client);
    expect(refused.map(({ key }) => key)).toEqual(["a"]);
    const broken = newEntry("d", "nut", { input: "\0" });
    await expect(store.add([broken], client)).rejects.toMatchObject({ name: "StorageError" });
    await store.add([newEntry("e")], client);
    await client.query("COMMIT");
    client.release();
    expect((await store.list({ after: 0, limit: 10 })).map(({ key }) => key)).toEqual(["a", "b", "e"]);
  });

  it("refuses what is no connection with an open transaction", async () => {
    for (const client of [null, {}, pool]) {
      await expect(store.add([newEntry("a")], client)).rejects.toThrow(ConfigurationError);
    }
    const client = await pool.connect();
    await expect(store.add([newEntry("a")], client)).rejects.toThrow(
      "SAVEPOINT can only be used in transaction blocks",
    );
    client.release();
    expect(await store.get("a")).toBeUndefined();
  });

  it("does not wait for a long transaction of the caller's that adds entries of the same item", async () => {
    await store.add([newEntry("a")]);
    const client = await pool.connect();
    await client.query("BEGIN");
    await store.add([newEntry("b"), newEntry("c", "new item")], client);
    const [claimed] = await store.claim({ owner: "me", leaseMs: 30_000, limit: 5, except: [] });
    expect(claimed?.entry.key).toBe("a");
    const condition = { state: "pending" as const, attempts: 0, owner: "me" };
    expect(await store.update("a", condition, { state: "applied" })).toMatchObject({ changed: true });
    await store.add([newEntry("d"), newEntry("e", "new item")]);
    await client.query("ROLLBACK");
    client.release();
  });

  it("records one of several deliveries of a file that begin at the same time", async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, () => openStore()));
    const results = await Promise.all(
      stores.map((one, index) => {
        const delivery = { name: `day-${index}`, file: "day.csv", digest: "d1", lines: 1, begunAt: 1 };
        return one.commit({ add: [{ ...newEntry(`k${index}`, "x"), delivery: delivery.name }], delivery });
      }),
    );
    expect(results.filter(({ deliveries }) => deliveries.length === 0)).toHaveLength(1);
    expect(await store.deliveries()).toHaveLength(1);
  });

  it("reads back what it stored if the reply to a commit is lost", async () => {
    const network = await brokenNetwork(connectionString);
    cleanups.push(network.close);
    const remote = await openStore({ connectionString: network.url });
    network.cutAfter("COMMIT\0");
    await expect(remote.add([newEntry("a")])).rejects.toMatchObject({ name: "StorageError", mayBeStored: true });
    expect(await remote.add([newEntry("a"), newEntry("b")])).toMatchObject([{ key: "a" }, { key: "b" }]);
    network.cutAfter("COMMIT\0");
    const condition = { state: "pending" as const, attempts: 0 };
    const change = { state: "sending" as const, attempts: 1 };
    await expect(remote.update("a", condition, change)).rejects.toMatchObject({ mayBeStored: true });
    expect(await remote.update("a", condition, change)).toMatchObject({ changed: false, entry: change });
    network.cutAfter("UPDATE");
    await expect(remote.update("b", condition, change)).rejects.toMatchObject({ mayBeStored: false });
    expect(await remote.get("b")).toMatchObject({ state: "pending" });
    expect(await remote.count([])).toMatchObject({ pending: 1, sending: 1 });
  });

  it("commits to the disk even if the database does not wait for it", async () => {
    const lax = openPool({ connectionString, options: "-c synchronous_commit=off" });
    cleanups.push(() => lax.end());
    await pool.query(`CREATE FUNCTION ${quoteName(schema)}.note() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN NEW.result = current_setting('synchronous_commit'); RETURN NEW; END $$`);
    await pool.query(`CREATE TRIGGER note BEFORE INSERT ON ${table("entries")}
      FOR EACH ROW EXECUTE FUNCTION ${quoteName(schema)}.note()`);
    const entries = await (await openStore({ pool: lax })).add([newEntry("a")]);
    expect(entries).toMatchObject([{ result: "on" }]);
  });

  it("uses the first schema of the search_path unless another is named, and the caller's pool, which it leaves open", async () => {
    const own = openPool({ connectionString });
    own.on("connect", (client) => void client.query(`SET search_path = ${quoteName(schema)}, public`));
    cleanups.push(() => own.end());
    const sharing = await openStore({ pool: own, schema: undefined });
    await sharing.add([newEntry("a")]);
    await sharing.close();
    expect(await store.get("a")).toBeDefined();
    expect((await own.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });

  it("needs no right to create tables that exist", async () => {
    const user = `stocklot_outbox_user_${process.pid}`;
    await pool.query(`CREATE ROLE ${user} LOGIN`);
    await pool.query(`GRANT USAGE ON SCHEMA ${quoteName(schema)} TO ${user}`);
    await pool.query(`GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA ${quoteName(schema)} TO ${user}`);
    cleanups.push(() => pool.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`));
    const limited = await openStore({ connectionString: connectionString.replace("postgres@", `${user}@`) });
    await limited.add([newEntry("a")]);
    expect(await limited.claim({ owner: "me", leaseMs: 1_000, limit: 1, except: [] })).toHaveLength(1);
  });

  it("refuses tables of a later version", async () => {
    await pool.query(`UPDATE ${table("store")} SET version = 99`);
    await expect(openStore()).rejects.toThrow(ConfigurationError);
    await expect(openStore()).rejects.toThrow("version 99");
  });

  it("continues after its connections were closed by the server", async () => {
    await store.add([newEntry("a")]);
    await pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL",
    );
    expect(await store.get("a")).toBeDefined();
    await store.add([newEntry("b")]);
  });

  it("says who was refused where, without the password", async () => {
    const user = `stocklot_outbox_refused_${process.pid}`;
    await pool.query(`CREATE ROLE ${user}`);
    cleanups.push(() => pool.query(`DROP ROLE ${user}`));
    const address = new URL(connectionString);
    address.username = user;
    address.password = "correct horse battery staple";
    const refused = postgresOutboxStore({ connectionString: address.href, schema });
    const error: unknown = await refused.open().catch((failure: unknown) => failure);
    expect(error).toMatchObject({ name: "StorageError", problem: "permission", location: `${address.host}/postgres` });
    expect(findLeaks([error, refused], [address.password, "correct horse battery staple"])).toEqual([]);
  });

  it("does not wait for a locked table for ever, but does not give up within a moment", async () => {
    const other = new Client({ connectionString });
    await other.connect();
    await other.query(`BEGIN; LOCK TABLE ${table("entries")}`);
    const adding = store.add([newEntry("a")]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await other.query("COMMIT");
    expect(await adding).toHaveLength(1);
    await other.end();
  });
});

describe("the options of postgresOutboxStore", () => {
  it.each([
    [undefined, "exactly one of"],
    [{}, "exactly one of"],
    [{ connectionString: "x", pool: new Pool() }, "exactly one of"],
    [{ pool: { query() {} } }, "pool: must be a Pool of pg"],
    [{ connectionString: "" }, "connectionString"],
    [{ connectionString: "x", table: "y" }, 'unknown option "table"'],
  ])("refuse %j", (options, message) => {
    const create = () => Reflect.apply(postgresOutboxStore, undefined, [options]);
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(message);
  });
});
