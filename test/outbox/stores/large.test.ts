import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import type { OutboxStore } from "../../../src/outbox/store.js";
import { findSqliteDriver } from "../../../src/storage/sqlite/driver.js";
import { findPostgres } from "../../support/postgres-server.js";
import { RUN_ALL } from "../../support/runs.js";
import { newEntry } from "./support/new-entry.js";
import { type StoreSpec, storeAt } from "./support/store-spec.js";

const postgres = RUN_ALL ? await findPostgres() : undefined;
const directory = mkdtempSync(join(tmpdir(), "stocklot-outbox-large-"));
const schema = `large_${process.pid}`;
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await postgres?.close();
});

const SETTLE_ALL = "UPDATE stocklot_outbox_entries SET state = 'applied', settled_at = 1";

async function settleAll(spec: StoreSpec): Promise<void> {
  if ("path" in spec) {
    const database = new (await findSqliteDriver()).DatabaseSync(spec.path);
    database.exec(SETTLE_ALL);
    return database.close();
  }
  const client = new Client(spec.connectionString);
  await client.connect();
  await client.query(`SET search_path = ${spec.schema}`);
  await client.query(SETTLE_ALL);
  await client.query("VACUUM ANALYZE stocklot_outbox_entries");
  await client.end();
}

/** The best of some runs, in ms: other programs delay most of them on a busy machine. */
async function bestMs(action: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 9; run += 1) {
    const start = performance.now();
    await action();
    times.push(performance.now() - start);
  }
  return Math.min(...times);
}

const specs: [string, StoreSpec][] = [["sqlite", { path: join(directory, "large.db") }]];
if (postgres) specs.push(["postgres", { connectionString: postgres.url, schema }]);

describe.runIf(RUN_ALL)("a store with 100 000 settled and 5 000 pending entries", () => {
  it.each(specs)("claims and changes as fast as one that has none of the settled ones: %s", async (_, spec) => {
    const store: OutboxStore = storeAt(spec);
    await store.open();
    // Half of them are of one lane.
    const entries = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) =>
        newEntry(`${prefix}-${index}`, `lane-${index % 2 ? 0 : index % 1_400}`),
      );
    const owner = "me";
    const condition = { state: "pending" as const, attempts: 0, owner };
    const measure = async () => [
      await bestMs(() => store.claim({ owner, leaseMs: 60_000, limit: 4, except: [] })),
      await bestMs(() => store.next("item-0")),
      await bestMs(() => store.count(["item-0", "item-2"])),
      await bestMs(() => store.update("pending-1", condition, { attempts: 0 })),
    ];
    await store.add(entries("pending", 5_000));
    const few = await measure();
    await settleAll(spec);
    for (let batch = 0; batch < 19; batch += 1) await store.add(entries(`settled-${batch}`, 5_000));
    await settleAll(spec);
    await store.add(entries("also-pending", 5_000));
    const many = await measure();
    // There are 21 times as many entries. Only to count them, the store reads all of an index.
    for (const [index, most] of [8, 8, 60, 8].entries()) {
      expect(many[index]).toBeLessThan(most * Math.max(few[index] ?? 0, 1));
    }
    await store.close();
  });
});
