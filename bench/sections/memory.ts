import { setTimeout as sleep } from "node:timers/promises";
import { collectGarbage } from "../measure.js";
import type { Section } from "../results.js";
import { Services } from "../services.js";
import { openClient } from "../stocklot.js";

const KIB = 1_024;
const MIB = 1_024 * KIB;
const QUEUED = 10_000;
const WARM_UP = 1_000;

interface Footprint {
  /** The size of reachable objects after a garbage collection. */
  held: number;
  /** The resident memory of the process. */
  resident: number;
}

async function footprint(): Promise<Footprint> {
  await collectGarbage();
  // V8 updates its count of external memory too late after a collection. Here, all external memory is array buffers.
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { held: heapUsed + arrayBuffers, resident: rss };
}

export async function memory(quick: boolean): Promise<Section> {
  const lots = quick ? 200_000 : 1_000_000;
  const iteration = await iterate(lots);
  const queue = await queueCalls();
  return {
    title: "Memory",
    note: `An iteration of ${lots.toLocaleString("en")} lots, measured after each tenth; ${QUEUED.toLocaleString("en")} calls that wait for a slot, of which half are aborted and half are served.`,
    columns: ["what", "value"],
    rows: [
      ["iteration: held above the start, at most", { value: iteration.heldMost / MIB, digits: 1, unit: "MiB" }],
      ["iteration: held above the start, last tenth − first", { value: iteration.drift / MIB, digits: 1, unit: "MiB" }],
      [
        "iteration: resident above the start, garbage included, at most",
        { value: iteration.residentMost / MIB, digits: 1, unit: "MiB" },
      ],
      ["a queued call", { value: queue.bytes / KIB, digits: 2, unit: "KiB" }],
      ["queued calls served", { value: queue.served, digits: 0 }],
      ["queued calls aborted", { value: queue.aborted, digits: 0 }],
    ],
    checks: [
      { what: "iteration, held MiB above the start", value: iteration.heldMost / MIB, atMost: 64 },
      { what: "a queued call, KiB", value: queue.bytes / KIB, atMost: 4 },
      { what: "queued calls served or aborted", value: queue.served + queue.aborted, atLeast: QUEUED },
    ],
  };
}

async function iterate(lots: number) {
  const services = new Services();
  const { baseUrl } = await services.open({ lots });
  const client = await openClient(baseUrl);
  await client.inventory.listLots().page();
  const start = await footprint();
  const samples: Footprint[] = [];
  let records = 0;
  let residentMost = 0;
  for await (const { recNo } of client.inventory.listLots()) {
    records += 1;
    if (recNo !== records) throw new Error(`received lot ${recNo} at position ${records}`);
    if (records % 25_000 === 0) residentMost = Math.max(residentMost, process.memoryUsage.rss() - start.resident);
    if (records % (lots / 10) === 0) samples.push(await footprint());
  }
  await client.close();
  services.close();
  if (records !== lots) throw new Error(`${records} lots of ${lots}`);
  const held = samples.map((sample) => sample.held - start.held);
  return { heldMost: Math.max(...held), residentMost, drift: (held.at(-1) ?? 0) - (held[0] ?? 0) };
}

async function queueCalls() {
  const services = new Services();
  const { baseUrl } = await services.open({ latencyMs: [0, 0] });
  let gate = Promise.resolve();
  let release = () => {};
  const client = await openClient(baseUrl, {
    rateLimit: { requests: Number.POSITIVE_INFINITY, maxConcurrent: 1 },
    fetch: async (...given) => {
      await gate;
      return fetch(...given);
    },
  });
  for (let call = 0; call < WARM_UP; call += 1) await client.items.get("BOLT");
  // From now on, the first call keeps the only slot until the other calls are queued.
  gate = new Promise((resolve) => {
    release = resolve;
  });
  const leave = new AbortController();
  const counts = { served: 0, aborted: 0 };
  const before = await footprint();
  const served = () => {
    counts.served += 1;
  };
  const aborted = () => {
    counts.aborted += 1;
  };
  const withSignal = { signal: leave.signal };
  const calls = Array.from({ length: QUEUED }, (_, index) =>
    client.items.get("BOLT", index % 2 === 0 ? undefined : withSignal).then(served, aborted),
  );
  await sleep(50);
  const bytes = ((await footprint()).held - before.held) / QUEUED;
  leave.abort();
  release();
  await Promise.all(calls);
  await client.close();
  services.close();
  return { bytes, ...counts };
}
