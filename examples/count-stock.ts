/**
 * A stock count on the sandbox, in which others book meanwhile: snapshot, count, plan, apply, and a second plan.
 *
 * npx tsx examples/count-stock.ts
 */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { InventoryClient } from "stocklot";
import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
import { planCount, takeSnapshot } from "stocklot/plan";
import { createSandbox } from "stocklot/sandbox";
import { outFile } from "./connect.js";

const wid = 3;
const sandbox = createSandbox({
  warehouses: [{ wID: wid, name: "Main" }],
  items: ["BOLT-M8", "NUT-M8", "WASHER-M8"].map((shortID) => ({ shortID, uOM: "EA" })),
  lots: [
    { shortID: "BOLT-M8", wID: wid, spot: "A-01", units: 470 },
    { shortID: "NUT-M8", wID: wid, spot: "A-02", units: 120 },
    { shortID: "NUT-M8", wID: wid, spot: "A-02", units: 80 },
    { shortID: "WASHER-M8", wID: wid, spot: "A-03", units: 50 },
  ],
});
const client = new InventoryClient({ baseUrl: sandbox.baseUrl, ...sandbox.credentials, fetch: sandbox.fetch });
const reasonCodes = { surplus: 21, shortage: 22 };

// The plan does not correct lots that were modified less than 15 minutes before the snapshot.
const QUARTER_HOUR_MS = 15 * 60_000;
sandbox.advance(2 * QUARTER_HOUR_MS);
const snapshot = await takeSnapshot({ client, wid });

// While people count, somebody issues ten washers.
const counted = [
  { itemID: "BOLT-M8", spot: "A-01", counted: 480 },
  { itemID: "NUT-M8", spot: "A-02", counted: 75 },
  { itemID: "WASHER-M8", spot: "A-03", counted: 50 },
];
await client.inventory.issue({ itemID: "WASHER-M8", units: 10, wid, spot: "A-03", reasonCode: 1 });

const plan = await planCount({ client, snapshot, counted, reasonCodes });
console.log(plan.toText());

const path = outFile("count-outbox.db");
await mkdir(dirname(path), { recursive: true });
const outbox = createOutbox({ client, store: sqliteOutboxStore({ path }) });
const report = await plan.apply({ client, outbox });
console.log(`\n${report.applied} groups corrected in ${report.requests} requests.`);

// Half an hour later, the washers are counted again. There are forty.
sandbox.advance(2 * QUARTER_HOUR_MS);
const recounted = counted.map((row) => (row.itemID === "WASHER-M8" ? { ...row, counted: 40 } : row));
const again = await planCount({
  client,
  snapshot: await takeSnapshot({ client, wid }),
  counted: recounted,
  reasonCodes,
});
console.log(`\nThe second plan:\n${again.toText()}`);

await outbox.close();
await client.close();
