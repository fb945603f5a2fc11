import { expect, it, onTestFinished } from "vitest";
import { AuthenticationError } from "../../src/index.js";
import { createOutbox, type OutboxEntryInput, sqliteOutboxStore } from "../../src/outbox/index.js";
import { openSqlite } from "../../src/storage/sqlite.js";
import { ownFolder } from "../support/own-folder.js";
import { RUN_ALL } from "../support/runs.js";
import { openStore } from "./support/store-spec.js";
import { createWorld, receipt } from "./support/world.js";

const fileNamed = ownFolder();
const ENTRIES = 10_000;
const MANY = 100_000;

/**
 * Returns the longest time between two turns of the event loop during some work, in ms. It takes the shorter of clock time, which
 * includes pauses by other programs, and CPU time, which includes garbage collection in other threads.
 */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  const times = () => {
    const { user, system } = process.cpuUsage();
    return { wall: performance.now(), cpu: (user + system) / 1_000 };
  };
  let longest = 0;
  let last = times();
  let isOver = false;
  const tick = () => {
    const now = times();
    longest = Math.max(longest, Math.min(now.wall - last.wall, now.cpu - last.cpu));
    last = now;
    if (!isOver) setTimeout(tick, 1);
  };
  await new Promise((resolve) => setTimeout(resolve, 20));
  last = times();
  setTimeout(tick, 1);
  await work();
  tick();
  isOver = true;
  return longest;
}

const entries = (count: number, prefix: string): OutboxEntryInput[] =>
  Array.from({ length: count }, (_, index) => receipt(`${prefix}${index}`, { itemID: `SKU-${index % 500}` }));

it("the event loop turns while entries are added, read and pruned", async () => {
  const path = fileNamed("loop.db");
  const outbox = createOutbox({ store: sqliteOutboxStore({ path }) });
  onTestFinished(() => outbox.close());
  await outbox.summary();
  const blocks: Record<string, number> = {};
  const one = RUN_ALL ? ENTRIES : 2_000;
  blocks.add = await longestBlock(async () => {
    for (const entry of entries(one, "a")) await outbox.add(entry);
  });
  blocks.get = await longestBlock(async () => {
    for (let index = 0; index < one; index += 1) await outbox.get(`a${index}`);
  });
  const many = entries(ENTRIES, "m");
  const [first, again] = [
    await longestBlock(() => outbox.addMany(many)),
    await longestBlock(() => outbox.addMany(many)),
  ];
  blocks.addMany = Math.min(first, again);
  // `count` applied entries, as after a year, and as many pending ones, some of which are blocked by unknown entries.
  const count = RUN_ALL ? MANY : ENTRIES;
  const database = await openSqlite({ path });
  for (const [state, some] of [
    ["applied", count],
    ["unknown", 100],
    ["pending", count],
  ] as const)
    await database.transaction((query) =>
      query(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${some})
      INSERT INTO stocklot_outbox_entries (key, operation, lane, input, input_hash, added_at, state, settled_at)
      SELECT '${state}' || i, 'receive', 'old-' || (i % 500), '{"itemID":"SKU","units":50,"wid":3,"reasonCode":1,"remark":"[sl:ABCDEFGHABCDEFGH]"}',
        '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef', 1, '${state}', 2 FROM n`),
    );
  await database.close();
  blocks.entries = await longestBlock(async () => {
    let listed = 0;
    for await (const _ of outbox.entries()) listed += 1;
    expect(listed).toBe(one + ENTRIES + 2 * count + 100);
  });
  blocks.unknown = await longestBlock(async () => {
    let listed = 0;
    for await (const _ of outbox.entries({ state: "unknown" })) listed += 1;
    expect(listed).toBe(100);
  });
  blocks.summary = await longestBlock(async () => {
    expect(await outbox.summary()).toMatchObject({ applied: count, unknown: 100, pending: one + ENTRIES + count });
  });
  const { store } = await openStore(sqliteOutboxStore({ path }));
  blocks.next = await longestBlock(async () => {
    // The limit is higher than the number of entries, so that all are read.
    const next = await store.next(10_000, { upTo: Number.MAX_SAFE_INTEGER });
    expect(next).toHaveLength(500 + 400);
  });
  await store.database.close();
  const client = createWorld().createClient({ clientSecret: "wrong" });
  const sender = createOutbox({ client, store: sqliteOutboxStore({ path }), mark: false });
  onTestFinished(() => sender.close());
  const begin = () => longestBlock(() => expect(sender.run()).rejects.toThrow(AuthenticationError));
  // The first run also loads code.
  blocks.run = Math.min(await begin(), await begin());
  blocks.prune = await longestBlock(async () => {
    expect(await outbox.prune({ olderThanMs: 0 })).toBe(count);
  });
  // The limit is 50 ms, or on a slow machine the time to copy the entries four times.
  const copying = await longestBlock(async () => void JSON.parse(JSON.stringify(many)));
  const limit = Math.max(50, 4 * copying);
  for (const [method, longest] of Object.entries(blocks))
    expect([method, longest <= limit || longest]).toEqual([method, true]);
});
