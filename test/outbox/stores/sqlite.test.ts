import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigurationError } from "stocklot";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OutboxStore } from "../../../src/outbox/store.js";
import {
  SqliteOutboxStore,
  type SqliteStoreInternals,
  sqliteOutboxStore,
} from "../../../src/outbox/stores/sqlite-store.js";
import { loadNodeDriver, loadPackageDriver, type SqliteDatabase } from "../../../src/storage/sqlite/driver.js";
import { describeStore } from "./conformance.js";
import { describeDeliveries } from "./deliveries.js";
import { newEntry } from "./support/new-entry.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-outbox-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
let files = 0;
const newPath = () => join(directory, `outbox-${++files}.db`);

describe.each(["package", "node"] as const)("sqliteOutboxStore, driver: %s", (name) => {
  const driver = name === "node" ? loadNodeDriver() : undefined;
  if (name === "node" && !driver) return it.skip(`Node.js ${process.versions.node} has no node:sqlite`);
  const loadDriver = async () => driver ?? (await loadPackageDriver());

  describeStore("as every store", () => {
    const path = newPath();
    return () => new SqliteOutboxStore({ path }, { loadDriver });
  });

  describeDeliveries(() => new SqliteOutboxStore({ path: newPath() }, { loadDriver }));

  describe("of its own", () => {
    let path: string;
    let database: SqliteDatabase;
    const opened: OutboxStore[] = [];
    const openStore = async (internals: SqliteStoreInternals = {}) => {
      const store = new SqliteOutboxStore({ path }, { loadDriver, ...internals });
      opened.push(store);
      await store.open();
      return store;
    };
    const claim = (store: OutboxStore, owner: string) => store.claim({ owner, leaseMs: 30_000, limit: 10, except: [] });

    beforeEach(async () => {
      path = newPath();
      database = new (await loadDriver()).DatabaseSync(path);
    });

    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
      database.close();
    });

    it("leaves other tables alone, and is one file once it is closed", async () => {
      database.exec("CREATE TABLE orders (id); INSERT INTO orders VALUES (7)");
      const store = await openStore();
      await store.add([newEntry("a")]);
      database.close();
      await store.close();
      expect(readdirSync(directory).filter((file) => join(directory, file).startsWith(`${path}-`))).toEqual([]);
      copyFileSync(path, `${path}.copy`);
      database = new (await loadDriver()).DatabaseSync(`${path}.copy`);
      expect(database.prepare("SELECT key FROM stocklot_outbox_entries").all()).toMatchObject([{ key: "a" }]);
      expect(database.prepare("SELECT id FROM orders").all()).toMatchObject([{ id: 7 }]);
    });

    it("creates nothing if it must exist, and reads beside a process that writes", async () => {
      database.exec("CREATE TABLE orders (id)");
      for (const existing of ["read", "change"] as const) {
        await expect(openStore({ existing })).rejects.toThrow(
          `${path}: there is no outbox in this file. Check the path.`,
        );
      }
      expect(database.prepare("SELECT name FROM sqlite_master").all()).toMatchObject([{ name: "orders" }]);
      const store = await openStore();
      await store.add([newEntry("a")]);
      const changing = await openStore({ existing: "change" });
      await changing.commit({ add: [newEntry("b")], cancel: [{ key: "a", state: "pending", attempts: 0 }] });
      database.exec("BEGIN IMMEDIATE");
      const reading = await openStore({ existing: "read", lockWaitMs: 0 });
      expect(await reading.count([])).toMatchObject({ pending: 1, canceled: 1 });
      database.exec("ROLLBACK");
      await expect(reading.add([newEntry("c")])).rejects.toMatchObject({ name: "StorageError", problem: "read-only" });
    });

    it("measures leases by a clock that starts again when the machine does", async () => {
      let now = 1_000_000;
      const clock = () => now;
      const store = await openStore({ clock });
      await store.add([newEntry("a")]);
      await claim(store, "one");
      await store.update("a", { state: "pending", attempts: 0, owner: "one" }, { attempts: 1, quietMs: 60_000 });
      now += 10_000;
      expect(await claim(store, "two")).toEqual([]);
      // After a restart: the lease seems to last 1 020 s.
      now = 10_000;
      expect(await store.renew({ owner: "one", leaseMs: 30_000, lanes: ["bolt-m8"] })).toEqual([]);
      expect(await claim(store, "two")).toMatchObject([{ lane: "bolt-m8", unleasedMs: undefined, quietMs: 60_000 }]);
      await store.release({ owner: "two", lane: "bolt-m8" });
      now += 45_000;
      expect(await claim(store, "one")).toMatchObject([{ unleasedMs: 45_000, quietMs: 15_000 }]);
      await store.release({ owner: "one", lane: "bolt-m8" });
      now += 15_000;
      expect(await claim(store, "two")).toMatchObject([{ quietMs: 0 }]);
    });

    it("uses a clock that all processes share, and that the time of day does not change", async () => {
      await (await openStore()).add([newEntry("a")]);
      await claim(await openStore(), "one");
      const [row] = database.prepare("SELECT leased_until FROM stocklot_outbox_lanes").all();
      const uptimeMs = Number(process.hrtime.bigint() / 1_000_000n);
      expect(Math.abs(Number(row?.leased_until) - 30_000 - uptimeMs)).toBeLessThan(10_000);
    });

    it("reports a full disk, stores nothing then, and works again when there is space", async () => {
      const store = await openStore();
      await store.add([newEntry("a")]);
      const many = Array.from({ length: 2_000 }, (_, index) => newEntry(`many-${index}`));
      // The limit of a file, as of a disk: it holds for the connection that sets it.
      const limited = new SqliteOutboxStore(
        { path },
        {
          loadDriver: async () => {
            const { DatabaseSync } = await loadDriver();
            return {
              DatabaseSync: class extends DatabaseSync {
                override exec(sql: string): void {
                  super.exec(sql);
                  if (sql.includes("busy_timeout")) super.exec("PRAGMA max_page_count = 40");
                }
              },
            };
          },
        },
      );
      opened.push(limited);
      await limited.open();
      await expect(limited.add(many)).rejects.toMatchObject({
        name: "StorageError",
        storage: "sqlite",
        location: path,
        problem: "full",
        mayBeStored: false,
      });
      expect(await limited.count([])).toMatchObject({ pending: 1 });
      expect(await limited.add([newEntry("b")])).toMatchObject([{ key: "b" }]);
      await store.add(many);
      expect(await limited.count([])).toMatchObject({ pending: 2_002 });
    });

    it("reports a lock that lasts too long, and stores nothing then", async () => {
      const store = await openStore({ lockWaitMs: 200 });
      database.exec("BEGIN IMMEDIATE");
      const waiting = store.add([newEntry("a")]);
      await expect(waiting).rejects.toMatchObject({ name: "StorageError", problem: "locked", mayBeStored: false });
      // Reading needs no lock.
      expect(await store.get("a")).toBeUndefined();
      database.exec("ROLLBACK");
      await store.add([newEntry("a")]);
    });

    it("can be opened later if it could not be opened at first", async () => {
      const folder = join(directory, `folder-${files}`);
      const store = new SqliteOutboxStore({ path: join(folder, "outbox.db") }, { loadDriver });
      opened.push(store);
      await expect(store.open()).rejects.toThrow("outbox.db");
      mkdirSync(folder);
      await store.open();
      expect(await store.add([newEntry("a")])).toMatchObject([{ key: "a" }]);
    });

    it("ends what it has begun before it is closed", async () => {
      const store = await openStore();
      database.exec("BEGIN IMMEDIATE");
      const adding = store.add([newEntry("a")]);
      const closing = store.close();
      await sleep(50);
      database.exec("ROLLBACK");
      await Promise.all([adding, closing]);
      expect(await (await openStore()).get("a")).toBeDefined();
    });

    it("refuses tables of a later version, and changes nothing", async () => {
      await (await openStore()).close();
      database.exec("UPDATE stocklot_outbox_store SET version = 99");
      const later = openStore();
      await expect(later).rejects.toThrow(ConfigurationError);
      await expect(later).rejects.toThrow("version 99");
      expect(database.prepare("SELECT version FROM stocklot_outbox_store").all()).toMatchObject([{ version: 99 }]);
    });

    it("cannot join a transaction of the caller", async () => {
      const store = await openStore();
      await expect(store.add([newEntry("a")], {})).rejects.toThrow(ConfigurationError);
      expect(await store.get("a")).toBeUndefined();
    });

    it("can be opened again after it could not be", async () => {
      const store = new SqliteOutboxStore({ path: join(directory, "no", "such.db") }, { loadDriver });
      await expect(store.open()).rejects.toMatchObject({ name: "StorageError", problem: "missing" });
      await store.close();
      await expect(store.open()).rejects.toMatchObject({ problem: "missing" });
    });
  });
});

describe("the options of sqliteOutboxStore", () => {
  it.each([undefined, {}, { path: "" }, { path: 1 }, { path: "x", mode: "wal" }])("refuse %j", (options) => {
    expect(() => Reflect.apply(sqliteOutboxStore, undefined, [options])).toThrow(ConfigurationError);
  });
});
