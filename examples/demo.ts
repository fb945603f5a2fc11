/** The main job from end to end over real HTTP, without configuration: npm run demo */
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  InputValidationError,
  InventoryClient,
  type Lot,
  NotFoundError,
  type Paginator,
  PermissionError,
  type StockLevel,
} from "stocklot";
import { createMirror, sqliteSink } from "stocklot/mirror";
import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
import { planItems } from "stocklot/plan";
import { createSandbox } from "stocklot/sandbox";
import { change, number, printTable, progressBar, style } from "./terminal.js";

const startedAt = performance.now();

// Outbox and mirror store their data here.
const folder = await mkdtemp(join(tmpdir(), "stocklot-demo-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

// The whole service in memory, on a free port of the loopback address. The real one allows 100 requests per minute;
// this one allows 20 per second, so that you see the client wait for the limit without waiting a minute yourself.
const rateLimit = { requests: 20, intervalMs: 1_000 };
const sandbox = createSandbox({ items: 320, lots: 1_600, rateLimit, latencyMs: [5, 25] });
const server = await sandbox.listen();

const client = new InventoryClient({
  baseUrl: server.url,
  ...sandbox.credentials,
  rateLimit,
  timeoutMs: 2_000,
  hooks: {
    token: ({ expiresAt }) =>
      say(`The client received a token, valid until ${new Date(expiresAt).toLocaleTimeString("en-GB")}.`),
  },
});

console.log(style("bold", "stocklot demo"));
say(`A sandbox of the service runs at ${server.url}.`);
say(`It allows ${rateLimit.requests} requests per second. The client stays within this limit.`);

heading("Read all items and all lots, page by page");
// 250 records per page are the default and need the fewest requests. Smaller pages make the progress bar move.
const items = await readAll("items", client.items.list({ pageSize: 50 }));
const lots = await readAll("lots ", client.inventory.listLots({ pageSize: 50 }));

heading("Stock per warehouse, of items that are counted in pieces");
const warehouses = [...new Map(lots.map((lot) => [lot.wID, lot.warehouse]))]
  .map(([wid, name]) => ({ wid, name }))
  .sort((a, b) => a.wid - b.wid);
const pieces = new Set(items.filter(({ uOM }) => uOM === "EA").map(({ partNo }) => partNo));
const before = await readStockLevels();
const summary = warehouses.map(({ wid, name }) => {
  const levels = (before.get(wid) ?? []).filter((level) => pieces.has(level.partNo));
  return [
    name,
    lots.filter((lot) => lot.wID === wid && pieces.has(lot.partNo) && isInStock(lot)).length,
    levels.filter((level) => level.inStock > 0).length,
    sum(levels, "inStock"),
    sum(levels, "onHold"),
    sum(levels, "committed") + sum(levels, "packed"),
    sum(levels, "available"),
  ];
});
printTable(["Warehouse", "Open lots", "Items", "In stock", "On hold", "Allocated", "Available"], summary);
say("Available = In stock − On hold − Allocated (committed to orders, or packed).");

heading("Receive, move and issue stock");
const [central, north] = warehouses;
const item = items.find(({ uOM, partNo }) => uOM === "EA" && lots.some((lot) => lot.partNo === partNo));
if (!central || !north || !item) throw new Error("the sandbox has no data");
const { shortID: itemID, partNo, description } = item;
say(`Item ${itemID}, ${description}:`);

const received = await client.inventory.receive({
  itemID,
  units: 120,
  wid: central.wid,
  reasonCode: 1,
  spot: "DOCK-1",
  reference: "PO 4711",
});
say(`received 120 in ${central.name}, lot ${received.recNo}`);

const moved = await client.inventory.move({
  itemID,
  units: 50,
  wid: central.wid,
  fromSpot: "DOCK-1",
  shipToWid: north.wid,
  toSpot: "A-01-1",
});
say(`moved 50 of them to ${north.name}, lot ${moved.recNo}`);

await client.inventory.issue({ itemID, units: 20, wid: north.wid, spot: "A-01-1", reasonCode: 2 });
say(`issued 20 of those from ${north.name}`);
console.log();

const after = await readStockLevels();
const changes = warehouses.map(({ wid, name }) => {
  const [was, is] = [inStock(before, wid), inStock(after, wid)];
  return [name, was, is, change(is - was)];
});
printTable(["Warehouse", "Before", "After", "Change"], changes);

heading("Outbox: writes that survive lost responses and crashes");
const outbox = createOutbox({
  client,
  store: sqliteOutboxStore({ path: join(folder, "outbox.db") }),
  // After a lost response, the receipt is looked for when the request can no longer take effect: by default after a minute.
  settleMs: 2_000,
});
await outbox.addMany(
  [10, 20, 30].map((units, index) => ({
    key: `delivery-${index + 1}`,
    operation: "receive" as const,
    input: { itemID, units, wid: central.wid, reasonCode: 1 },
  })),
);
say("added 3 receipts");
sandbox.addFault({ path: "/Inventory/Receive", skip: 1, times: 1, fault: "drop-after" });
say("the service books the second one, but its response is lost");
const sentBefore = countReceipts();
const { applied, unknown } = await outbox.run();
say(`${applied} applied, ${unknown} unknown, ${countReceipts() - sentBefore} sent: nothing was booked twice`);
await outbox.close();

heading("Mirror: a local copy that stays in sync");
const mirror = createMirror({ client, sink: sqliteSink({ path: join(folder, "stock.db") }) });
const first = await mirror.run();
say(`first run: ${number(first.added)} items, lots and stock levels copied, in ${first.requests} requests`);
await client.items.update(itemID, { putUp: "Box of 100" });
const second = await mirror.run();
say(`second run, after a change of one item: ${second.changed} record changed, in ${second.requests} requests`);

heading("Plan: the catalog as it should be");
const plan = await planItems({
  client,
  desired: [
    { shortID: itemID, putUp: "Box of 50" },
    { shortID: "DEMO-NEW", description: "planned", uOM: "EA" },
  ],
});
for (const line of plan.toText().split("\n")) if (line !== "") say(line);
const report = await plan.apply({ client });
say(`${report.applied} applied, ${report.stale.length} stale, in ${report.requests} requests`);

heading("Errors have types");
try {
  await client.items.get("NO-SUCH-SKU");
} catch (error) {
  if (!(error instanceof NotFoundError)) throw error;
  showError("NotFoundError", `${error.status} ${error.code}`, error.serviceMessage);
}
try {
  await client.inventory.receive({ itemID, units: 0, wid: central.wid, reasonCode: 1 });
} catch (error) {
  if (!(error instanceof InputValidationError)) throw error;
  const issues = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  showError("InputValidationError", `${issues.join("; ")}. Not sent.`);
}
try {
  await client.inventory.receive({ itemID, units: 1, wid: 99, reasonCode: 1 });
} catch (error) {
  if (!(error instanceof PermissionError)) throw error;
  showError("PermissionError", `${error.status} ${error.reason}`, error.serviceMessage);
}

heading("Rate limit");
const { available, limit, queued, inFlight } = client.rateLimit;
say(`${available} of ${limit} slots free, ${queued} calls waiting, ${inFlight} requests in flight`);
const rejected = sandbox.requests.filter(({ status }) => status === 429).length;
say(`The service counted ${sandbox.requests.length} requests and rejected ${rejected || "none"} with 429.`);

await client.close();
await server.close();

const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`\n${style("green", `Done in ${seconds} s.`)} More examples: examples/README.md`);

/** Reads every record of a list, with a progress bar that also shows when the client waits for the rate limit. */
async function readAll<T>(label: string, list: Paginator<T>): Promise<T[]> {
  const bar = progressBar(label, () => (client.rateLimit.queued > 0 ? "waiting for the limit" : ""));
  const records: T[] = [];
  for await (const { value, totalCount } of list.pages()) {
    records.push(...value);
    bar.update({ received: records.length, totalCount });
  }
  bar.end();
  return records;
}

/** Stock levels by warehouse. All warehouses are read at the same time; the client stays within the rate limit. */
async function readStockLevels(): Promise<Map<number, StockLevel[]>> {
  const read = async ({ wid }: { wid: number }) =>
    [wid, await client.inventory.listStockLevels({ wid }).toArray()] as const;
  return new Map(await Promise.all(warehouses.map(read)));
}

function inStock(levels: Map<number, StockLevel[]>, wid: number): number {
  return levels.get(wid)?.find((level) => level.partNo === partNo)?.inStock ?? 0;
}

function isInStock({ active, shipped }: Lot): boolean {
  return active && shipped === null;
}

type Quantity = "inStock" | "onHold" | "committed" | "packed" | "available";

function sum(levels: StockLevel[], field: Quantity): number {
  return levels.reduce((total, level) => total + level[field], 0);
}

/** How often the service received a receipt. */
function countReceipts(): number {
  return sandbox.requests.filter(({ path }) => path === "/Inventory/Receive").length;
}

function heading(text: string): void {
  console.log(`\n${style("bold", text)}`);
}

function say(text: string): void {
  console.log(`  ${text}`);
}

function showError(name: string, problem: string, message?: string): void {
  say(`${style("red", name.padEnd(21))} ${problem}`);
  if (message) say(`${" ".repeat(21)} ${message}`);
}
