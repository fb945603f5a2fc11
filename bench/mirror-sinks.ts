/**
 * Rows per second that each sink of a mirror writes and reads.
 *
 * tsx bench/mirror-sinks.ts [lots]    200 000 lots unless it says otherwise; PostgreSQL where it is installed
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresSink } from "../src/mirror/index.js";
import type { MirrorSink } from "../src/mirror/sink.js";
import { SqliteSink } from "../src/mirror/sinks/sqlite-sink.js";
import { loadNodeDriver, loadPackageDriver } from "../src/storage/sqlite/driver.js";
import { findPostgres } from "../test/support/postgres-server.js";
import { lot } from "./records.js";
import { tableOf } from "./table.js";

const LOTS = Number(process.argv[2] ?? 200_000);
/** The size of a page of the service, and ten times that. */
const BATCHES = [250, 2_500];

const folder = await mkdtemp(join(tmpdir(), "stocklot-sinks-"));
const postgres = await findPostgres();
const node = loadNodeDriver();
const sinks: [string, (place: string) => MirrorSink][] = [
  ["sqlite, @photostructure/sqlite", (place) => new SqliteSink({ path: join(folder, place) }, loadPackageDriver)],
];
if (node)
  sinks.unshift(["sqlite, node:sqlite", (place) => new SqliteSink({ path: join(folder, place) }, async () => node)]);
if (postgres) sinks.push(["postgres", (place) => postgresSink({ connectionString: postgres.url, schema: place })]);

const rows = [];
for (const [name, sinkAt] of sinks) {
  for (const batch of BATCHES)
    rows.push([`${name}, ${batch} per batch`, ...(await measure(sinkAt(`${rows.length}`), batch))]);
}
await postgres?.close();
await rm(folder, { recursive: true });
console.log(
  tableOf({
    title: `Sinks of a mirror, Node.js ${process.versions.node}`,
    note: `${LOTS} lots: thousands per second, written, read by key, and written again`,
    columns: ["", "new", "read", "again", "of which waited"],
    rows,
    checks: [],
  }),
);

async function measure(sink: MirrorSink, batch: number) {
  let previousState = await sink.open();
  const write = () =>
    inBatches(async (keys) => {
      const state = `${Math.random()}`;
      await sink.commit({ resource: "lots", upsert: keys.map(lot), remove: [], previousState, state });
      previousState = state;
    }, batch);
  const added = await write();
  const read = await inBatches(async (keys) => void (await sink.read("lots", keys)), batch);
  const again = await write();
  await sink.close();
  return [
    { value: added.thousands, digits: 0 },
    { value: read.thousands, digits: 0 },
    { value: again.thousands, digits: 0 },
    { value: 100 * added.waited, digits: 0, unit: "%" },
  ];
}

/** Thousands per second, and the share of the time in which this process was idle. */
async function inBatches(act: (keys: number[]) => Promise<void>, batch: number) {
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (let first = 1; first <= LOTS; first += batch)
    await act(Array.from({ length: batch }, (_, index) => first + index));
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { thousands: LOTS / ms, waited: Math.max(0, 1 - (user + system) / 1_000 / ms) };
}
