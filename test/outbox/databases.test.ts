import { Client, type Pool } from "pg";
import { afterAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ConfigurationError, StorageError } from "../../src/index.js";
import { createOutbox, type OutboxOptions, postgresOutboxStore, sqliteOutboxStore } from "../../src/outbox/index.js";
import { turnsOf } from "../support/loop-time.js";
import { findPostgres, openPool } from "../support/postgres-server.js";
import { sleep } from "../support/with-server.js";
import { openStore } from "./support/store-spec.js";
import { createWorld, receipt } from "./support/world.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());
const connectionString = postgres?.url ?? "";
let names = 0;
const newName = () => `databases_${process.pid}_${names++}`;

describe("an SQLite outbox", () => {
  it.each([
    ":memory:",
    "file::memory:",
    "file:x.db?mode=memory&cache=shared",
    "FILE:x.db",
  ])("is a file, not %s", (path) => {
    expect(() => sqliteOutboxStore({ path })).toThrow(ConfigurationError);
    expect(() => sqliteOutboxStore({ path })).toThrow("must be the path of a file");
  });
});

describe("an SQLite outbox with a trigger that ignores changes", () => {
  it.each([
    ["store", "UPDATE"],
    ["entries", "UPDATE"],
    ["entries", "INSERT"],
  ])("of the table %s, by %s, says so instead of turning for ever", async (table, event) => {
    const world = createWorld();
    const outbox = world.createOutbox();
    onTestFinished(() => outbox.close());
    await outbox.add(receipt("first"));
    const { store } = await openStore(world.store());
    await store.database.transaction((query) =>
      query(`CREATE TRIGGER t BEFORE ${event} ON stocklot_outbox_${table} BEGIN SELECT RAISE(IGNORE); END`),
    );
    await store.database.close();
    const ending = event === "INSERT" ? outbox.add(receipt("second")) : outbox.run();
    await expect(ending).rejects.toThrow(StorageError);
    await expect(ending).rejects.toThrow(`${event} had no effect on rows of the table "stocklot_outbox_${table}"`);
    expect(world.effects()).toBe(0);
  });
});

