/**
 * Keeps the catalog in step with a CSV file: shows the difference, then applies it. Run it again after a crash: no item is
 * created twice.
 *
 * npx tsx examples/sync-catalog.ts [file.csv]
 */
import { createReadStream } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "csv-parse";
import { InventoryClient } from "stocklot";
import { type DesiredItem, planItems } from "stocklot/plan";
import { connect } from "./connect.js";

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
  const report = await plan.apply({ client });
  console.log(`\n${report.applied} applied in ${report.requests} requests.`);
  for (const name of ["stale", "rejected", "unknown"] as const) {
    for (const { shortID, reason } of report[name]) console.log(`${name}: ${shortID}: ${reason}`);
  }
}
await client.close();
