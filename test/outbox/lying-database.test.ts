import { afterAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { InputValidationError, StorageError } from "../../src/index.js";
import { type OutboxEntryInput, postgresOutboxStore } from "../../src/outbox/index.js";
import { brokenNetwork } from "../storage/support/broken-network.js";
import { countCommands, randomLie } from "../storage/support/lies.js";
import { findPostgres, openPool } from "../support/postgres-server.js";
import { seededRandom } from "../support/random.js";
import { worlds } from "../support/runs.js";
import { sleep } from "../support/with-server.js";
import { connectionReset, createWorld } from "./support/world.js";

const postgres = await findPostgres();
afterAll(() => postgres?.close());
const connectionString = postgres?.url ?? "";
const admin = openPool({ connectionString, max: 1 });
afterAll(() => admin.end());

const LEASE_MS = 1_000;
/** The most time that an end may take, in ms: a lease, and 4 s for a request and for closing connections on a busy machine. */
const END_MS = LEASE_MS + 4_000;
const NEVER_ENDS = new Error("it does not end");
const STOP = new Error("stop");

/** Returns the result or the error of a promise, or NEVER_ENDS after a time. */
const endOf = (promise: Promise<unknown>, limitMs: number): Promise<unknown> =>
  Promise.race([promise.catch((error: unknown) => error), sleep(limitMs).then(() => NEVER_ENDS)]);

beforeEach(({ skip }) => skip(!postgres, "there is no PostgreSQL"));

it.each(
  Array.from({ length: worlds(240) }, (_, seed) => seed),
)("an outbox doubles, loses and hides nothing, and retries nothing for ever, if its database lies: world %d", async (seed) => {
  const random = seededRandom(seed);
  const oneOf = <T>(values: readonly T[]): T => values[random(values.length)] as T;
  const schema = `lies_${process.pid}_${seed}`;
  const network = await brokenNetwork(connectionString);
  onTestFinished(network.close);
  const world = createWorld();
  const effects: string[] = [];
  let onSend = async () => {};
  let lossy = random(3);
  world.onWrite = async (request, send) => {
    const { remark = "" } = JSON.parse(await request.clone().text());
    await onSend();
    const response = await send();
    if (response.ok) effects.push(String(remark).split(" ").at(-1) ?? "");
    if (!response.ok || lossy === 0) return response;
    lossy -= 1;
    throw connectionReset();
  };

  // The owner creates the tables. The outbox under test belongs to a user who has only the rights that the guide lists.
  const options = { leaseMs: LEASE_MS, settleMs: 200, mark: "remark" } as const;
  const owner = world.createOutbox({ ...options, store: postgresOutboxStore({ connectionString, schema }) });
  onTestFinished(() => owner.close());
  await owner.summary();
  const role = schema;
  await admin.query(`CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
  const url = new URL(network.url);
  url.username = role;
  const pool = openPool({ connectionString: url.href, max: 5 });
  const commands = countCommands(pool);
  onTestFinished(() => pool.end());
  const outbox = world.createOutbox({ ...options, store: postgresOutboxStore({ pool, schema }) });

  const added = new Map<string, OutboxEntryInput>();
  let keys = 0;
  const newEntry = (): OutboxEntryInput => {
    const key = `k${keys++}`;
    const input = { itemID: oneOf(["BOLT", "NUT", "NONE"]), units: 1 + random(9), wid: 3, reasonCode: 1, remark: key };
    return random(4) === 0 ? { key, operation: "issue", input } : { key, operation: "receive", input };
  };
  /** Records entries as added once the outbox has confirmed them. */
  const adding = async (entries: OutboxEntryInput[], promise: Promise<unknown>) => {
    await promise;
    for (const entry of entries) added.set(entry.key, entry);
  };
  const canceled = new Set<string>();
  const stop = new AbortController();
  /** Decides about an entry, as a person who has looked into the service. */
  const decide = async () => {
    const key = `k${random(keys)}`;
    return outbox.resolve(key, effects.includes(key) ? "applied" : "not-applied");
  };
  const rowsNow = async () => {
    const { rows } = await admin.query(`SELECT key, state, input FROM ${schema}.stocklot_outbox_entries`);
    return rows as { key: string; state: string; input: string | null }[];
  };
  const reading = async () => {
    const before = await rowsNow();
    const shown: string[] = [];
    for await (const { key } of outbox.entries()) shown.push(key);
    const missing = before.filter(({ key, input }) => input !== null && !shown.includes(key)).map(({ key }) => key);
    // Entries that were pruned meanwhile need not be listed.
    const after = await rowsNow();
    expect(missing.filter((key) => after.some((row) => row.key === key && row.input !== null))).toEqual([]);
  };
  const counting = async () => {
    const before = (await rowsNow()).length;
    const { oldestUnsettledMs: _, ...states } = await outbox.summary();
    const counted = Object.values(states).reduce((sum, count) => sum + count, 0);
    expect(counted).toBeGreaterThanOrEqual(before);
    expect(counted).toBeLessThanOrEqual((await rowsNow()).length);
  };
  const operations: (() => Promise<unknown>)[] = [
    () => {
      const entry = newEntry();
      return adding([entry], outbox.add(entry));
    },
    () => {
      const entries = Array.from({ length: 2 + random(3) }, newEntry);
      return adding(entries, outbox.addMany(entries));
    },
    () => outbox.run({ signal: stop.signal }),
    decide,
    async () => {
      const key = `k${random(keys)}`;
      await outbox.cancel(key);
      canceled.add(key);
    },
    () => outbox.prune({ olderThanMs: 0 }),
    reading,
    counting,
  ];
  const [add, addMany, run] = operations;
  await addMany?.();
  await add?.();
  if (random(2) === 0) await run?.();

  const lie = randomLie(seed, {
    random,
    url: connectionString,
    schema,
    tables: [
      ["stocklot_outbox_store", oneOf(["sender", "beat"])],
      ["stocklot_outbox_entries", oneOf(["state", "attempts", "input", "error"])],
    ],
    role,
    network,
  });
  let begun: Promise<unknown> | undefined;
  if (random(2) === 0)
    onSend = async () => {
      begun ??= lie.begin();
      await begun;
    };
  else begun = lie.begin();
  await begun;
  const commandsBefore = commands();
  const startedAt = performance.now();
  const ends: unknown[] = [];
  for (let left = lie.stalls ? 1 : 2 + random(3); left > 0; left -= 1) {
    const chosen = Array.from({ length: 1 + random(3) }, () => oneOf(operations));
    // Before a run, an entry is added, so that there is something to send.
    if (chosen.includes(run ?? expect.fail())) chosen.unshift(add ?? expect.fail());
    const results = chosen.map((operation) => operation());
    for (const result of results) result.catch(() => {});
    if (lie.stalls) {
      // These calls may wait until they are aborted.
      await Promise.race([Promise.allSettled(results), sleep(random(1_500))]);
      stop.abort(STOP);
      ends.push(await endOf(outbox.close(), END_MS));
      for (const result of results) ends.push(await endOf(result, 500));
    } else for (const result of results) ends.push(await endOf(result, 10_000));
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  ends.push(await endOf(outbox.close(), END_MS));
  expect([lie.name, ends.indexOf(NEVER_ENDS)]).toEqual([lie.name, -1]);
  const sent = commands() - commandsBefore;
  expect([lie.name, sent < 600 + 100 * seconds || sent]).toEqual([lie.name, true]);
  for (const end of ends) {
    if (!(end instanceof Error) || end === STOP || end instanceof InputValidationError) continue;
    if (end instanceof DOMException && end.name === "AbortError") continue;
    expect(end).toBeInstanceOf(StorageError);
    if (lie.isAboutRights) expect(String(end)).toMatch(/(SELECT|INSERT|UPDATE)/);
    if (lie.table && !lie.stalls) expect(String(end)).toContain(lie.table);
  }

  // Ends the lie, and compares the entries with what the service has applied.
  onSend = async () => {};
  await (begun ?? lie.begin());
  await lie.end();
  lossy = 0;
  await owner.run();
  const rows = new Map((await rowsNow()).map((row) => [row.key, row]));
  for (const [key, entry] of added) expect(rows.has(key), `${key} ${JSON.stringify(entry)} is stored`).toBe(true);
  for (const { key, state, input } of rows.values()) {
    const times = effects.filter((effect) => effect === key).length;
    expect([lie.name, key, times]).toEqual([lie.name, key, Math.min(times, 1)]);
    if (state === "applied") expect([lie.name, key, times]).toEqual([lie.name, key, 1]);
    if (state === "rejected" || state === "canceled" || state === "pending")
      expect([lie.name, key, state, times]).toEqual([lie.name, key, state, 0]);
    const given = added.get(key)?.input;
    if (input !== null && given)
      expect(JSON.parse(input)).toMatchObject({ itemID: Object(given).itemID, units: Object(given).units });
  }
  for (const key of canceled) expect(effects.filter((effect) => effect === key)).toEqual([]);
  await admin.query(`DROP SCHEMA ${schema} CASCADE; DROP OWNED BY ${role}; DROP ROLE ${role}`);
});
