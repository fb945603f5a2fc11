import { setTimeout as sleep } from "node:timers/promises";
import type { ListOptions } from "stocklot";
import { FLOOR, openHttpClient } from "../http-clients.js";
import { spreadOf } from "../measure.js";
import { octokitStyle, sequentialLoop, stripeStyle } from "../peers/paging.mjs";
import type { Section, Spread } from "../results.js";
import { Services } from "../services.js";
import { openClient } from "../stocklot.js";

const LATENCY_MS = 100;
const CONSUMER_MS = 100;
const PAGE_SIZE = 250;

type OnPage = (records: number) => Promise<void>;

const fast: OnPage = async () => {};
const slow: OnPage = async () => void (await sleep(CONSUMER_MS));

/** Reads a list to its end, with a latency of 100 ms per page. */
export async function bulkRead(quick: boolean): Promise<Section> {
  const pages = quick ? 40 : 100;
  const rounds = quick ? 1 : 3;
  const services = new Services();
  const { baseUrl, origin } = await services.open({ lots: pages * PAGE_SIZE, latencyMs: [LATENCY_MS, LATENCY_MS] });
  const floor = await openHttpClient(FLOOR, baseUrl);
  const client = await openClient(baseUrl);
  const own = (options: ListOptions) => async (onPage: OnPage) => {
    for await (const { value } of client.inventory.listLots({}, options).pages()) await onPage(value.length);
  };
  const loop = (onPage: OnPage) => sequentialLoop(floor.getPage, onPage);
  // The fast reader runs alone. The other readers mostly wait, so they run at the same time.
  const alone = [{ name: "stocklot, readAhead 9", read: own({ readAhead: 9 }), onPage: fast }];
  const together = [
    { name: "while (hasMore) loop", read: loop, onPage: fast },
    {
      name: "octokit's paginate",
      read: (onPage: OnPage) => octokitStyle(baseUrl, "bench-token", onPage),
      onPage: fast,
    },
    { name: "stripe's auto-paging", read: (onPage: OnPage) => stripeStyle(origin, onPage), onPage: fast },
    { name: "stocklot (readAhead 1)", read: own({}), onPage: fast },
    { name: "while (hasMore) loop, slow consumer", read: loop, onPage: slow },
    { name: "stocklot, slow consumer", read: own({}), onPage: slow },
  ];
  await client.inventory.listLots().page();
  const seconds = new Map<string, number[]>();
  const measure = async ({ name, read, onPage }: (typeof together)[number]) => {
    let records = 0;
    const startedAt = performance.now();
    await read((count) => {
      records += count;
      return onPage(count);
    });
    const took = (performance.now() - startedAt) / 1_000;
    if (records !== pages * PAGE_SIZE) throw new Error(`${name} returned ${records} records`);
    seconds.set(name, [...(seconds.get(name) ?? []), took]);
  };
  for (let round = 0; round < rounds; round += 1) {
    for (const reader of alone) await measure(reader);
    await Promise.all(together.map(measure));
  }
  await client.close();
  services.close();

  const took = (name: string): Spread => spreadOf(seconds.get(name) ?? []);
  const sequential = took("while (hasMore) loop").median;
  const larger = Math.max(sequential, (pages * CONSUMER_MS) / 1_000);
  const readers = [...together.slice(0, 4), ...alone, ...together.slice(4)];
  return {
    title: "Bulk read",
    note: `${pages} pages of ${PAGE_SIZE} lots, ${LATENCY_MS} ms of latency each; the slow consumer takes ${CONSUMER_MS} ms per page.`,
    columns: ["reader", "time", "× faster than the loop"],
    rows: readers.map(({ name }) => [
      name,
      { value: took(name), digits: 2, unit: "s" },
      { value: sequential / took(name).median, digits: 2, unit: "×" },
    ]),
    checks: [
      {
        what: "readAhead 9, × faster than the sequential loop",
        value: sequential / took("stocklot, readAhead 9").median,
        atLeast: quick ? 6 : 7,
      },
      {
        what: "by default, time as a multiple of the loop's",
        value: took("stocklot (readAhead 1)").median / sequential,
        atMost: 1.02,
      },
      {
        what: "slow consumer, time as a multiple of the larger of reading and consuming",
        value: took("stocklot, slow consumer").median / larger,
        atMost: 1.1,
      },
    ],
    chart: {
      kind: "bars",
      title: `How long do ${pages} pages of ${LATENCY_MS} ms take?`,
      unit: "seconds; shorter is better",
      bars: readers.map(({ name }) => ({
        name,
        value: took(name).median,
        spread: took(name),
        own: name.startsWith("stocklot"),
      })),
    },
  };
}
