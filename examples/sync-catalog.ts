/**
 * Keeps the catalog in step with a CSV file: shows the difference, then applies it through an outbox. Run it again after
 * a crash: no item is created twice.
 *
 * npx tsx examples/sync-catalog.ts [file.csv]
 */
import { createReadStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "csv-parse";
import { InventoryClient } from "stocklot";
import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
import { type DesiredItem, planItems } from "stocklot/plan";
import { connect, outFile } from "./connect.js";

const { service } = connect();
const [file = fileURLToPath(new URL("./catalog.csv", import.meta.url))] = process.argv.slice(2);
const client = new InventoryClient(service);

/** The rows of the file, one after the other. Empty cells leave a field as it is. */
async function* rows(): AsyncGenerator<DesiredItem> {
  for await (const { shortID, description, category } of createReadStream(file).pipe(
    parse({ columns: true, bom: true }),
  )) {
    yield { shortID, description: description || undefined, category: category ? Number(category) : undefined };
  }
}

const plan = await planItems({ client, desired: rows() });
console.log(plan.toText({ limit: 20 }));

if (!plan.isEmpty) {
  const path = outFile("catalog-outbox.db");
  await mkdir(dirname(path), { recursive: true });
  const outbox = createOutbox({ client, store: sqliteOutboxStore({ path }) });
  const report = await plan.apply({ client, outbox });
  console.log(`\n${report.applied} applied in ${report.requests} requests.`);
  for (const name of ["stale", "rejected", "unknown"] as const) {
    for (const { shortID, reason } of report[name]) console.log(`${name}: ${shortID}: ${reason}`);
  }
  await outbox.close();
}
await client.close();
