import { copyFileSync, existsSync } from "node:fs";
import net from "node:net";
import { Client, Pool } from "pg";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ConfigurationError, InventoryClient, StorageError } from "../../src/index.js";
import { createOutbox, type OutboxStore, postgresOutboxStore, sqliteOutboxStore } from "../../src/outbox/index.js";
import { openSqlite } from "../../src/storage/sqlite.js";
import { ownFolder } from "../support/own-folder.js";
import { findPostgres, openPool } from "../support/postgres-server.js";
import { openStore } from "./support/store-spec.js";
import { connectionReset, createWorld, receipt } from "./support/world.js";

const fileNamed = ownFolder();
const postgres = await findPostgres();
afterAll(() => postgres?.close());
let files = 0;
const newFile = () => fileNamed(`${files++}.db`);
const newSchema = () => `stores_${process.pid}_${files++}`;

const clientOf = (address: string, clientId: string, serviceId?: string) =>
  new InventoryClient({ baseUrl: address, clientId, clientSecret: "secret", serviceId });

const STORES: [string, () => () => OutboxStore][] = [
  [
    "SQLite",
    () => {
      const path = newFile();
      return () => sqliteOutboxStore({ path });
    },
  ],
  [
    "PostgreSQL",
    () => {
      const schema = newSchema();
      return () => postgresOutboxStore({ connectionString: postgres?.url ?? "", schema });
    },
  ],
];

