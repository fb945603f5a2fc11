import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, expect, it } from "vitest";
import { InventoryClient } from "../../src/index.js";
import { sqliteSink } from "../../src/mirror/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { builtProgram } from "../support/built-program.js";
import { ownFolder } from "../support/own-folder.js";
import { RUN_ALL } from "../support/runs.js";
import { type Random, seededRandom } from "../unit/paging/changing-list.js";
import { recordsIn } from "./support/copies.js";

/** `STOCKLOT_KILLS=500 npx vitest run --mode all test/mirror/kill` kills this often. */
const KILLS = Number(process.env.STOCKLOT_KILLS ?? 16);
const PROGRAM = RUN_ALL ? await builtProgram(new URL("./support/mirror-process.ts", import.meta.url)) : "";

const ITEMS = 300;
const LOTS = 3_000;
/** What reading the lists takes when nothing interrupts it. */
const PAGES = 18;

const fileNamed = ownFolder();
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
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
    const path = fileNamed(`${name}-${copies}.db`);
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
