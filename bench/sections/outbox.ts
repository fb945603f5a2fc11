import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { InventoryClient } from "../../src/index.js";
import { createOutbox, type OutboxEntryInput, sqliteOutboxStore } from "../../src/outbox/index.js";
import { collectGarbage } from "../measure.js";
import type { Section } from "../results.js";

/** The number of receipts that are added in one call, and then sent. */
const ENTRIES = 5_000;
const QUICK_ENTRIES = 500;
/** The number of receipts that are added one by one, each with its own commit. */
const SINGLE_ENTRIES = 500;
const CONCURRENCY = 4;
const SKUS = 200;

/** Measures an outbox in SQLite: adding receipts, and sending them to a sandbox. */
export async function outbox(quick: boolean): Promise<Section> {
  const entries = quick ? QUICK_ENTRIES : ENTRIES;
  const sandbox = fork(fileURLToPath(new URL("../sandbox-process.ts", import.meta.url)), ["0"]);
  const [service] = await once(sandbox, "message");
  const folder = await mkdtemp(join(tmpdir(), "stocklot-bench-"));
  const client = new InventoryClient({ ...service, rateLimit: false });
  const { value: items } = await client.items.list({ pageSize: SKUS }).page();
  const skus = items.map(({ shortID }) => shortID);
  const receipts = (prefix: string, count: number): OutboxEntryInput[] =>
    Array.from({ length: count }, (_, index) => ({
      key: `${prefix}-${index}`,
      operation: "receive",
      input: { itemID: skus[index % skus.length] ?? "", units: 5, wid: 1, reasonCode: 1, reference: "PO 4711" },
    }));

  const single = createOutbox({ client, store: sqliteOutboxStore({ path: join(folder, "single.db") }) });
  await single.add(receipts("first", 1)[0] ?? fail());
  const singly = await perSecond(SINGLE_ENTRIES, async () => {
    for (const entry of receipts("single", SINGLE_ENTRIES)) await single.add(entry);
  });
  await single.close();

  const store = sqliteOutboxStore({ path: join(folder, "many.db") });
  const many = createOutbox({ client, store, mark: "remark" });
  await many.summary();
  const together = await perSecond(entries, () => many.addMany(receipts("many", entries)));
  const run = await perSecond(entries, async () => {
    const { applied, requests } = await many.run({ concurrency: CONCURRENCY });
    // After each hundred receipts, the run reads the highest record number.
    if (applied !== entries || requests !== entries + Math.ceil(entries / 100)) fail();
  });
  const direct = await perSecond(entries, () => sendAll(receipts("direct", entries)));
  await many.close();
  await client.close();
  sandbox.disconnect();
  await rm(folder, { recursive: true });

  /** Sends the same requests without an outbox, with the same number in flight. */
  async function sendAll(all: readonly OutboxEntryInput[]): Promise<void> {
    const rest = all.values();
    const send = async () => {
      for (const { operation, input } of rest) if (operation === "receive") await client.inventory.receive(input);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, send));
  }
  return {
    title: "Outbox",
    note: `Receipts of ${SKUS} items in SQLite, each commit on disk, sent ${CONCURRENCY} at a time to a sandbox in another process without a rate limit. Each entry takes two commits while it is sent. (The service's own limit is 100 requests per minute.)`,
    columns: ["what", "entries per second"],
    rows: [
      ["added one by one", { value: singly, digits: 0 }],
      [`${entries.toLocaleString("en")} added at once`, { value: together, digits: 0 }],
      ["sent by a run", { value: run, digits: 0 }],
      ["sent without an outbox", { value: direct, digits: 0 }],
    ],
    checks: [
      { what: "sent by a run, entries per second", value: run, atLeast: 50 },
      { what: "added at once, entries per second", value: together, atLeast: 5_000 },
    ],
  };
}

async function perSecond(count: number, act: () => Promise<unknown>): Promise<number> {
  await collectGarbage();
  const startedAt = performance.now();
  await act();
  return count / ((performance.now() - startedAt) / 1_000);
}

function fail(): never {
  throw new Error("the outbox did not send each entry once");
}
