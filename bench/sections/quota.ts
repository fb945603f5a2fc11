import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startServer } from "../../test/redis/support/redis-server.js";
import type { Limit } from "../admissions.js";
import { FLOOR, openHttpClient } from "../http-clients.js";
import { limiters, octokitThrottling } from "../peers/limiting.mjs";
import type { QuotaProcess } from "../quota-process.js";
import type { Section } from "../results.js";
import type { ServiceStats } from "../service.js";
import { type Service, Services } from "../services.js";
import { openClient } from "../stocklot.js";

const REQUESTS = 100;
const INTERVAL_MS = 3_000;
const LIMIT = { requests: REQUESTS, intervalMs: INTERVAL_MS };
const PROCESSES = 4;
const SEVERAL = "stocklot, four processes with Redis";
const PROGRAM = fileURLToPath(new URL("../quota-process.ts", import.meta.url));
const WINDOWS: readonly Limit["window"][] = ["sliding", "fixed"];

interface Reader {
  name: string;
  read(service: Service, pages: number): Promise<void>;
}

const READERS: Reader[] = [
  {
    name: "stocklot",
    read: async ({ baseUrl }, pages) => {
      // No other calls are made, so no slots are reserved for them.
      const client = await openClient(baseUrl, {
        rateLimit: { ...LIMIT, reserved: 0 },
      });
      let records = 0;
      for await (const { value } of client.inventory.listLots({ pageSize: 1 }, { readAhead: 16 }).pages()) {
        records += value.length;
      }
      if (records !== pages) throw new Error(`stocklot returned ${records} of ${pages} records`);
      await client.close();
    },
  },
  {
    name: SEVERAL,
    read: async ({ baseUrl }, pages) => {
      const redis = await startServer();
      const size = Math.ceil(pages / PROCESSES);
      const processes = Array.from({ length: PROCESSES }, async (_, index) => {
        const part = { from: 1 + index * size, to: 1 + Math.min(pages, (index + 1) * size) };
        const options: QuotaProcess = { baseUrl, redisUrl: redis.url, limit: LIMIT, ...part };
        const child = fork(PROGRAM, [JSON.stringify(options)]);
        const [code] = await once(child, "exit");
        if (code !== 0) throw new Error(`a process ended with code ${code}`);
      });
      await Promise.all(processes);
      await redis.close();
    },
  },
  ...limiters.map(
    ({ name, run }): Reader => ({
      name,
      read: async (service, pages) => {
        const { getPage } = await openHttpClient(FLOOR, service.baseUrl);
        // A refused page is not read again, because these limiters do not see responses.
        const task = async (page: number) => void (await getPage(page).catch(() => {}));
        await run(task, pages, LIMIT);
      },
    }),
  ),
  {
    name: "octokit throttling",
    read: ({ baseUrl }, pages) => octokitThrottling(baseUrl, "bench-token", pages, () => {}),
  },
];

interface Run {
  name: string;
  window: Limit["window"];
  share: number;
  seconds: number;
  stats: ServiceStats;
}

/** Measures how much of the limit each client uses. The target is to use the whole window without a refused request. */
export async function quota(quick: boolean): Promise<Section> {
  const pages = quick ? 400 : 1_000;
  const services = new Services();
  // The readers mostly wait, so they run at the same time, each against a separate service.
  const runs = await Promise.all(
    READERS.flatMap((reader) => WINDOWS.map((window) => measure(services, reader, window, pages))),
  );
  services.close();
  const own = runs.filter(({ name }) => name === "stocklot");
  const several = runs.filter(({ name }) => name === SEVERAL);
  return {
    title: "Quota",
    note: `${pages.toLocaleString("en")} pages, ${REQUESTS} requests per ${INTERVAL_MS / 1_000} s, 20 to 80 ms of latency. Share: requests admitted after the first ${REQUESTS}, up to the last full hundred, as a share of what the window allows in that time.`,
    columns: ["limiter", "server's window", "share", "429s", "most in 3 s", "time"],
    rows: runs.map(({ name, window, share, seconds, stats }) => [
      name,
      window,
      { value: share * 100, digits: 1, unit: "%" },
      { value: stats.refused, digits: 0 },
      { value: stats.mostPerInterval, digits: 0 },
      { value: seconds, digits: 1, unit: "s" },
    ]),
    checks: [
      ...own.flatMap(({ window, share, stats }) => [
        { what: `share of a ${window} window, %`, value: share * 100, atLeast: 97 },
        { what: `429s of a ${window} window`, value: stats.refused, atMost: 0 },
      ]),
      ...several.flatMap(({ window, share, stats }) => [
        { what: `share of a ${window} window, four processes, %`, value: share * 100, atLeast: 90 },
        { what: `429s of a ${window} window, four processes`, value: stats.refused, atMost: 0 },
      ]),
    ],
    chart: {
      kind: "bars",
      title: `How many 429s do ${pages.toLocaleString("en")} pages cost?`,
      unit: `requests refused; sliding window of ${REQUESTS} per ${INTERVAL_MS / 1_000} s`,
      bars: runs
        .filter(({ window }) => window === "sliding")
        .map(({ name, stats }) => ({ name, value: stats.refused, own: name === "stocklot" })),
    },
  };
}

async function measure(
  services: Services,
  { name, read }: Reader,
  window: Limit["window"],
  pages: number,
): Promise<Run> {
  const service = await services.open({
    lots: pages,
    latencyMs: [20, 80],
    limit: { ...LIMIT, window },
  });
  const startedAt = performance.now();
  await read(service, pages);
  const seconds = (performance.now() - startedAt) / 1_000;
  const stats = await service.stats();
  return { name, window, share: usedShareOf(stats.admitted), seconds, stats };
}

/** Returns the share of the allowed requests that were admitted between the first window and the last full window. */
function usedShareOf(admitted: readonly number[]): number {
  const windows = Math.floor(admitted.length / REQUESTS);
  const tookMs = (admitted[windows * REQUESTS - 1] ?? Number.NaN) - (admitted[REQUESTS - 1] ?? Number.NaN);
  return ((windows - 1) * INTERVAL_MS) / tookMs;
}
