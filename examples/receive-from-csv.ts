/**
 * Receives the rows of a CSV file into stock, one by one, and reports the outcome of each.
 *
 *     npx tsx examples/receive-from-csv.ts [file.csv]
 *
 * It keeps a journal beside the file, so that it can be run again after a failure: rows that were received, and rows whose
 * outcome is unknown, are never resent. The latter must be checked by hand.
 */
import { type FileHandle, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import {
  ApiError,
  AuthenticationError,
  ConnectionError,
  InputValidationError,
  InventoryClient,
  OutcomeUnknownError,
  RateLimitError,
  type ReceiveInput,
  ResponseValidationError,
} from "stocklot";
import { connect, outFile } from "./connect.js";
import { parseCsv } from "./csv.js";

/** A row stays at `sent` if this program is killed before the response arrives: its outcome is unknown, too. */
type Outcome = "sent" | "received" | "rejected" | "unknown" | "not received";

const COLUMNS = ["itemID", "units", "wid", "reasonCode", "spot", "serial", "reference", "remark"];

const { service, sandbox } = connect({
  items: ["BOLT-M8", "BOLT-M10", "CABLE-3G15", "PAINT-RED"].map((shortID) => ({ shortID })),
  // The response to one receipt is lost after it was booked, as happens on any network.
  faults: [{ method: "POST", path: "/Inventory/Receive", skip: 3, times: 1, fault: "drop-after" }],
});
const [given] = process.argv.slice(2);
if (!given && !sandbox) throw new Error("Which file? The sample is not for a real service.");

const file = given ?? new URL("./receipts.csv", import.meta.url);
const journalFile = given ? `${given}.journal` : outFile("receipts.csv.journal");
// A sandbox keeps nothing, so each run of the sample starts with a new journal.
if (!given) await rm(journalFile, { force: true });

const rows = withKeys(parseCsv(await readFile(file, "utf8")));
const foreign = Object.keys(rows[0]?.cells ?? {}).filter((name) => !COLUMNS.includes(name));
// The values of such a column would be lost silently.
if (foreign.length > 0) throw new Error(`unknown columns: ${foreign.join(", ")}`);
await mkdir(dirname(journalFile), { recursive: true });
const journal = await open(journalFile, "a+");
const earlier = await read(journal);
const client = new InventoryClient(service);
const counts = new Map<string, number>();
const unknown: string[] = [];

for (const { key, line, cells } of rows) {
  const before = earlier.get(key);
  if (before === "received") report(line, "skipped", "received by an earlier run");
  else if (before === "sent" || before === "unknown") {
    report(line, "unknown", "sent by an earlier run, which received no response");
    unknown.push(`line ${line}: ${describe(cells)}`);
  } else {
    await note(journal, key, "sent");
    const { outcome, text, fatal } = await receive(receiptFrom(cells));
    await note(journal, key, outcome);
    report(line, outcome, text);
    if (outcome === "unknown") unknown.push(`line ${line}: ${describe(cells)}`);
    if (fatal) break;
  }
}
await journal.close();
await client.close();

console.log(`\n${[...counts].map(([outcome, count]) => `${count} ${outcome}`).join(", ")}`);
if (unknown.length > 0) {
  console.log("\nThese may have been received. Look in the inventory before you book them by hand:");
  for (const text of unknown) console.log(`  ${text}`);
}
// In the sample some rows are meant to fail.
const isOpen = ["rejected", "unknown", "not received"].some((outcome) => counts.has(outcome));
if (given && isOpen) process.exitCode = 1;

async function receive(receipt: ReceiveInput): Promise<{ outcome: Outcome; text: string; fatal?: boolean }> {
  try {
    const { recNo } = await client.inventory.receive(receipt);
    return { outcome: "received", text: recNo === undefined ? "" : `lot ${recNo}` };
  } catch (error) {
    // Sent, without a readable response: neither the client nor this program resends it.
    if (error instanceof OutcomeUnknownError) {
      return {
        outcome: "unknown",
        text: `no response to the request sent at ${new Date(error.request.sentAt).toISOString()}`,
      };
    }
    if (error instanceof ResponseValidationError) return { outcome: "unknown", text: error.message };
    // Known not to have been booked, and the next row would fail too: stop, and run again later.
    if (error instanceof ConnectionError || error instanceof AuthenticationError || error instanceof RateLimitError) {
      return { outcome: "not received", text: error.message, fatal: true };
    }
    // The client or the service reports that the row is wrong.
    if (error instanceof InputValidationError) return { outcome: "rejected", text: error.message };
    if (error instanceof ApiError) return { outcome: "rejected", text: error.serviceMessage };
    throw error;
  }
}

/** Empty cells are omitted; the client reports what is missing or not a number. */
function receiptFrom(cells: Record<string, string>): ReceiveInput {
  const text = (name: string) => cells[name]?.trim() || undefined;
  const number = (name: string) => Number(text(name) ?? Number.NaN);
  return {
    itemID: text("itemID") ?? "",
    units: number("units"),
    wid: number("wid"),
    reasonCode: number("reasonCode"),
    spot: text("spot"),
    serial: text("serial"),
    reference: text("reference"),
    remark: text("remark"),
  };
}

/** A row is identified by its content, so that lines may be added above it. Two equal rows are two receipts. */
function withKeys(rows: ReturnType<typeof parseCsv>) {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const content = JSON.stringify(row.cells);
    const count = (seen.get(content) ?? 0) + 1;
    seen.set(content, count);
    return { ...row, key: `${content} #${count}` };
  });
}

/** The last outcome of each row. */
async function read(journal: FileHandle): Promise<Map<string, Outcome>> {
  const lines = (await journal.readFile("utf8")).split("\n").filter((line) => line !== "");
  const entries: { key: string; outcome: Outcome }[] = lines.map((line) => JSON.parse(line));
  return new Map(entries.map(({ key, outcome }) => [key, outcome]));
}

/** Flushed to the disk before the program continues, so that it survives a crash. */
async function note(journal: FileHandle, key: string, outcome: Outcome): Promise<void> {
  await journal.appendFile(`${JSON.stringify({ key, outcome, at: new Date() })}\n`);
  await journal.datasync();
}

function report(line: number, outcome: Outcome | "skipped", text: string): void {
  console.log(`line ${String(line).padStart(3)}  ${outcome.padEnd(12)}  ${text}`);
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
}

function describe(cells: Record<string, string>): string {
  return Object.entries(cells)
    .filter(([, cell]) => cell !== "")
    .map(([name, cell]) => `${name} ${cell}`)
    .join(", ");
}
