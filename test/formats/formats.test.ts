import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCopy } from "stocklot/mirror";
import { planCount, readPlan } from "stocklot/plan";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PostgresOutboxStore } from "../../src/outbox/stores/postgres-store.js";
import { SqliteOutboxStore } from "../../src/outbox/stores/sqlite-store.js";
import { findPostgres } from "../support/postgres-server.js";
import {
  createWorld,
  ENTRIES,
  type Place,
  postgresPlace,
  REASON_CODES,
  restorePostgres,
  restoreSqlite,
  SCHEMA,
  sqlitePlace,
} from "./world.js";

/*
 * One folder per released version that changed a format, with what it stored. `write.ts` writes the next one. A folder is
 * never changed after its release: a failing test means that an update of stocklot loses what users have stored.
 */
const here = new URL(".", import.meta.url);
const versions = readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory());

const postgres = await findPostgres();
afterAll(async () => {
  if (postgres) await restorePostgres(postgres.url, "");
  await postgres?.close();
});
const folder = mkdtempSync(join(tmpdir(), "stocklot-formats-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function allOf<T>(records: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const record of records) all.push(record);
  return all;
}

afterEach(() => void vi.useRealTimers());

describe.each(versions.map(({ name }) => name))("what version %s has stored", (version) => {
  const read = (name: string) => readFileSync(new URL(`${version}/${name}`, here), "utf8");
  // Whatever the clock of this machine shows, the files are a minute old.
  beforeEach(() => {
    const { takenAt } = JSON.parse(read("snapshot.json"));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(takenAt) + 60_000 });
  });
  async function restore(database: string, name: string): Promise<Place> {
    if (database === "PostgreSQL") {
      const url = postgres?.url ?? "";
      await restorePostgres(url, read(`${name}.postgres.sql`));
      return postgresPlace(url);
    }
    const path = join(folder, `${version}-${name}.db`);
    rmSync(path, { force: true });
    await restoreSqlite(path, read(`${name}.sql`));
    return sqlitePlace(path);
  }
  const databases = ["SQLite", ...(postgres ? ["PostgreSQL"] : [])];

  it.each(databases)("in an outbox is read, recognized as added, and sent: %s", async (database) => {
    const { sandbox, outboxAt } = createWorld();
    const outbox = outboxAt((await restore(database, "outbox")).store());
    const states: Record<string, string> = {};
    for await (const { key, state, input } of outbox.entries()) {
      states[key] = state;
      expect(input).toEqual(ENTRIES.find((entry) => entry.key === key)?.input);
    }
    const applied = Object.fromEntries(ENTRIES.slice(0, 5).map(({ key }) => [key, "applied"]));
    const others = { rejected: "rejected", unknown: "unknown", canceled: "canceled", pending: "pending" };
    expect(states).toEqual({ ...applied, ...others });
    expect((await outbox.get("receive"))?.result).toMatchObject({ recNo: expect.any(Number) });
    await outbox.addMany(ENTRIES);
    expect(await outbox.run()).toMatchObject({ applied: 1, unknown: 1, pending: 0 });
    expect(sandbox.requests.filter(({ method, path }) => method === "POST" && path !== "/Token")).toMatchObject([
      { path: "/Inventory/Receive", body: { itemID: "BOLT", units: 9 } },
    ]);
    await outbox.resolve("unknown", "applied");
    await outbox.close();
  });

  it.each(
    databases,
  )("in an outbox is read without changing it, and changed, as by the command: %s", async (database) => {
    await restore(database, "outbox");
    const path = join(folder, `${version}-outbox.db`);
    const connectionString = postgres?.url ?? "";
    for (const existing of ["read", "change"] as const) {
      const store =
        database === "SQLite"
          ? new SqliteOutboxStore({ path }, { existing })
          : new PostgresOutboxStore({ connectionString, schema: SCHEMA }, { existing: true });
      await store.open();
      expect(await store.get("unknown")).toMatchObject({ state: "unknown" });
      expect(await store.list({ after: 0, limit: 100 })).toHaveLength(ENTRIES.length);
      expect(await store.count([])).toMatchObject({ unknown: 1, canceled: 1, pending: 1 });
      expect(await store.deliveries()).toEqual([]);
      if (existing === "change")
        expect(await store.update("pending", { state: "pending", attempts: 0 }, {})).toMatchObject({ changed: true });
      await store.close();
    }
  });

  it.each(databases)("in the copy of a mirror is read and updated, and its history continues: %s", async (database) => {
    const { client, mirrorAt } = createWorld();
    const place = await restore(database, "mirror");
    const copy = await openCopy(place.sink());
    const changesBefore = await allOf(copy.changes());
    const changed = { type: "changed", before: { description: "item NUT" }, after: { description: "changed" } };
    expect(changesBefore).toMatchObject([
      { resource: "items", ...changed },
      { resource: "lots", ...changed },
    ]);
    await client.items.update("NUT", { description: "changed again" });
    const report = await mirrorAt(place.sink()).run();
    expect(report.resources.items).toMatchObject({ kind: "increment" });
    const changes = await allOf(copy.changes());
    expect(changes.slice(0, 2)).toEqual(changesBefore);
    expect(changes.at(-1)).toMatchObject({ type: "changed", after: { description: "changed again" } });
    await copy.close();
  });

  it("as plans and as a snapshot is read and applied", async () => {
    const { client, outboxAt } = createWorld();
    const outbox = outboxAt(sqlitePlace(join(folder, `${version}-plans.db`)).store());
    for (const name of ["plan-items.json", "plan-count.json"]) {
      expect(await readPlan(read(name)).apply({ client, outbox })).toMatchObject({ applied: 1, stale: [] });
    }
    expect(await client.items.get("BOLT")).toMatchObject({ description: "planned" });
    const counted = [{ itemID: "NUT", spot: "A-01", counted: 100 }];
    const snapshot = JSON.parse(read("snapshot.json"));
    const plan = await planCount({ client, snapshot, counted, reasonCodes: REASON_CODES });
    expect(plan.counts).toMatchObject({ issue: 1, blocked: 0 });
    await outbox.close();
  });
});
