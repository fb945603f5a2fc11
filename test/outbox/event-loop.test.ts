import { expect, it, onTestFinished } from "vitest";
import { createOutbox, type OutboxEntryInput, sqliteOutboxStore } from "../../src/outbox/index.js";
import { openSqlite } from "../../src/storage/sqlite.js";
import { ownFolder } from "../support/own-folder.js";
import { RUN_ALL } from "../support/runs.js";
import { openStore } from "./support/store-spec.js";
import { receipt } from "./support/world.js";

const fileNamed = ownFolder();
const ENTRIES = 10_000;
const MANY = 100_000;

/**
 * The longest time, in ms, for which the event loop has had no turn during some work: by the clock or by CPU time, whichever is
 * shorter, since other programs may stop this one, and other threads collect garbage.
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
  // As many as a year has.
  const database = await openSqlite({ path });
  await database.transaction((query) =>
    query(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${RUN_ALL ? MANY : ENTRIES})
      INSERT INTO stocklot_outbox_entries (key, operation, lane, input, input_hash, added_at, state, settled_at)
      SELECT 'old' || i, 'receive', 'sku-' || (i % 500), '{"itemID":"SKU","units":50,"wid":3,"reasonCode":1,"remark":"[sl:ABCDEFGHABCDEFGH]"}',
        '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef', 1, 'applied', 2 FROM n`),
  );
  await database.close();
  blocks.entries = await longestBlock(async () => {
    let count = 0;
    for await (const _ of outbox.entries()) count += 1;
    expect(count).toBe(one + ENTRIES + (RUN_ALL ? MANY : ENTRIES));
  });
  blocks.summary = await longestBlock(() => outbox.summary());
  const { store } = await openStore(sqliteOutboxStore({ path }));
  blocks.next = await longestBlock(() => store.next(100, { upTo: Number.MAX_SAFE_INTEGER }));
  await store.database.close();
  blocks.prune = await longestBlock(async () => {
    expect(await outbox.prune({ olderThanMs: 0 })).toBe(RUN_ALL ? MANY : ENTRIES);
  });
  for (const [method, longest] of Object.entries(blocks))
    expect([method, longest <= 50 || longest]).toEqual([method, true]);
});