describe("an outbox in PostgreSQL", () => {
  beforeEach(({ skip }) => skip(!postgres, "there is no PostgreSQL"));

  const admin = openPool({ connectionString, max: 1 });
  afterAll(() => admin.end());

  const open = (options: Omit<OutboxOptions, "store">, store: Parameters<typeof postgresOutboxStore>[0]) => {
    const outbox = createOutbox({ ...options, store: postgresOutboxStore(store) });
    onTestFinished(() => outbox.close());
    return outbox;
  };

  /** Creates a database, which has only the default schema. */
  const newDatabase = async () => {
    const name = newName();
    await admin.query(`CREATE DATABASE ${name}`);
    onTestFinished(async () => {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    });
    const url = new URL(connectionString);
    url.pathname = `/${name}`;
    return url;
  };
  const newRole = async () => {
    const role = newName();
    await admin.query(`CREATE ROLE ${role} LOGIN`);
    return role;
  };
  const connected = async (url: string | URL) => {
    const client = new Client({ connectionString: String(url) });
    await client.connect();
    client.on("error", () => {});
    onTestFinished(() => client.end());
    return client;
  };
  const poolOf = (config: object): Pool => {
    const pool = openPool(config);
    onTestFinished(() => pool.end());
    return pool;
  };

  describe("is in the schema stocklot", () => {
    it("whatever schema the search_path finds first later", async () => {
      const url = await newDatabase();
      const world = createWorld();
      const options = { client: world.createClient(), settleMs: 1_000 };
      const deliver = async () => {
        const outbox = open(options, { connectionString: url.href });
        await outbox.add(receipt("asn-1"));
        return (await outbox.run()).applied;
      };
      expect(await deliver()).toBe(1);
      const other = await connected(url);
      await other.query(`CREATE SCHEMA "${decodeURIComponent(url.username)}"`);
      expect(await deliver()).toBe(0);
      expect(world.effects()).toBe(1);
      expect(
        (await other.query("SELECT to_regclass('stocklot.stocklot_outbox_entries') AS name")).rows[0].name,
      ).toBeTruthy();
    });

    it("and asks for the option if the search_path begins with that of a tenant, also within a transaction", async () => {
      const url = await newDatabase();
      const tenant = new URL(url);
      tenant.searchParams.set("options", "-c search_path=tenant_a,public");
      const refused = open({}, { connectionString: tenant.href });
      await expect(refused.summary()).rejects.toThrow(ConfigurationError);
      await expect(refused.add(receipt("a"))).rejects.toThrow('the search_path begins with the schema "tenant_a"');
      const outbox = open({}, { connectionString: url.href });
      await outbox.summary();
      const client = await connected(url);
      await client.query("BEGIN; SET LOCAL search_path = tenant_b");
      await expect(outbox.add(receipt("a"), { client })).rejects.toThrow(/option schema.*"tenant_b"/s);
      await client.query('SET LOCAL search_path = "$user", public');
      expect(await outbox.add(receipt("a"), { client })).toMatchObject({ state: "pending" });
      await client.query("COMMIT");
      const named = open({}, { connectionString: tenant.href, schema: "tenant_a" });
      expect(await named.add(receipt("a"))).toMatchObject({ state: "pending" });
    });

    it("and says what to run if it may not create it", async () => {
      const url = await newDatabase();
      const role = await newRole();
      const user = new URL(url);
      user.username = role;
      const outbox = open({}, { connectionString: user.href });
      const error: unknown = await outbox.summary().catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(StorageError);
      const [statement = ""] = /CREATE SCHEMA .*?;/.exec(String(error)) ?? [];
      expect(statement).toBe(`CREATE SCHEMA "stocklot" AUTHORIZATION "${role}";`);
      const owner = await connected(url);
      await owner.query('CREATE SCHEMA "stocklot"');
      const [grant = ""] = /GRANT .*?;/.exec(String(await outbox.summary().catch((failure: unknown) => failure))) ?? [];
      await owner.query(grant);
      expect(await outbox.add(receipt("a"))).toMatchObject({ state: "pending" });
    });

    it("and refuses another user who has no rights on it, instead of opening one of its own", async () => {
      const url = await newDatabase();
      await open({}, { connectionString: url.href }).add(receipt("a"));
      const user = new URL(url);
      user.username = await newRole();
      const owner = await connected(url);
      await owner.query(`CREATE SCHEMA "${user.username}" AUTHORIZATION "${user.username}"`);
      await expect(open({}, { connectionString: user.href }).add(receipt("a"))).rejects.toThrow(StorageError);
    });
  });

  describe("within a transaction of the caller's", () => {
    it("refuses one on another database, or on a copy of the store, and names both", async () => {
      const [one, two] = [await newDatabase(), await newDatabase()];
      const outbox = open({}, { connectionString: one.href });
      const client = await connected(two);
      await client.query("BEGIN");
      const error: unknown = await outbox.add(receipt("a"), { client }).catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(String(error)).toContain(`database ${one.pathname.slice(1)}`);
      expect(String(error)).toContain(`database ${two.pathname.slice(1)}`);
      await client.query("COMMIT");
      expect((await client.query("SELECT to_regclass('stocklot.stocklot_outbox_entries') AS name")).rows).toEqual([
        { name: null },
      ]);
    });

    it("creates and locks nothing in it: ten programs, their first entries, nobody waits for another", async () => {
      const schema = newName();
      const world = createWorld();
      const client = world.createClient();
      const ends = new AbortController();
      const programs = Array.from({ length: 10 }, async (_, index) => {
        const pool = poolOf({ connectionString, max: 10 });
        const outbox = open({ client, settleMs: 1_000 }, { pool, schema });
        const connection = await pool.connect();
        await connection.query("BEGIN");
        await outbox.add(receipt(`k${index}`), { client: connection });
        // This entry is not part of the open transaction.
        await outbox.add(receipt(`own${index}`));
        await sleep(3_000);
        await connection.query(index === 3 ? "ROLLBACK" : "COMMIT");
        connection.release();
        return outbox;
      });
      const startedAt = performance.now();
      await sleep(500);
      const runner = open({ client, settleMs: 1_000 }, { connectionString, schema });
      const waiting = runner.run();
      expect(await turnsOf(waiting)).toBeLessThan(2_500);
      await Promise.all(programs);
      expect(performance.now() - startedAt).toBeGreaterThan(2_900);
      ends.abort();
      await runner.run();
      expect(await runner.summary()).toMatchObject({ pending: 0, applied: 19 });
      expect(await runner.get("k3")).toBeUndefined();
    });

    it("needs a connection of its own before the first entry; summary() at the start is enough", async () => {
      const schema = newName();
      const pool = poolOf({ connectionString, max: 1 });
      const client = createWorld().createClient();
      const outbox = open({ client }, { pool, schema });
      const connection = await pool.connect();
      await connection.query("BEGIN");
      const adding = outbox.add(receipt("a"), { client: connection });
      expect(await turnsOf(adding)).toBeLessThan(6_000);
      await expect(adding).rejects.toThrow(StorageError);
      await expect(adding).rejects.toThrow("await outbox.summary()");
      await connection.query("ROLLBACK");
      connection.release();
      await outbox.summary();
      const again = await pool.connect();
      await again.query("BEGIN");
      expect(await outbox.add(receipt("a"), { client: again })).toMatchObject({ state: "pending" });
      await again.query("COMMIT");
      again.release();
      expect(await outbox.summary()).toMatchObject({ pending: 1 });
    });

    it("does not wait for long for a key that another open transaction has added", async () => {
      const schema = newName();
      const outbox = open({}, { connectionString, schema });
      const [one, two] = [await connected(connectionString), await connected(connectionString)];
      await one.query("BEGIN");
      await two.query("BEGIN");
      await outbox.add(receipt("a"), { client: one });
      const adding = outbox.add(receipt("a"), { client: two });
      await expect(adding).rejects.toThrow(StorageError);
      await expect(adding).rejects.toThrow("lock timeout");
      expect(await outbox.add(receipt("b"), { client: two })).toMatchObject({ state: "pending" });
      await one.query("COMMIT");
      await two.query("COMMIT");
      expect(await outbox.summary()).toMatchObject({ pending: 2 });
    });

    it("leaves the settings of the transaction as they were", async () => {
      const outbox = open({}, { connectionString, schema: newName() });
      const client = await connected(connectionString);
      await client.query("BEGIN; SET LOCAL lock_timeout = '7s'");
      const settings = async () =>
        (await client.query("SELECT current_setting('row_security') AS rows, current_setting('lock_timeout') AS lock"))
          .rows[0];
      await outbox.add(receipt("a"), { client });
      expect(await settings()).toEqual({ rows: "on", lock: "7s" });
      await expect(outbox.add(receipt("a", { units: 9 }), { client })).rejects.toThrow("was added before");
      expect(await settings()).toEqual({ rows: "on", lock: "7s" });
      await client.query("COMMIT");
    });
  });

  describe("in which somebody hides or refuses rows", () => {
    const TABLES = ["store", "entries"] as const;
    const POLICIES = [
      "", // none: everything is hidden and refused
      "CREATE POLICY s ON $ FOR SELECT USING (true); CREATE POLICY i ON $ FOR INSERT WITH CHECK (true)",
      "CREATE POLICY p ON $ USING (false) WITH CHECK (true)",
    ];
    const use = async (schema: string, url: URL | string, pool?: Pool) => {
      const world = createWorld();
      const store = pool ? { pool, schema } : { connectionString: String(url), schema };
      const outbox = open({ client: world.createClient(), settleMs: 1_000, leaseMs: 1_000 }, store);
      return { world, outbox };
    };
    const prepared = async () => {
      const schema = newName();
      const owner = await use(schema, connectionString);
      await owner.outbox.add(receipt("first"));
      await owner.outbox.run();
      const url = new URL(connectionString);
      url.username = await newRole();
      await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO ${url.username};
        GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA ${schema} TO ${url.username}`);
      return { schema, url, ...owner };
    };
    /** Returns the result or the error of a method, or an error after 10 s. */
    const endOf = async (promise: Promise<unknown>) => {
      const end = promise.then(
        (value) => value,
        (error: unknown) => error,
      );
      const timeout = sleep(10_000).then(() => new Error("it does not end"));
      return Promise.race([end, timeout]);
    };

    it.each(
      TABLES.flatMap((table) => POLICIES.map((policy) => [table, policy] as const)),
    )("by row-level security of the table %s (%s): every method says so", async (table, policy) => {
      const { schema, url } = await prepared();
      const name = `${schema}.stocklot_outbox_${table}`;
      await admin.query(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY; ${policy.replaceAll("$", name)}`);
      const { outbox, world } = await use(schema, url);
      const client = await connected(url);
      await client.query("BEGIN");
      const ends = [
        await endOf(outbox.add(receipt("second"))),
        await endOf(outbox.add(receipt("second"), { client })),
        await endOf(outbox.run()),
        await endOf(outbox.get("first")),
        await endOf(outbox.summary()),
      ];
      // Opening the outbox reads the table `store`. The methods then read the table `entries`.
      for (const end of ends) {
        expect(end).toBeInstanceOf(StorageError);
        expect(String(end)).toContain(`stocklot_outbox_${table}`);
        expect(String(end)).toMatch(/row-level security.*needs (SELECT|INSERT|UPDATE)/s);
      }
      expect(world.effects()).toBe(0);
      await endOf(outbox.close());
    });

    it.each(
      TABLES.flatMap((table) => ["SELECT", "INSERT", "UPDATE"].map((right) => [table, right] as const)),
    )("by a missing grant on the table %s: %s is named", async (table, right) => {
      const { schema, url } = await prepared();
      await admin.query(`REVOKE ${right} ON ${schema}.stocklot_outbox_${table} FROM ${url.username}`);
      const { outbox, world } = await use(schema, url);
      const ends = [await endOf(outbox.add(receipt("second"))), await endOf(outbox.run())];
      const isNeeded = !(table === "store" && right === "INSERT");
      const errors = ends.filter((end) => end instanceof StorageError);
      expect(errors.length > 0).toBe(isNeeded);
      expect(ends.filter((end) => end instanceof Error)).toEqual(errors);
      for (const error of errors) expect(String(error)).toMatch(new RegExp(`stocklot_outbox_${table}.*${right}`, "s"));
      expect(world.effects()).toBe(isNeeded && errors.length > 0 ? 0 : 1);
      await endOf(outbox.close());
    });

    const undo = (table: string, changes: string) =>
      `IF pg_trigger_depth() = 1 THEN UPDATE $.stocklot_outbox_${table} SET ${changes}; END IF; RETURN NULL`;
    const TRIGGERS = [
      ["store", "BEFORE", "UPDATE", "RETURN NULL"],
      ["store", "BEFORE", "UPDATE", "IF NEW.sender = OLD.sender THEN RETURN NULL; END IF; RETURN NEW"],
      ["store", "BEFORE", "UPDATE", "RAISE EXCEPTION 'refused by a trigger'"],
      ["entries", "BEFORE", "INSERT", "RETURN NULL"],
      ["entries", "BEFORE", "INSERT", "RAISE EXCEPTION 'refused by a trigger'"],
      ["entries", "BEFORE", "UPDATE", "RETURN NULL"],
      ["entries", "BEFORE", "UPDATE", "RETURN OLD"],
      ["entries", "BEFORE", "UPDATE", "RAISE EXCEPTION 'refused by a trigger'"],
      ["entries", "BEFORE", "UPDATE", "IF NEW.state = 'applied' THEN RETURN NULL; END IF; RETURN NEW"],
      [
        "entries",
        "BEFORE",
        "UPDATE",
        "IF NEW.state = 'applied' THEN RAISE EXCEPTION 'refused by a trigger'; END IF; RETURN NEW",
      ],
      ["entries", "BEFORE", "INSERT", "NEW.input := '{}'; RETURN NEW"],
      ["entries", "BEFORE", "UPDATE", "NEW.error := 'none'; NEW.last_rec_no := 99; RETURN NEW"],
      ["store", "AFTER", "UPDATE", undo("store", "sender = OLD.sender, beat = OLD.beat")],
      ["store", "AFTER", "UPDATE", undo("store", "beat = 0")],
      ["entries", "AFTER", "INSERT", "DELETE FROM $.stocklot_outbox_entries WHERE key = NEW.key; RETURN NULL"],
      ["entries", "AFTER", "UPDATE", undo("entries", "state = OLD.state, attempts = OLD.attempts WHERE key = OLD.key")],
      ["entries", "DEFERRED", "UPDATE", undo("entries", "state = OLD.state WHERE key = OLD.key")],
    ] as const;

    it.each(TRIGGERS)("by a trigger on the table %s, %s %s: %s", async (table, time, event, body) => {
      const { schema, outbox: owner } = await prepared();
      if (event === "UPDATE") await owner.add(receipt("second"));
      await owner.close();
      const name = `${schema}.stocklot_outbox_${table}`;
      const [kind, when] = time === "DEFERRED" ? ["CONSTRAINT TRIGGER", "AFTER"] : ["TRIGGER", time];
      const deferred = time === "DEFERRED" ? "DEFERRABLE INITIALLY DEFERRED" : "";
      const code = body.replaceAll("$", schema);
      await admin.query(`CREATE FUNCTION ${schema}.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${code}; END $$;
        CREATE ${kind} t ${when} ${event} ON ${name} ${deferred} FOR EACH ROW EXECUTE FUNCTION ${schema}.f()`);
      const pool = poolOf({ connectionString });
      let statements = 0;
      pool.on("connect", (client) => {
        const { query } = client;
        client.query = ((...given: Parameters<typeof query>) => {
          statements += 1;
          return query.apply(client, given);
        }) as typeof query;
      });
      const { outbox, world } = await use(schema, "", pool);
      // A trigger that affects only heartbeats does nothing until there is one.
      if (body.includes("NEW.sender = OLD.sender"))
        world.onWrite = async ({ signal }, send) => {
          // The run gives up after some heartbeats. Then it ends with the error, although the service applies the write.
          await vi.waitUntil(() => signal.aborted, { timeout: 20_000 });
          return send();
        };
      const end = await endOf(event === "INSERT" ? outbox.add(receipt("second")) : outbox.run());
      expect(end).toBeInstanceOf(StorageError);
      expect(String(end)).toMatch(new RegExp(`${event}.*stocklot_outbox_${table}`));
      if (body.includes("RAISE")) expect(String(end)).toMatch(/refused by a trigger/);
      expect(statements).toBeLessThan(300);
      expect(world.effects()).toBeLessThanOrEqual(1);
      expect(await endOf(outbox.close())).toBeUndefined();
      // A later run without the trigger sends nothing twice.
      await admin.query(`DROP TRIGGER t ON ${name}`);
      const next = open({ client: world.createClient(), settleMs: 1_000 }, { connectionString, schema });
      await next.run();
      expect(world.effects()).toBeLessThanOrEqual(1);
    });
  });

  it("keeps the largest settleMs, also that of a process that only adds", async () => {
    const schema = newName();
    const adder = open({ settleMs: 400_000 }, { connectionString, schema });
    await adder.add(receipt("a"));
    await adder.close();
    const { store } = await openStore(postgresOutboxStore({ connectionString, schema }));
    expect(await store.sender()).toMatchObject({ settleMs: 400_000 });
    await store.database.close();
  });
});
