import { Client, type PoolClient } from "pg";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import { createOutbox, postgresOutboxStore } from "../../src/outbox/index.js";
import { findPostgres, openPool } from "../support/postgres-server.js";
import { sleep, waitUntil } from "../support/with-server.js";
import { openStore } from "./support/store-spec.js";
import { createWorld, receipt } from "./support/world.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());

it.each([
  3_600_000, -3_600_000,
])("a run whose wall clock is set by %d ms once sends every entry, each once", async (step) => {
  const world = createWorld({ items: [..."ABCDEFGH"].map((shortID) => ({ shortID })) });
  const outbox = world.createOutbox({ leaseMs: 1_000, settleMs: 1_000 });
  onTestFinished(() => outbox.close());
  await outbox.addMany([..."ABCDEFGH"].map((itemID) => receipt(itemID, { itemID })));
  const realNow = Date.now;
  const clock = vi.spyOn(Date, "now");
  onTestFinished(() => clock.mockRestore());
  let writes = 0;
  world.onWrite = async (_, send) => {
    const response = await send();
    writes += 1;
    if (writes === 1) clock.mockImplementation(() => realNow() + step);
    // All writes together take 800 ms, in which several heartbeats are sent.
    await sleep(100);
    return response;
  };
  const report = await outbox.run({ concurrency: 1 });
  expect(await outbox.summary()).toMatchObject({ pending: 0, sending: 0 });
  expect(report.pending).toBe(0);
  expect(world.effects()).toBe(8);
});

it("a run that was silent for longer than its lease takes the lock again, and leaves nothing untouched", async () => {
  const world = createWorld();
  const outbox = world.createOutbox({ leaseMs: 300, settleMs: 300, mark: "remark" }, { timeoutMs: 300 });
  onTestFinished(() => outbox.close());
  await outbox.addMany([receipt("a"), receipt("b", { itemID: "NUT" }), receipt("c", { itemID: "WASHER" })]);
  world.onWrite = (_, send) => {
    if (world.effects() === 0) {
      // Blocks the process for 500 ms, longer than its lease.
      const end = performance.now() + 500;
      while (performance.now() < end);
    }
    return send();
  };
  await outbox.run({ concurrency: 1 });
  expect(await outbox.summary()).toMatchObject({ pending: 0, sending: 0, applied: 3 });
  expect(world.effects()).toBe(3);
});

it("a database that goes on rejecting heartbeats ends the run with its error", async () => {
  const world = createWorld();
  const outbox = world.createOutbox({ leaseMs: 6_000, settleMs: 5_000 }, { timeoutMs: 5_000 });
  onTestFinished(() => outbox.close());
  await outbox.addMany(["a", "b", "c"].map((key) => receipt(key)));
  const { store } = await openStore(world.store());
  await store.database.transaction((query) =>
    query(`CREATE TRIGGER t BEFORE UPDATE OF beat ON stocklot_outbox_store WHEN new.sender = old.sender
      BEGIN SELECT RAISE(ABORT, 'no heartbeats'); END`),
  );
  await store.database.close();
  world.onWrite = async (_, send) => {
    await sleep(1_000);
    return send();
  };
  await expect(outbox.run()).rejects.toThrow("no heartbeats");
});

it.skipIf(!postgres)("commits that were not lost are not reported as lost while a heartbeat is in flight", async () => {
  const connectionString = postgres?.url ?? "";
  const schema = `lost_lock_${process.pid}`;
  const pool = openPool({ connectionString });
  onTestFinished(() => pool.end());
  let isSlow = false;
  // The replies to queries of the sender take 400 ms.
  pool.on("connect", (client: PoolClient) => {
    const { query } = client;
    client.query = ((...given: [{ text?: string }]) => {
      const reply: unknown = Reflect.apply(query, client, given);
      if (!isSlow || !given[0].text?.startsWith("SELECT sender")) return reply;
      return Promise.resolve(reply).then((rows) => sleep(400).then(() => rows));
    }) as typeof query;
  });
  const world = createWorld();
  const store = postgresOutboxStore({ pool, schema });
  const client = world.createClient({ timeoutMs: 2_000 });
  const outbox = createOutbox({ client, store, settleMs: 2_500, leaseMs: 1_000 });
  onTestFinished(() => outbox.close());
  await outbox.add(receipt("a"));
  let isSent = false;
  world.onWrite = async (_, send) => {
    const response = await send();
    isSent = true;
    await sleep(1_500);
    return response;
  };
  const run = outbox.run();
  run.catch(() => {});
  await waitUntil(() => isSent);
  const other = new Client({ connectionString });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query(`BEGIN; SELECT 1 FROM ${schema}.stocklot_outbox_store FOR UPDATE`);
  isSlow = true;
  await sleep(1_100);
  await other.query("COMMIT");
  await run;
  expect(await outbox.get("a")).toMatchObject({ state: "applied" });
  expect(world.effects()).toBe(1);
});

it("an entry that was refused with a 429 is pending while the client pauses", async () => {
  const world = createWorld();
  const outbox = world.createOutbox({}, { retry: { rateLimitDelayMs: [60_000, 60_000] } });
  onTestFinished(() => outbox.close());
  await outbox.add(receipt("a"));
  let refused = 0;
  world.onWrite = async () => {
    refused += 1;
    const body = { statusCode: 429, error: "rate_limited", message: "Too many requests", details: null };
    return Response.json(body, { status: 429 });
  };
  const end = new AbortController();
  const run = outbox.run({ signal: end.signal });
  run.catch(() => {});
  await waitUntil(() => refused > 0);
  await expect.poll(async () => (await outbox.get("a"))?.state).toBe("pending");
  end.abort(new Error("stop"));
  await expect(run).rejects.toThrow("stop");
  expect(await outbox.get("a")).toMatchObject({ state: "pending", attempts: 1 });
  expect(refused).toBe(1);
});

it("the store keeps the settleMs of a process that only adds", async () => {
  const world = createWorld();
  const adder = createOutbox({ store: world.store(), settleMs: 400_000 });
  await adder.add(receipt("a"));
  await adder.close();
  const { store } = await openStore(world.store());
  expect(await store.sender()).toMatchObject({ settleMs: 400_000 });
  await store.database.close();
});