describe.each(STORES)("an outbox in %s", (name, newStore) => {
  beforeEach(({ skip }) => skip(name === "PostgreSQL" && !postgres, "there is no PostgreSQL"));

  it("keeps what was added, whatever characters it has, and adds a key once, also from several processes", async () => {
    const store = newStore();
    const outboxes = [1, 2, 3].map(() => createOutbox({ store: store(), mark: false }));
    const keys = ["a", "A", "ä", "\u{1F4E6}", "q\"'%_\\", "k".repeat(200)];
    await Promise.all(outboxes.map((outbox) => outbox.addMany(keys.map((key) => receipt(key, { remark: key })))));
    const found: unknown[] = [];
    for await (const { key, input } of outboxes[0]?.entries() ?? []) found.push([key, Object(input).remark]);
    expect(found).toEqual(keys.map((key) => [key, key]));
    for (const outbox of outboxes) await outbox.close();
  });

  it("resolves, cancels and prunes, and recognises keys for ever", async () => {
    const outbox = createOutbox({ store: newStore()(), mark: false });
    await outbox.addMany([receipt("a"), receipt("b")]);
    expect(await outbox.cancel("a")).toMatchObject({ state: "canceled" });
    expect(await outbox.cancel("a")).toMatchObject({ state: "canceled" });
    await expect(outbox.resolve("b", "applied")).rejects.toThrow('"b" is pending, not unknown or rejected');
    await expect(outbox.cancel("c")).rejects.toThrow('there is no entry "c"');
    expect(await outbox.prune({ olderThanMs: -1 }).catch(() => 0)).toBe(0);
    const options = { olderThanMs: 60_000 };
    const pruned = outbox.prune(options);
    options.olderThanMs = 0;
    expect(await pruned).toBe(0);
    expect(await outbox.prune({ olderThanMs: 0 })).toBe(1);
    expect((await outbox.get("a"))?.input).toBeUndefined();
    expect(await outbox.add(receipt("a"))).toMatchObject({ state: "canceled" });
    await expect(outbox.add(receipt("a", { units: 9 }))).rejects.toThrow('"a" was added before');
    expect(await outbox.summary()).toMatchObject({ pending: 1, canceled: 1, oldestUnsettledMs: expect.any(Number) });
    await outbox.close();
  });

  it("prunes no rejected entry: somebody may correct or repeat it", async () => {
    const outbox = createWorld().createOutbox({ store: newStore()() });
    await outbox.addMany([receipt("good"), receipt("bad", { itemID: "NONE" })]);
    await outbox.run();
    expect(await outbox.prune({ olderThanMs: 0 })).toBe(1);
    expect(await outbox.get("bad")).toMatchObject({ state: "rejected", input: { itemID: "NONE" }, error: {} });
    expect(await outbox.resolve("bad", "not-applied")).toMatchObject({ state: "pending" });
    await outbox.close();
  });

  it("opens the store again for calls that come while it is being closed", async () => {
    const world = createWorld();
    const outbox = world.createOutbox({ store: newStore()() });
    await outbox.add(receipt("a"));
    const run = outbox.run();
    const closing = outbox.close();
    const later = [outbox.add(receipt("b")).then(() => outbox.run()), outbox.get("a"), outbox.run()];
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    await closing;
    await Promise.all(later);
    expect(await outbox.summary()).toMatchObject({ pending: 0, applied: 2 });
    await outbox.close();
  });

  it("replaces rejected entries only", async () => {
    const world = createWorld();
    const outbox = world.createOutbox({ store: newStore()() });
    await outbox.addMany([receipt("bad", { itemID: "NONE" }), receipt("good")]);
    await outbox.run();
    const replaced = [receipt("bad", { units: 7 }), receipt("good")];
    await expect(outbox.addMany(replaced)).rejects.toThrow('"bad" was added before');
    expect(await outbox.addMany(replaced, { replaceRejected: true })).toMatchObject([
      { state: "pending", input: { itemID: "BOLT", units: 7 } },
      { state: "applied" },
    ]);
    const other = [receipt("good", { units: 1 }), receipt("new")];
    await expect(outbox.addMany(other, { replaceRejected: true })).rejects.toThrow('"good" was added before');
    expect(await outbox.get("new")).toBeUndefined();
    expect(await outbox.run()).toMatchObject({ applied: 1 });
    await outbox.close();
  });

  it("belongs to one service and account; a serviceId may change its address", async () => {
    const store = newStore();
    const use = async (client: InventoryClient) => {
      const outbox = createOutbox({ client, store: store() });
      await outbox.addMany([]).finally(() => outbox.close());
    };
    await use(clientOf("https://one.test/v1", "id"));
    await use(clientOf("https://one.test/v1/", "id"));
    await expect(use(clientOf("https://two.test/v1", "id"))).rejects.toThrow(
      /"https:\/\/one.test\/v1".*"https:\/\/two/,
    );
    const foreign = createOutbox({ client: clientOf("https://two.test/v1", "id"), store: store() });
    await expect(foreign.run()).rejects.toThrow("https://two.test/v1");
    await foreign.close();
    await expect(use(clientOf("https://one.test/v1", "other"))).rejects.toThrow('the client ID "id"');
    await use(clientOf("https://one.test/v1", "id", "warehouse"));
    await use(clientOf("https://two.test/v1", "other", "warehouse"));
    await expect(use(clientOf("https://one.test/v1", "id", "another"))).resolves.toBeUndefined();
  });

  it("ends a run whose database has lost commits, and names what was sent since", async () => {
    const world = createWorld();
    const store = newStore();
    const outbox = world.createOutbox({ store: store(), leaseMs: 1_000 });
    await outbox.addMany([receipt("a"), receipt("b")]);
    const { store: opened } = await openStore(store());
    let isRestored = false;
    world.onWrite = async (_, send) => {
      const sql = `UPDATE ${opened.names.store} SET beat = -5`;
      if (!isRestored) await opened.database.transaction((run) => run(sql));
      isRestored = true;
      return send();
    };
    const error: unknown = await outbox.run().catch((reason) => reason);
    expect(error).toBeInstanceOf(StorageError);
    expect(String(error)).toContain('Sent since: "a". Check them.');
    await opened.database.close();
    await outbox.close();
  });
});

describe("an outbox in SQLite", () => {
  it("is its file and the log: the file alone is complete after a clean end", async () => {
    const path = newFile();
    const outbox = createOutbox({ store: sqliteOutboxStore({ path }) });
    await outbox.add(receipt("a"));
    expect(existsSync(`${path}-wal`)).toBe(true);
    await outbox.close();
    const copy = newFile();
    copyFileSync(path, copy);
    expect(await createOutbox({ store: sqliteOutboxStore({ path: copy }) }).summary()).toMatchObject({ pending: 1 });
  });

  it("of another format is refused", async () => {
    const path = newFile();
    const database = await openSqlite({ path });
    const sql = "CREATE TABLE stocklot_outbox_store (id text, service text, version integer)";
    await database.transaction(async (run) => {
      await run(sql);
      await run("INSERT INTO stocklot_outbox_store VALUES ('x', NULL, 2)");
    });
    await database.close();
    const outbox = createOutbox({ store: sqliteOutboxStore({ path }) });
    await expect(outbox.summary()).rejects.toBeInstanceOf(ConfigurationError);
  });

  it("cannot join a transaction", () =>
    expect(
      createOutbox({ store: sqliteOutboxStore({ path: newFile() }) }).add(receipt("a"), { client: {} }),
    ).rejects.toBeInstanceOf(ConfigurationError));
});

