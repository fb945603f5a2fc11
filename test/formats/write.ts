/**
 * Writes a copy of every format that users store, as this version writes it: run it once for each version that changes one
 * of them, before its release.
 *
 * STOCKLOT_TEST=all npx tsx test/formats/write.ts 1.0.0
 *
 * It needs pg_dump.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planCount, planItems, takeSnapshot } from "stocklot/plan";
import { findPostgres } from "../support/postgres-server.js";
import {
  createWorld,
  dumpSqlite,
  ENTRIES,
  type Place,
  postgresPlace,
  REASON_CODES,
  restorePostgres,
  SCHEMA,
  sqlitePlace,
  WID,
} from "./world.js";

const [version] = process.argv.slice(2);
if (!version) throw new Error("Name the version.");
const postgres = await findPostgres();
if (!postgres) throw new Error("There is no PostgreSQL.");
const { url } = postgres;
const target = new URL(`./${version}/`, import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "stocklot-formats-"));
const writeJson = (name: string, value: unknown) =>
  writeFileSync(new URL(name, target), `${JSON.stringify(value, null, 2)}\n`);
mkdirSync(target, { recursive: true });

/** What psql and other versions of the server understand, or nobody needs. */
const UNWANTED_LINES = /^(?:(?:--|SET |SELECT pg_catalog\.set_config|\\).*)?\n/gm;

function dumpPostgres(): string {
  const options = ["--inserts", "--no-owner", "--no-privileges", `--schema=${SCHEMA}`, url];
  return execFileSync("pg_dump", options, { encoding: "utf8" }).replace(UNWANTED_LINES, "");
}

/** Writes what `store` stores, in either database. */
async function writeDumps(name: string, store: (place: Place) => Promise<void>): Promise<void> {
  const path = join(folder, name);
  await store(sqlitePlace(path));
  writeFileSync(new URL(`${name}.sql`, target), await dumpSqlite(path));
  await restorePostgres(url, "");
  await store(postgresPlace(url));
  writeFileSync(new URL(`${name}.postgres.sql`, target), dumpPostgres());
}

async function fillOutbox(place: Place): Promise<void> {
  const { sandbox, outboxAt } = createWorld();
  sandbox.addFault({ path: "/Inventory/Issue", times: 1, fault: "drop-after" });
  const outbox = outboxAt(place.store());
  await outbox.addMany(ENTRIES.slice(0, -2));
  await outbox.run();
  await outbox.addMany(ENTRIES.slice(-2));
  await outbox.cancel("canceled");
  await outbox.close();
}

async function fillMirror(place: Place): Promise<void> {
  const { client, mirrorAt } = createWorld();
  const mirror = mirrorAt(place.sink());
  await mirror.run();
  await client.items.update("NUT", { description: "changed" });
  await mirror.run();
}

async function writePlans(): Promise<void> {
  const { client } = createWorld();
  writeJson("plan-items.json", await planItems({ client, desired: [{ shortID: "BOLT", description: "planned" }] }));
  const snapshot = await takeSnapshot({ client, wid: WID });
  writeJson("snapshot.json", snapshot);
  const counted = [{ itemID: "BOLT", spot: "A-01", counted: 98 }];
  writeJson("plan-count.json", await planCount({ client, snapshot, counted, reasonCodes: REASON_CODES }));
}

await writeDumps("outbox", fillOutbox);
await writeDumps("mirror", fillMirror);
await writePlans();
await postgres.close();
rmSync(folder, { recursive: true });
