import type { InventoryClient, StockLevel } from "../../src/index.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { medianOf } from "../measure.js";
import type { Section } from "../results.js";
import { openClient } from "../stocklot.js";

const ITEMS = 20_000;
const LOTS = 100_000;
const REQUESTS = 100;
const WITHIN = { totalTimeoutMs: 8_000 };

/** Starts a service with the limit of the document, and a new client. */
async function start(interval: { intervalMs: number }): Promise<{ client: InventoryClient; sent(): number }> {
  const sandbox = createSandbox({ items: ITEMS, lots: LOTS, rateLimit: { requests: REQUESTS, ...interval } });
  const options = { ...sandbox.credentials, fetch: sandbox.fetch, rateLimit: { requests: REQUESTS, ...interval } };
  const client = await openClient(sandbox.baseUrl, options);
  return { client, sent: () => sandbox.requests.filter(({ path }) => path !== "/Token").length };
}

/** Returns SKUs with a stock level, from all parts of the list. */
async function listedSkus(count: number): Promise<string[]> {
  const sandbox = createSandbox({ items: ITEMS, lots: LOTS, rateLimit: false });
  const client = await openClient(sandbox.baseUrl, { ...sandbox.credentials, fetch: sandbox.fetch, rateLimit: false });
  const listed = new Set((await client.inventory.listStockLevels().toArray()).map(({ partNo }) => partNo));
  const items = (await client.items.list().toArray()).filter(({ partNo }) => listed.has(partNo));
  const step = Math.floor(items.length / count);
  return items.filter((_, index) => index % step === 0).map(({ shortID }) => shortID);
}

const answered = (results: PromiseSettledResult<StockLevel | null>[]) =>
  results.filter(({ status }) => status === "fulfilled").length;

/** Measures how many callers a new client can answer within the limit, as in a web shop. */
export async function load(quick: boolean): Promise<Section> {
  const minute = { intervalMs: 60_000 };
  const skus = await listedSkus(60);
  const rows: Section["rows"] = [];
  const add = (name: string, callers: number, answers: number, requests: number) =>
    rows.push([name, { value: callers, digits: 0 }, { value: answers, digits: 0 }, { value: requests, digits: 0 }]);
  const alone = await start(minute);
  await alone.client.inventory.getStockLevel(skus[0] ?? "", {}, WITHIN);
  const ofOne = alone.sent();
  const counts: number[] = [];
  for (const callers of [60, 1_000]) {
    const { client, sent } = await start(minute);
    const calls = Array.from({ length: callers }, () => client.inventory.getStockLevel(skus[0] ?? "", {}, WITHIN));
    const results = await Promise.allSettled(calls);
    counts.push(answered(results) / callers);
    add("one SKU", callers, answered(results), sent());
  }
  const many = await start(minute);
  const each = await Promise.allSettled(skus.map((sku) => many.client.inventory.getStockLevel(sku, {}, WITHIN)));
  add("60 SKUs", 60, answered(each), many.sent());

  // Time runs six times as fast: ten callers per second, with an interval of ten seconds instead of a minute.
  const speed = 6;
  const shop = await start({ intervalMs: 60_000 / speed });
  const minutes = quick ? 2 : 3;
  const results: PromiseSettledResult<StockLevel | null>[][] = [];
  for (let number = 0; number < minutes; number += 1) {
    const calls: Promise<StockLevel | null>[] = [];
    for (let call = 0; call < 600; call += 1) {
      const sku = skus[(call * 7 + number) % 40] ?? "";
      calls.push(
        shop.client.inventory.getStockLevel(sku, { maxAgeMs: 60_000 / speed }, { totalTimeoutMs: 8_000 / speed }),
      );
      calls.at(-1)?.catch(() => {});
      if (call % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 1_000 / speed));
    }
    results.push(await Promise.allSettled(calls));
  }
  const shares = results.slice(1).map((ofMinute) => answered(ofMinute) / ofMinute.length);
  add(
    "40 SKUs, ten callers per second with maxAgeMs, from the second minute on",
    600,
    Math.min(...shares) * 600,
    REQUESTS,
  );

  return {
    title: "A shop under load",
    note: `getStockLevel with totalTimeoutMs ${WITHIN.totalTimeoutMs.toLocaleString("en")} on a client that has just started; ${ITEMS.toLocaleString("en")} items, ${LOTS.toLocaleString("en")} lots, ${REQUESTS} requests per minute. CPU: searches of a warm client, in turn shared and not shared.`,
    columns: ["callers ask for", "callers", "answered", "requests"],
    rows,
    checks: [
      { what: "60 callers of one SKU: answered", value: (counts[0] ?? 0) * 60, atLeast: 60 },
      { what: "1,000 callers of one SKU: share answered", value: counts[1] ?? 0, atLeast: 1 },
      {
        what: "60 callers of one SKU: requests, compared with one caller",
        value: Number(cellOf(rows, 0)) / ofOne,
        atMost: 1,
      },
      { what: "60 callers of 60 SKUs: answered", value: answered(each), atLeast: 15 },
      { what: "ten callers per second: share answered", value: Math.min(...shares), atLeast: 0.95 },
      {
        what: "CPU of a search that may be shared, compared with one that may not",
        value: await cpuRatio(quick),
        atMost: 1.1,
      },
    ],
  };
}

function cellOf(rows: Section["rows"], row: number): number {
  const cell = rows[row]?.[3];
  return typeof cell === "object" && typeof cell.value === "number" ? cell.value : Number.NaN;
}

/** Returns the CPU time of searches with sharing as a multiple of that without. A call with its own headers is not shared. */
async function cpuRatio(quick: boolean): Promise<number> {
  const sandbox = createSandbox({ items: ITEMS, lots: LOTS, rateLimit: false });
  const client = await openClient(sandbox.baseUrl, { ...sandbox.credentials, fetch: sandbox.fetch, rateLimit: false });
  const measure = async (options: object) => {
    const before = process.cpuUsage();
    for (let call = 0; call < 20; call += 1) await client.inventory.getStockLevel("BOLT-M8", {}, options);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const ratios: number[] = [];
  for (let round = 0; round < (quick ? 10 : 60); round += 1) {
    const apart = await measure({ headers: { "x-own": "1" } });
    ratios.push((await measure({})) / apart);
  }
  return medianOf(ratios.slice(3));
}
