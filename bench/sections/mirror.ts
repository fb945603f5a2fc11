import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { InventoryClient } from "../../src/index.js";
import { RowCodec } from "../../src/mirror/copy/row-codec.js";
import { createCopySql, indexesOf, upsertSql } from "../../src/mirror/copy/sql.js";
import { createMirror, sqliteSink } from "../../src/mirror/index.js";
import { tableOf } from "../../src/mirror/tables.js";
import { SQLITE_DIALECT } from "../../src/storage/dialect.js";
import { findSqliteDriver } from "../../src/storage/sqlite-driver.js";
import { collectGarbage } from "../measure.js";
import { lot } from "../records.js";
import type { Section } from "../results.js";

const MIB = 1_024 * 1_024;
const PAGE_SIZE = 250;
/** The number of memory samples per run. */
const SAMPLES = 20;

/** Measures a mirror of the sandbox's lots in SQLite: its first run, and a full run without changes. */
export async function mirror(quick: boolean): Promise<Section> {
  const lots = quick ? 100_000 : 1_000_000;
  const sandbox = fork(fileURLToPath(new URL("../sandbox-process.ts", import.meta.url)), [String(lots)]);
  const [service] = await once(sandbox, "message");
  const folder = await mkdtemp(join(tmpdir(), "stocklot-bench-"));
  const client = new InventoryClient({ ...service, rateLimit: false });
  const path = join(folder, "lots.db");
  const sink = sqliteSink({ path });
  const copy = createMirror({ client, sink, resources: ["lots"] });
  await client.inventory.listLots().page();
  let held: number[] = [];
  let next = 0;
  const readSeconds = await cpuSecondsOf(async () => {
    for await (const _ of client.inventory.listLots({}, { gapless: true, readAhead: 2 }).pages());
  });
  const first = await measure(() => copy.run({ onProgress: sample }));
  const again = await measure(() => copy.run({ full: true, onProgress: sample }));
  const quiet = await copy.run();
  const insertSeconds = await measureInserts(join(folder, "inserts.db"), lots);
  const storeSeconds = lots / first.perCpuSecond - readSeconds;
  const queries = await measureQueries(path);
  await client.close();
  sandbox.disconnect();
  await rm(folder, { recursive: true });
  if (first.report.added !== lots || again.report.changed > 0) throw new Error("the copy is not correct");

  function sample({ received }: { received: number }): void {
    if (received < next) return;
    next += lots / SAMPLES;
    globalThis.gc?.();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    held.push(heapUsed + arrayBuffers);
  }
  async function measure(run: () => ReturnType<typeof copy.run>) {
    await collectGarbage();
    held = [];
    next = 0;
    const cpu = process.cpuUsage();
    const report = await run();
    const { user, system } = process.cpuUsage(cpu);
    return {
      report,
      perSecond: lots / (report.durationMs / 1_000),
      perCpuSecond: lots / ((user + system) / 1e6),
      heldMost: Math.max(...held) / MIB,
      drift: ((held.at(-1) ?? 0) - (held[1] ?? 0)) / MIB,
    };
  }

  const rows = (name: string, { perSecond, perCpuSecond, drift }: typeof first): Section["rows"] => [
    [`${name}: lots per second`, { value: perSecond, digits: 0 }],
    [`${name}: lots per second of CPU time`, { value: perCpuSecond, digits: 0 }],
    [`${name}: held at the end − at the start`, { value: drift, digits: 1, unit: "MiB" }],
  ];
  return {
    title: "Mirror",
    note: `${lots.toLocaleString("en")} lots from a sandbox in another process, without a rate limit, into SQLite: gapless, validated, each page with its state in one transaction.`,
    columns: ["what", "value"],
    rows: [
      ...rows("first run", first),
      ...rows("full run, nothing new", again),
      ["first run, without reading: CPU time per lot", { value: (storeSeconds / lots) * 1e6, digits: 1, unit: "µs" }],
      ["prepared inserts: CPU time per lot", { value: (insertSeconds / lots) * 1e6, digits: 1, unit: "µs" }],
      ["run without changes: requests", { value: quiet.requests, digits: 0 }],
      ...queries.flatMap(({ name, indexedMs, scannedMs }): Section["rows"] => [
        [`${name}, with its index`, { value: indexedMs, digits: 2, unit: "ms" }],
        [`${name}, without`, { value: scannedMs, digits: 2, unit: "ms" }],
      ]),
    ],
    checks: [
      { what: "first run, lots per second of CPU time", value: first.perCpuSecond, atLeast: 20_000 },
      // A full pass keeps the keys of its list in memory.
      {
        what: "first run, held bytes per lot at the end − at the start",
        value: (first.drift * MIB) / lots,
        atMost: 48,
      },
      {
        what: "CPU time: first run without reading ÷ prepared inserts",
        value: storeSeconds / insertSeconds,
        atMost: 2.5,
      },
      { what: "run without changes, requests", value: quiet.requests, atMost: 2 },
    ],
  };
}