describe("an outbox in PostgreSQL", () => {
  beforeEach(({ skip }) => skip(!postgres, "there is no PostgreSQL"));
  const connectionString = postgres?.url ?? "";

  it("listens for lost connections of the caller's pool until it is closed, also if another store on the pool is closed before", async () => {
    const pool = new Pool({ connectionString, max: 1 });
    const [outbox, other] = [1, 2].map(() =>
      createOutbox({ store: postgresOutboxStore({ pool, schema: newSchema() }) }),
    );
    await outbox?.add(receipt("a"));
    await other?.add(receipt("a"));
    await other?.close();
    expect(pool.listenerCount("error")).toBe(1);
    await outbox?.add(receipt("b"));
    await outbox?.close();
    expect(pool.listenerCount("error")).toBe(0);
    await pool.end();
  });

  it("leaves a transaction usable if its entry is refused", async () => {
    const client = new Client({ connectionString });
    await client.connect();
    onTestFinished(() => client.end());
    const outbox = createOutbox({ store: postgresOutboxStore({ connectionString, schema: newSchema() }) });
    await outbox.add(receipt("a"));
    await client.query("BEGIN");
    // Adds several entries at the same time. The refused entry must not roll back the others.
    const added = ["b", "c", "d"].map((key) => outbox.add(receipt(key), { client }));
    await expect(outbox.add(receipt("a", { units: 9 }), { client })).rejects.toThrow('"a" was added before');
    await Promise.all([...added, outbox.add(receipt("e"), { client })]);
    await client.query("COMMIT");
    expect(await outbox.summary()).toMatchObject({ pending: 5 });
    await outbox.close();
  });

  it("works with any settings of the pool and the database", async () => {
    const settings = ["array_nulls=off", "quote_all_identifiers=on", "TimeZone=Asia/Kathmandu"];
    const isolation = "default_transaction_isolation=serializable";
    const options = [...settings, isolation].map((setting) => `-c ${setting}`).join(" ");
    const pool = openPool({ connectionString, max: 2, options });
    onTestFinished(() => pool.end());
    const world = createWorld();
    const outbox = world.createOutbox({ store: postgresOutboxStore({ pool, schema: newSchema() }), mark: "remark" });
    await outbox.addMany([receipt("a"), receipt("b", { itemID: "NONE" })]);
    let isLost = false;
    world.onWrite = async (request, send) => {
      const isOfBolt = (await request.clone().text()).includes("BOLT");
      const response = await send();
      if (!isOfBolt || isLost) return response;
      isLost = true;
      throw connectionReset();
    };
    expect(await outbox.run()).toMatchObject({ applied: 1, rejected: 1 });
    expect(await outbox.get("a")).toMatchObject({ attempts: 1, addedAt: expect.any(Number), state: "applied" });
    expect(await outbox.summary()).toMatchObject({ applied: 1, rejected: 1, pending: 0 });
  });

  it("refuses connections with binary values, of which pg alters numbers", async () => {
    // `binary` is missing in the types of pg.
    const config = Object({ connectionString, max: 1, binary: true });
    const pool = openPool(config);
    onTestFinished(() => pool.end());
    const store = postgresOutboxStore({ pool, schema: newSchema() });
    await expect(createOutbox({ store }).add(receipt("a"))).rejects.toThrow(ConfigurationError);
    const outbox = createOutbox({ store: postgresOutboxStore({ connectionString, schema: newSchema() }) });
    onTestFinished(() => outbox.close());
    await expect(outbox.add(receipt("a"), { client: new Client(config) })).rejects.toThrow("binary: true");
  });
});

/** A message of the protocol of PostgreSQL. */
function message(type: string, ...parts: (string | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

describe("a PostgreSQL server", () => {
  it("that ends a connection in the moment in which it was opened ends no process", async () => {
    const greeting = [message("R", [0, 0, 0, 0]), message("Z", "I")];
    const ended = message("E", "SFATAL\0", "C57P01\0", "Mterminating connection\0", "\0");
    const server = net.createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(Buffer.concat([...greeting, ended])));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const connectionString = `postgres://u@127.0.0.1:${Object(server.address()).port}/db`;
    const outbox = createOutbox({ store: postgresOutboxStore({ connectionString }) });
    await expect(outbox.summary()).rejects.toBeInstanceOf(StorageError);
    const pool = openPool({ connectionString });
    onTestFinished(() => pool.end());
    const other = createOutbox({ store: postgresOutboxStore({ pool }) });
    await expect(other.summary()).rejects.toBeInstanceOf(StorageError);
  });
});
