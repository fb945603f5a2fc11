/**
 * Mirrors items, lots and stock levels into an SQLite database: the first run reads everything, later runs what has changed.
 *
 *     npx tsx examples/mirror-sqlite.ts [file.db]
 */
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { InventoryClient } from "stocklot";
import { createMirror, openCopy, sqliteSink } from "stocklot/mirror";
import { connect, outFile } from "./connect.js";
import { mirrorBar, printReport } from "./mirror-report.js";

const { service, sandbox } = connect({ items: 400, lots: 10_000 });
const [given] = process.argv.slice(2);
const path = given ?? outFile("stock.db");
await mkdir(dirname(path), { recursive: true });
// Each run has a new sandbox, so it needs a new copy.
if (sandbox && !given) for (const end of ["", "-wal", "-shm"]) await rm(path + end, { force: true });

const client = new InventoryClient(service);
const sink = sqliteSink({ path });
const mirror = createMirror({ client, sink, history: { days: 90 } });

await run();
if (sandbox) {
  // Changes between the two runs.
  const [item] = await client.items.list().toArray({ limit: 1 });
  const [lot] = await client.inventory.listLots().toArray({ limit: 1 });
  if (!item || !lot) throw new Error("the sandbox has no items");
  await client.items.update(item.shortID, { putUp: "Box of 100" });
  await client.inventory.receive({ itemID: lot.shortID, units: 5, wid: lot.wID, reasonCode: 1 });
  console.log("(changed one item, received one lot)");
  await run();
  await printChanges();
}
await client.close();

async function run(): Promise<void> {
  const bar = mirrorBar();
  const report = await mirror.run({ onProgress: bar.update }).finally(bar.end);
  printReport(report);
}

/** Prints the history of the copy. The first full pass does not count as a change. */
async function printChanges(): Promise<void> {
  const copy = await openCopy(sink);
  for await (const { resource, key, type, after } of copy.changes()) {
    const fields = type === "changed" ? Object.keys(after ?? {}).join(", ") : "";
    console.log(`  ${resource} ${key} ${type} ${fields}`);
  }
  await copy.close();
}
