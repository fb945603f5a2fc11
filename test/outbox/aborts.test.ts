import { Client } from "pg";
import { afterAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createOutbox, type OutboxOptions, postgresOutboxStore, sqliteOutboxStore } from "../../src/outbox/index.js";
import { OpenStore } from "../../src/outbox/store.js";
import { openSqlite } from "../../src/storage/sqlite.js";
import { brokenNetwork } from "../storage/support/broken-network.js";
import { ownFolder } from "../support/own-folder.js";
import { findPostgres, openPool } from "../support/postgres-server.js";
import { sleep, waitUntil } from "../support/with-server.js";
import { createWorld, receipt } from "./support/world.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());
const connectionString = postgres?.url ?? "";
const fileNamed = ownFolder();
let names = 0;

const LEASE_MS = 1_500;

/** A store whose database stops working when `begin` is called. */
type Obstacle = { store: OutboxOptions["store"]; begin(): Promise<unknown> };

async function lockedSqlite(): Promise<Obstacle> {
  const path = fileNamed(`${names++}.db`);
  return {
    store: sqliteOutboxStore({ path }),
    async begin() {
      const other = await openSqlite({ path });
      const held = other.transaction(async (query) => {
        await query("SELECT 1");
        await sleep(6_000);
      });
      onTestFinished(async () => {
        await held;
        await other.close();
      });
    },
  };
}

async function lockedPostgres(): Promise<Obstacle> {
  const schema = `aborts_${process.pid}_${names++}`;
  return {
    store: postgresOutboxStore({ connectionString, schema }),
    async begin() {
      const other = new Client({ connectionString });
      await other.connect();
      onTestFinished(() => other.end());
      await other.query(`BEGIN; LOCK TABLE ${schema}.stocklot_outbox_store, ${schema}.stocklot_outbox_entries`);
    },
  };
}

async function silentPostgres(): Promise<Obstacle> {
  const network = await brokenNetwork(connectionString);
  onTestFinished(network.close);
  return {
    store: postgresOutboxStore({ connectionString: network.url, schema: `aborts_${process.pid}_${names++}` }),
    begin: async () => network.silence(),
  };
}

async function silentPool(): Promise<Obstacle> {
  const network = await brokenNetwork(connectionString);
  onTestFinished(network.close);
  const pool = openPool({ connectionString: network.url });
  onTestFinished(() => pool.end());
  return {
    store: postgresOutboxStore({ pool, schema: `aborts_${process.pid}_${names++}` }),
    begin: async () => network.silence(),
  };
}

/** Returns how long a call takes to end, in ms. */
async function timeOf(end: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await end.catch(() => {});
  return performance.now() - startedAt;
}

describe.each([
  ["a locked SQLite file", lockedSqlite],
  ["a locked PostgreSQL table", lockedPostgres],
  ["a silent PostgreSQL connection", silentPostgres],
  ["a silent connection of the caller's pool", silentPool],
])("with %s", (_, createObstacle) => {
  beforeEach(({ skip }) => skip(createObstacle !== lockedSqlite && !postgres, "there is no PostgreSQL"));

  const prepare = async () => {
    const world = createWorld();
    const { store, begin } = await createObstacle();
    const client = world.createClient({ timeoutMs: 1_000 });
    const outbox = createOutbox({ client, store, leaseMs: LEASE_MS, settleMs: 1_000 });
    await outbox.add(receipt("a"));
    return { world, outbox, begin };
  };

  it.each([
    "signal",
    "close",
  ])("a run that has a request in flight ends soon after its end was asked for: %s", async (how) => {
    const { world, outbox, begin } = await prepare();
    let isSent = false;
    world.onWrite = async (_, send) => {
      isSent = true;
      await sleep(300);
      return send();
    };
    const end = new AbortController();
    const run = outbox.run({ signal: end.signal });
    run.catch(() => {});
    await waitUntil(() => isSent);
    await begin();
    await sleep(200);
    if (how === "signal") end.abort(new Error("stop"));
    const asked = how === "signal" ? run : outbox.close();
    // The limit is a lease, 1,000 ms for the request and 2,500 ms for closing connections.
    expect(await timeOf(asked)).toBeLessThan(LEASE_MS + 1_000 + 2_500);
    await run.catch(() => {});
    expect(await timeOf(outbox.close())).toBeLessThan(LEASE_MS + 2_500);
    expect(world.effects()).toBeLessThanOrEqual(1);
  });

  it("calls that wait end a lease after close()", async () => {
    const { outbox, begin } = await prepare();
    await begin();
    const calls = [outbox.add(receipt("b")), outbox.run(), outbox.summary()];
    for (const call of calls) call.catch(() => {});
    await sleep(200);
    expect(await timeOf(outbox.close())).toBeLessThan(LEASE_MS + 2_500);
    await Promise.allSettled(calls);
  });

  it("an iteration of entries ends with close(), which does not wait for it", async () => {
    const { outbox, begin } = await prepare();
    await begin();
    const next = outbox.entries().next();
    next.catch(() => {});
    await sleep(200);
    expect(await timeOf(outbox.close())).toBeLessThan(2_500);
    // In SQLite, a read does not wait for a writer.
    expect(await timeOf(next)).toBeLessThan(1_000);
  });

  it("a run ends soon after its signal also if it is the first call", async () => {
    const { outbox, begin } = await prepare();
    await begin();
    const end = new AbortController();
    const run = outbox.run({ signal: end.signal });
    run.catch(() => {});
    await sleep(200);
    end.abort(new Error("stop"));
    expect(await timeOf(run)).toBeLessThan(LEASE_MS + 1_000);
    await outbox.close();
  });
});

it("a request in flight that lasts longer than the lease is awaited and stored", async () => {
  const world = createWorld();
  const outbox = world.createOutbox({ leaseMs: 1_500, settleMs: 5_000 }, { timeoutMs: 5_000 });
  onTestFinished(() => outbox.close());
  await outbox.add({ key: "move", operation: "issue", input: { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 } });
  const end = new AbortController();
  world.onWrite = async (_, send) => {
    const response = await send();
    end.abort(new Error("stop"));
    await sleep(3_500);
    return response;
  };
  await expect(outbox.run({ signal: end.signal })).rejects.toThrow("stop");
  expect(await outbox.get("move")).toMatchObject({ state: "applied" });
});

it("an abort while the beginning of an attempt is being stored leaves the entry pending: nothing was sent", async () => {
  const path = fileNamed(`${names++}.db`);
  const world = createWorld();
  const store = sqliteOutboxStore({ path });
  const outbox = world.createOutbox({ store, leaseMs: 5_000, settleMs: 1_000 });
  onTestFinished(() => outbox.close());
  await outbox.add({ key: "move", operation: "issue", input: { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 } });
  const markSending = vi.spyOn(OpenStore.prototype, "markSending");
  onTestFinished(() => markSending.mockRestore());
  const end = new AbortController();
  markSending.mockImplementationOnce(async function (this: OpenStore, ...given) {
    end.abort(new Error("stop"));
    await sleep(300);
    markSending.mockRestore();
    return this.markSending(...given);
  });
  await expect(outbox.run({ signal: end.signal })).rejects.toThrow("stop");
  expect(await outbox.get("move")).toMatchObject({ state: "pending" });
  expect(await outbox.run()).toMatchObject({ applied: 1, unknown: 0 });
});
