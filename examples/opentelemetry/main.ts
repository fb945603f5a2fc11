/**
 * Traces and metrics of a client: one span per call, with a child per attempt.
 *
 *     npx tsx examples/opentelemetry/main.ts
 *
 * Always against a sandbox, which can produce faults. tracing.ts sets up the SDK and instruments stocklot.
 */

import { SpanStatusCode, trace } from "@opentelemetry/api";
import { InventoryClient, NotFoundError } from "stocklot";
import { createSandbox } from "stocklot/sandbox";
import { number } from "../terminal.js";
import { metricTable } from "./metric-table.js";
import { traceTree } from "./trace-tree.js";
import { flush, metricExporter, shutdown, spanExporter } from "./tracing.js";

const rateLimit = { requests: 8, intervalMs: 500, reserved: 2 };
const sandbox = createSandbox({ items: 20, lots: 600, latencyMs: [15, 40] });
const client = new InventoryClient({
  baseUrl: sandbox.baseUrl,
  ...sandbox.credentials,
  fetch: sandbox.fetch,
  // Short times, so that queueing, back-off and pauses are visible within a second.
  rateLimit,
  retry: { minDelayMs: 40, rateLimitDelayMs: [150, 200] },
});
const tracer = trace.getTracer("example");

await inSpan("count the stock", async () => {
  sandbox.addFault({ path: "/Inventory/*", skip: 1, times: 1, fault: 503 });
  let units = 0;
  for await (const lot of client.inventory.listLots({ wid: 1, pageSize: 50 }, { gapless: true })) units += lot.units;
  console.log(`Warehouse 1 contains ${number(units)} units.`);
});

await inSpan("book a delivery", async () => {
  const [item] = await client.items.list({ pageSize: 1 }).toArray({ limit: 1 });
  if (!item) throw new Error("the catalog is empty");
  sandbox.addFault({ path: "/Inventory/Receive", times: 1, fault: 429 });
  await client.inventory.receive({ itemID: item.shortID, units: 5, wid: 1, reasonCode: 1 });
});

// More concurrent calls than slots: the last ones wait before they are sent.
await inSpan("look up what was scanned", async () => {
  const items = await client.items.list().toArray({ limit: 9 });
  const scanned = [...items.map(({ shortID }) => shortID), "NO-SUCH-SKU"];
  const found = await Promise.all(scanned.map((shortID) => client.items.get(shortID).catch(unlessUnknown)));
  console.log(`Known of ${scanned.length} scans: ${found.filter(Boolean).length}.`);
});

await flush();
await client.close();
for (const line of traceTree(spanExporter.getFinishedSpans())) console.log(line);
console.log();
for (const line of metricTable(metricExporter.getMetrics())) console.log(line);
await shutdown();

/** Runs a function within a new span, which is active meanwhile. */
async function inSpan(name: string, run: () => Promise<void>): Promise<void> {
  await tracer.startActiveSpan(name, async (span) => {
    try {
      await run();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

function unlessUnknown(error: unknown): undefined {
  if (!(error instanceof NotFoundError)) throw error;
}
