/**
 * Receives the rows of a CSV file into stock, each exactly once, and reports the outcome of each.
 *
 *     npx tsx examples/receive-from-csv.ts file.csv
 *     npx tsx examples/receive-from-csv.ts file.csv --applied 6 --not-applied 9    your decisions about unknown lines
 *
 * An outbox next to the file stores what was sent. So you can run the program again, also after it was killed: each row
 * is received once. It reads CSV with the package csv-parse.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "csv-parse/sync";
import { InputValidationError, InventoryClient, type ReceiveInput } from "stocklot";
import { createOutbox, type OutboxEntry, type OutboxEntryInput, sqliteOutboxStore } from "stocklot/outbox";
import { connect, outFile } from "./connect.js";
import { progressBar } from "./terminal.js";

type Cells = Record<string, string>;

interface Row {
  /** The line of the row in the file. */
  line: number;
  cells: Cells;
  entry: OutboxEntryInput;
}

const COLUMNS = ["itemID", "units", "wid", "reasonCode", "spot", "serial", "reference", "remark"];

const { service, sandbox } = connect({
  items: ["BOLT-M8", "BOLT-M10", "CABLE-3G15", "PAINT-RED"].map((shortID) => ({ shortID })),
  // The response to one receipt is lost after the receipt was booked, as on any network. The outbox finds the lot by its mark.
  faults: [{ method: "POST", path: "/Inventory/Receive", skip: 3, times: 1, fault: "drop-after" }],
});
const decision = { type: "string", multiple: true, default: [] as string[] } as const;
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { applied: decision, "not-applied": decision },
});
const [given] = positionals;
if (!given && !sandbox) throw new Error("Name a CSV file. The sample is not for a real service.");

const rows = readRows(await readFile(given ?? new URL("./receipts.csv", import.meta.url), "utf8"));
const path = given ? `${given}.outbox.db` : outFile("receipts.csv.outbox.db");
await mkdir(dirname(path), { recursive: true });
// A sandbox keeps nothing, so each run of the sample starts with a new outbox.
if (!given) for (const end of ["", "-wal", "-shm"]) await rm(path + end, { force: true });

await using client = new InventoryClient(service);
await using outbox = createOutbox({
  client,
  store: sqliteOutboxStore({ path }),
  // If this program was killed, the next run waits this long for the lock. It looks up the interrupted writes a minute later
  // (`settleMs`).
  leaseMs: 5_000,
});
const wrongInputs = await add(rows);
await resolveRefused();
const failure = await send();
const isDone = await report();
// In the sample some rows are meant to fail.
if (failure !== undefined || (given && !isDone)) process.exitCode = 1;

function readRows(text: string): Row[] {
  const header = (names: string[]) => {
    const foreign = names.filter((name) => !COLUMNS.includes(name));
    // The values of such a column would be lost silently.
    if (foreign.length > 0) throw new Error(`unknown columns: ${foreign.join(", ")}`);
    return names;
  };
  if (text.trim() === "") throw new Error("the CSV file is empty");
  const parsed = parse<{ record: Cells; info: { lines: number } }>(text, {
    columns: header,
    bom: true,
    trim: true,
    skip_empty_lines: true,
    info: true,
  });
  const seen = new Map<string, number>();
  return parsed.map(({ record: cells, info: { lines: line } }) => {
    // A row is identified by its content, so that lines may be added above it. Two equal rows are two receipts.
    const content = createHash("sha256").update(JSON.stringify(cells)).digest("hex");
    const count = (seen.get(content) ?? 0) + 1;
    seen.set(content, count);
    return { line, cells, entry: { key: `${content} #${count}`, operation: "receive", input: receiptFrom(cells) } };
  });
}

/** Omits empty cells. The outbox reports what is missing or not a number. */
function receiptFrom(cells: Cells): ReceiveInput {
  const text = (name: string) => cells[name] || undefined;
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

/** Adds the rows whose input is correct. Returns what is wrong with the others. */
async function add(all: readonly Row[]): Promise<Map<Row, string[]>> {
  const wrong = new Map<Row, string[]>();
  try {
    await outbox.addMany(all.map(({ entry }) => entry));
  } catch (error) {
    if (!(error instanceof InputValidationError)) throw error;
    for (const { path, message } of error.issues) {
      const row = all[Number(path[0])];
      if (row) wrong.set(row, [...(wrong.get(row) ?? []), `${path.at(-1)}: ${message}`]);
    }
    await outbox.addMany(all.filter((row) => !wrong.has(row)).map(({ entry }) => entry));
  }
  return wrong;
}

/**
 * Rows that the service rejected in an earlier run are retried, since the cause may have been removed. Unknown lines
 * are resolved as you decided.
 */
async function resolveRefused(): Promise<void> {
  for (const { line, entry } of rows) {
    const state = (await outbox.get(entry.key))?.state;
    if (state === "rejected") await outbox.resolve(entry.key, "not-applied");
    if (state !== "unknown") continue;
    if (values.applied.includes(`${line}`)) await outbox.resolve(entry.key, "applied");
    if (values["not-applied"].includes(`${line}`)) await outbox.resolve(entry.key, "not-applied");
  }
}

/** Returns the error that ended the run early, if any. The next run sends the remaining rows. */
async function send(): Promise<unknown> {
  const bar = progressBar("receipts");
  const { pending: entries } = await outbox.summary();
  try {
    await outbox.run({ onProgress: ({ pending }) => bar.update({ received: entries - pending, totalCount: entries }) });
    return undefined;
  } catch (error) {
    console.error(`The run ended early: ${error instanceof Error ? error.message : error}`);
    return error;
  } finally {
    bar.end();
  }
}

/** Prints the outcome of each row. Returns whether all rows were received. */
async function report(): Promise<boolean> {
  const counts = new Map<string, number>();
  const unknown: string[] = [];
  for (const row of rows) {
    const [outcome, text] = outcomeOf(row, await outbox.get(row.entry.key));
    console.log(`line ${String(row.line).padStart(3)}  ${outcome.padEnd(12)}  ${text}`);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    if (outcome === "unknown") unknown.push(`line ${row.line}: ${describe(row.cells)}`);
  }
  console.log(`\n${[...counts].map(([outcome, count]) => `${count} ${outcome}`).join(", ")}`);
  if (unknown.length > 0) {
    console.log(
      "\nThese may have been received. Look in the inventory, then run this again with --applied or --not-applied:",
    );
    for (const text of unknown) console.log(`  ${text}`);
  }
  return [...counts.keys()].every((outcome) => outcome === "received");
}

function outcomeOf(row: Row, entry: OutboxEntry | undefined): [outcome: string, text: string] {
  const error = Object(entry?.error);
  switch (entry?.state) {
    case "applied":
      return ["received", `lot ${Object(entry.result).recNo ?? "of unknown number"}`];
    case "rejected":
      return ["rejected", error.serviceMessage ?? error.message];
    case "unknown":
      return ["unknown", error.message];
    case undefined:
      return ["rejected", (wrongInputs.get(row) ?? []).join("; ")];
    default:
      return ["not received", "the next run sends it"];
  }
}

function describe(cells: Cells): string {
  return Object.entries(cells)
    .filter(([, cell]) => cell !== "")
    .map(([name, cell]) => `${name} ${cell}`)
    .join(", ");
}
