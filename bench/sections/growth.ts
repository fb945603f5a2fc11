import type { InventoryClient } from "stocklot";
import { collectGarbage, spreadOf } from "../measure.js";
import { queues } from "../peers/limiting.mjs";
import { itemJson } from "../records.js";
import type { Section, Spread } from "../results.js";
import { openClient } from "../stocklot.js";

const SIZES = [10, 1_000, 10_000];
/** The time for which each number of calls is repeated, in ms, so that small numbers are measured as precisely as large ones. */
const REPEAT_MS = 200;

const TOKEN = '{"access_token":"bench-token","expires_in":86400}';
const bodies: Record<string, string> = { Token: TOKEN, Item: itemJson };

/** Responds once all calls have arrived, so that all of them are in flight at the same time. */
class ConcurrentCalls {
  #pendingResponses: (() => void)[] = [];
  awaited = 1;

  readonly fetch = (url: string | URL | Request): Promise<Response> =>
    new Promise((resolve) => {
      const name = /\/(Token|Item)/.exec(String(url))?.[1] ?? "Item";
      const respond = () => resolve(new Response(bodies[name]));
      if (name === "Token") return respond();
      this.#pendingResponses.push(respond);
      if (this.#pendingResponses.length < this.awaited) return;
      for (const ready of this.#pendingResponses.splice(0)) ready();
    });
}

interface Case {
  name: string;
  own: boolean;
  /** The largest number of calls that does not take too long. */
  largest?: number | undefined;
  /** Makes `size` calls at the same time, and waits for them. */
  run(size: number): Promise<void>;
}

export async function growth(quick: boolean): Promise<Section> {
  const rounds = quick ? 2 : 7;
  const own = await ownCases();
  const cases = [...own, ...queues.map(queueCase)];
  const points = new Map<string, [number, Spread][]>(cases.map(({ name }) => [name, []]));
  for (const size of SIZES) {
    const times = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
    for (let round = 0; round <= rounds; round += 1) {
      for (const { name, run, largest = size } of cases) {
        if (size > largest) continue;
        const micros = await cpuMicros(() => run(size), size);
        // The first round is for warming up, and does not count.
        if (round > 0) times.get(name)?.push(micros);
      }
    }
    for (const [name, taken] of times) if (taken.length > 0) points.get(name)?.push([size, spreadOf(taken)]);
  }
  const growths = own.map(({ name }) => {
    const costs = new Map(points.get(name));
    const [largest = 0, ...smaller] = SIZES.map((size) => costs.get(size)?.median ?? Number.NaN).reverse();
    return {
      what: `${name}: 10,000 calls, × the least at 10 or 1,000`,
      value: largest / Math.min(...smaller),
      atMost: 2,
    };
  });
  return {
    title: "Growth",
    note: "CPU time of one call with this many at once; the responses come from memory, so that only the client is measured. The queues of others only queue. Medians over interleaved rounds, quartiles.",
    columns: ["µs per call", ...SIZES.map((size) => size.toLocaleString("en"))],
    rows: cases.map(({ name }) => {
      const values = new Map(points.get(name));
      return [name, ...SIZES.map((size) => cellOf(values.get(size)))];
    }),
    checks: growths,
    chart: {
      kind: "lines",
      title: "What does a call cost with many at once?",
      unit: "µs of CPU per call, by calls at once",
      lines: cases.map(({ name, own }) => ({ name, own, points: points.get(name) ?? [] })),
    },
  };
}

const cellOf = (value: Spread | undefined) => (value === undefined ? "–" : { value, digits: 1 });

async function ownCases(): Promise<Case[]> {
  const baseUrl = "http://127.0.0.1:1/api/v1";
  const clientOf = async (maxConcurrent: number) => {
    const concurrent = new ConcurrentCalls();
    const client = await openClient(baseUrl, {
      fetch: concurrent.fetch,
      rateLimit: { requests: Number.POSITIVE_INFINITY, maxConcurrent },
    });
    return { concurrent, client };
  };
  const free = await clientOf(Number.POSITIVE_INFINITY);
  const narrow = await clientOf(16);
  const exhausted = await openClient(baseUrl, {
    fetch: new ConcurrentCalls().fetch,
    rateLimit: { requests: 1, reserved: 0, intervalMs: 3_600_000 },
  });
  return [
    {
      name: "stocklot, in flight",
      own: true,
      run: (size) => {
        free.concurrent.awaited = size;
        return callAtOnce(free.client, size);
      },
    },
    { name: "stocklot, queued, 16 at a time", own: true, run: (size) => callAtOnce(narrow.client, size) },
    {
      name: "stocklot, queued, then aborted",
      own: true,
      run: async (size) => {
        const leave = new AbortController();
        const calls = Array.from({ length: size }, () => exhausted.items.get("BOLT", { signal: leave.signal }));
        setImmediate(() => leave.abort());
        await Promise.allSettled(calls);
      },
    },
  ];
}

async function callAtOnce(client: InventoryClient, size: number): Promise<void> {
  await Promise.all(Array.from({ length: size }, () => client.items.get("BOLT")));
}

const queueCase = ({ name, run, largest }: (typeof queues)[number]): Case => ({
  name: `${name}, queued, 16 at a time`,
  own: false,
  largest,
  run: (size) => run(Array.from({ length: size }, () => () => new Promise<void>((done) => setImmediate(done)))),
});

/** Returns the CPU time of one of `size` calls, in µs, as an average over many rounds. */
async function cpuMicros(run: () => Promise<void>, size: number): Promise<number> {
  await collectGarbage();
  const before = process.cpuUsage();
  const startedAt = performance.now();
  let repeats = 0;
  do {
    await run();
    repeats += 1;
  } while (performance.now() - startedAt < REPEAT_MS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / repeats / size;
}
