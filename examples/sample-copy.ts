/** Creates a copy of a sandbox, with some changes in its history, for the examples that read a copy. */
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { InventoryClient } from "stocklot";
import { createMirror, sqliteSink } from "stocklot/mirror";
import { connect, outFile } from "./connect.js";

/** Fills a new copy, and returns its path. */
export async function sampleCopy(): Promise<string> {
  const path = outFile("sample.db");
  await mkdir(dirname(path), { recursive: true });
  for (const end of ["", "-wal", "-shm", ".reported"]) await rm(path + end, { force: true });
  const client = new InventoryClient(connect({ items: 50, lots: 500 }).service);
  const mirror = createMirror({ client, sink: sqliteSink({ path }), history: { days: 90 } });
  await mirror.run();
  await client.inventory.receive({ itemID: "BOLT-M8", units: 50, wid: 1, reasonCode: 1 });
  await client.items.discontinue("BOLT-M8");
  await mirror.run();
  await client.close();
  return path;
}
