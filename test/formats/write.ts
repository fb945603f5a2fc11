/**
 * Writes a copy of every format that users store, as this version writes it: run it once for each version that changes one
 * of them, before its release.
 *
 * npx tsx test/formats/write.ts 1.0.0
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planCount, planItems, takeSnapshot } from "stocklot/plan";
import { createWorld, dumpSqlite, ENTRIES, REASON_CODES, WID } from "./world.js";

const [version] = process.argv.slice(2);
if (!version) throw new Error("Name the version.");
const target = new URL(`./${version}/`, import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "stocklot-formats-"));
const pathOf = (name: string) => join(folder, name);
const writeJson = (name: string, value: unknown) =>
  writeFileSync(new URL(name, target), `${JSON.stringify(value, null, 2)}\n`);
mkdirSync(target, { recursive: true });

async function writeOutbox(): Promise<void> {
  const { sandbox, outboxAt } = createWorld();
  sandbox.addFault({ path: "/Inventory/Issue", times: 1, fault: "drop-after" });
  const outbox = outboxAt(pathOf("outbox.db"));
  await outbox.addMany(ENTRIES.slice(0, -2));
  await outbox.run();
  await outbox.addMany(ENTRIES.slice(-2));
  await outbox.cancel("canceled");
  await outbox.close();
  writeFileSync(new URL("outbox.sql", target), await dumpSqlite(pathOf("outbox.db")));
}

async function writeMirror(): Promise<void> {
  const { client, mirrorAt } = createWorld();
  const mirror = mirrorAt(pathOf("mirror.db"));
  await mirror.run();
  await client.items.update("NUT", { description: "changed" });
  await mirror.run();
  writeFileSync(new URL("mirror.sql", target), await dumpSqlite(pathOf("mirror.db")));
}

async function writePlans(): Promise<void> {
  const { client } = createWorld();
  writeJson("plan-items.json", await planItems({ client, desired: [{ shortID: "BOLT", description: "planned" }] }));
  const snapshot = await takeSnapshot({ client, wid: WID });
  writeJson("snapshot.json", snapshot);
  const counted = [{ itemID: "BOLT", spot: "A-01", counted: 98 }];
  writeJson("plan-count.json", await planCount({ client, snapshot, counted, reasonCodes: REASON_CODES }));
}

async function writeCheckpoint(): Promise<void> {
  const list = createWorld().client.inventory.listLots({ pageSize: 2 });
  for await (const { page } of list.pages()) if (page === 2) break;
  writeJson("checkpoint.json", list.checkpoint());
}

for (const write of [writeOutbox, writeMirror, writePlans, writeCheckpoint]) await write();
rmSync(folder, { recursive: true });