/** Returns the CPU time of an action, in s. */
async function cpuSecondsOf(action: () => unknown): Promise<number> {
  await collectGarbage();
  const before = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Returns the CPU time, in s, in which only the driver stores lots in the same table, page by page, and indexes them. */
async function measureInserts(path: string, lots: number): Promise<number> {
  const { DatabaseSync } = await findSqliteDriver();
  const database = new DatabaseSync(path);
  const codec = new RowCodec(tableOf("lots"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  for (const sql of createCopySql(SQLITE_DIALECT)) database.exec(sql);
  const insert = database.prepare(upsertSql(SQLITE_DIALECT, tableOf("lots")).sql.replaceAll("$", "?"));
  const seconds = await cpuSecondsOf(() => {
    for (let first = 1; first <= lots; first += PAGE_SIZE) {
      database.exec("BEGIN");
      for (let recNo = first; recNo < first + PAGE_SIZE; recNo += 1) insert.all(...codec.encode(lot(recNo)));
      database.exec("COMMIT");
    }
    for (const { sql } of indexesOf("lots", SQLITE_DIALECT)) database.exec(sql);
  });
  database.close();
  return seconds;
}

/** Queries that use an index of the copy. They search for the values of a lot in the middle. */
const QUERIES = [
  { name: "lots of one SKU", where: "shortID = :shortID", indexes: ["stocklot_lots_shortID"] },
  {
    name: "lots in one bin",
    where: "wID = :wID AND spot = :spot",
    indexes: ["stocklot_lots_wID_spot", "stocklot_lots_spot", "stocklot_lots_wID_recNo"],
  },
] as const;

/** The number of runs of a query. The median counts. */
const QUERY_RUNS = 21;

/** Measures how long queries of the copy take, with their index and without any index, in ms. */
async function measureQueries(path: string) {
  const { DatabaseSync } = await findSqliteDriver();
  const database = new DatabaseSync(path);
  const medianMs = (where: string) => {
    const [middle] = database.prepare("SELECT * FROM lots LIMIT 1 OFFSET (SELECT count(*) / 2 FROM lots)").all();
    const values: (string | number)[] = [];
    const condition = where.replace(/:(\w+)/g, (_, field: string) => {
      const value: unknown = middle?.[field];
      values.push(typeof value === "number" ? value : String(value));
      return "?";
    });
    const statement = database.prepare(`SELECT sum(units) AS units FROM lots WHERE ${condition}`);
    const times = Array.from({ length: QUERY_RUNS }, () => {
      const startedAt = performance.now();
      statement.all(...values);
      return performance.now() - startedAt;
    });
    return times.sort((a, b) => a - b)[QUERY_RUNS >> 1] ?? Number.NaN;
  };
  const results = QUERIES.map(({ name, where, indexes }) => {
    const indexedMs = medianMs(where);
    for (const index of indexes) database.exec(`DROP INDEX "${index}"`);
    return { name, indexedMs, scannedMs: medianMs(where) };
  });
  database.close();
  return results;
}
