import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { InventoryClient } from "../../src/index.js";
import { sqliteSink } from "../../src/mirror/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { RUN_ALL } from "../support/runs.js";
import { type Random, seededRandom } from "../unit/paging/changing-list.js";
import { recordsIn } from "./support/copies.js";

/** `STOCKLOT_KILLS=500 npx vitest run --mode all test/mirror/kill` kills this often. */
const KILLS = Number(process.env.STOCKLOT_KILLS ?? 24);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** In the package, so that what is not bundled is found from there. */
const PROGRAM = join(ROOT, "node_modules/.cache/stocklot/mirror-process.mjs");

const ITEMS = 300;
const LOTS = 8_000;
/** What reading the lots takes when nothing interrupts it. */
const PAGES = 35;

let folder: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stocklot-kill-"));
  // One file starts faster than two thousand, and the process starts often.
  await build({
    entryPoints: [join(ROOT, "test/mirror/support/mirror-process.ts")],
    outfile: PROGRAM,
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["@photostructure/sqlite", "pg"],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

interface Service {
  baseUrl: string;
  clientId: string;
  clientSecret: string;
}

/** Runs a mirror in a process, and kills it as soon as `isDue`; without it the process ends. Returns true if it was killed. */
async function mirrorInto(path: string, service: Service, isDue?: () => boolean): Promise<boolean> {
  const { baseUrl, clientId, clientSecret } = service;
  const child = spawn(process.execPath, [PROGRAM, baseUrl, path, clientId, clientSecret], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  const ended = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), ended]);
  const timer = isDue && setInterval(() => isDue() && child.kill("SIGKILL"), 1);
  const [code, signal] = await ended;
  clearInterval(timer);
  children.delete(child);
  if (signal !== "SIGKILL") expect(code).toBe(0);
  return signal === "SIGKILL";
}

/** Compares every record of the copy with the service. */
async function expectCopy(path: string, client: InventoryClient): Promise<void> {
  const lists = [
    ["items", "partNo", client.items.list({ includeDiscontinued: true })],
    ["lots", "recNo", client.inventory.listLots()],
    ["stockLevels", "partNo", client.inventory.listStockLevels()],
  ] as const;
  for (const [resource, key, list] of lists) {
    const byKey = (records: readonly object[]) => new Map(records.map((record) => [Reflect.get(record, key), record]));
    expect(await recordsIn(sqliteSink({ path }), resource), resource).toEqual(byKey(await list.toArray()));
  }
}

/** Fills copies until `kills` processes were killed at random moments. */
async function fillCopies(name: string, kills: number, random: Random): Promise<void> {
  const sandbox = createSandbox({ items: ITEMS, lots: LOTS, rateLimit: false, latencyMs: [0, 4] });
  const server = await sandbox.listen({ port: 0 });
  const service = { baseUrl: server.url, ...sandbox.credentials, rateLimit: false } as const;
  const client = new InventoryClient(service);
  const [item] = await client.items.list().toArray({ limit: 1 });
  let left = kills;
  for (let copies = 0; left > 0; copies += 1) {
    const path = join(folder, `${name}-${copies}.db`);
    // After a number of its requests, and anywhere between two of them.
    const isDueAfter = (requests: number) => {
      const due = sandbox.requests.length + requests;
      return () => sandbox.requests.length >= due;
    };
    while (await mirrorInto(path, service, left > 0 ? isDueAfter(random(PAGES)) : undefined)) {
      left -= 1;
      await client.inventory.receive({ itemID: item?.shortID ?? "", units: 1, wid: 1, reasonCode: 1 });
    }
    await mirrorInto(path, service);
    await expectCopy(path, client);
  }
  await client.close();
  await server.close();
}

it.skipIf(!RUN_ALL)(`ends with a correct copy when killed at ${KILLS} random points`, async () => {
  await Promise.all([fillCopies("one", KILLS / 2, seededRandom(1)), fillCopies("other", KILLS / 2, seededRandom(2))]);
});
