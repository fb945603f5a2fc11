/**
 * Copies every lot to an NDJSON file: one JSON object per line.
 *
 *     npx tsx examples/mirror-lots-to-ndjson.ts [file]
 */
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { InventoryClient, type Lot, type Paginator } from "stocklot";
import { connect, outFile } from "./connect.js";
import { number, progressBar } from "./terminal.js";

const { service } = connect({ items: 500, lots: 10_000, latencyMs: [20, 60] });
const file = process.argv[2] ?? outFile("lots.ndjson");

const client = new InventoryClient(service);
const bar = progressBar("lots", () => (client.rateLimit.queued > 0 ? "waiting for the limit" : ""));
// A copy must be complete: `gapless` misses no lot, even while others add and remove some.
const lots = client.inventory.listLots({}, { gapless: true, readAhead: 4 });

const count = await writeLines(lots, file);
bar.end();
console.log(`Wrote ${number(count)} lots to ${file}`);
await client.close();

/** Writes to another file and renames it at the end, so that the copy is always complete. Returns the number of lines. */
async function writeLines(lots: Paginator<Lot>, file: string): Promise<number> {
  const partial = `${file}.partial`;
  let count = 0;

  async function* pagesAsText() {
    for await (const { value, totalCount } of lots.pages()) {
      count += value.length;
      bar.update({ received: count, totalCount });
      yield value.map((lot) => `${JSON.stringify(lot)}\n`).join("");
    }
  }

  await mkdir(dirname(file), { recursive: true });
  try {
    // The pipeline reads the next page only when the disk is ready; `flush` writes the data to the disk before the rename.
    await pipeline(pagesAsText, createWriteStream(partial, { flush: true }));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return count;
}
