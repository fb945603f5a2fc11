import { InventoryClient, type Item, type StockLevel, TimeoutError } from "stocklot";
import { createSandbox, type Sandbox } from "stocklot/sandbox";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ResultCache } from "../../src/client/search/result-cache.js";
import { WriteLog } from "../../src/client/send/write-log.js";
import { createRandom } from "../support/random.js";
import { RUN_ALL, runs } from "../support/runs.js";

/*
 * Many callers, as in a web shop, use a client that has just started, within the service's limit. Time is virtual, and each
 * request takes 50 ms.
 */

const ITEMS = RUN_ALL ? 20_000 : 5_000;
const LATENCY_MS = 50;
const { setImmediate } = globalThis;

let sandbox: Sandbox;
beforeEach(() => {
  vi.useFakeTimers();
  sandbox = createSandbox({ items: ITEMS, lots: 2 * ITEMS });
});
afterEach(() => void vi.useRealTimers());

/** Advances virtual time in small steps, so that promises settle between them. */
async function advance(totalMs: number, stepMs = 25): Promise<void> {
  for (let restMs = totalMs; restMs > 0; restMs -= stepMs) {
    await vi.advanceTimersByTimeAsync(Math.min(restMs, stepMs));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

const createClient = (options = {}, latencyMs = () => LATENCY_MS) => {
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const response = await sandbox.fetch(input, init);
    await new Promise((resolve) => setTimeout(resolve, latencyMs()));
    return response;
  };
  return new InventoryClient({ baseUrl: sandbox.baseUrl, ...sandbox.credentials, fetch, ...options });
};

const sent = () => sandbox.requests.filter(({ path }) => path !== "/Token").length;

interface Answer {
  ms: number;
  value?: unknown;
  error?: unknown;
}

/** Starts calls. Returns their answers, which are filled in when the calls end: the result, and the duration in ms. */
function track(calls: (() => Promise<unknown>)[]): Answer[] {
  const answers: Answer[] = [];
  for (const [index, call] of calls.entries()) {
    const startedAt = Date.now();
    const answer: Answer = { ms: Infinity };
    answers[index] = answer;
    call().then(
      (value) => Object.assign(answer, { ms: Date.now() - startedAt, value }),
      (error: unknown) => Object.assign(answer, { ms: Date.now() - startedAt, error }),
    );
  }
  return answers;
}

/** Returns SKUs with a stock level, spread over the list. */
async function skusOf(count: number): Promise<string[]> {
  const { baseUrl, credentials, fetch } = sandbox;
  const free = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false });
  const [levels, all] = track([() => free.inventory.listStockLevels().toArray(), () => free.items.list().toArray()]);
  while (!levels?.value || !all?.value) await advance(100);
  truth = new Map((levels.value as StockLevel[]).map((level) => [level.partNo, level]));
  const items = (all.value as Item[]).filter(({ partNo }) => truth.has(partNo));
  sandbox.reset();
  const step = Math.floor(items.length / count);
  return items
    .filter((_, index) => index % step === 0)
    .map(({ shortID }) => shortID)
    .slice(0, count);
}

/** The stock levels that `skusOf` has read, by part number. */
let truth: Map<number, StockLevel>;

const within = { totalTimeoutMs: 8_000 };

describe("a client that has just started, with 100 requests per minute", () => {
  it.each([60, 1_000])("answers %i callers of one SKU with as many requests as one caller", async (count) => {
    const alone = createClient();
    const [single] = track([() => alone.inventory.getStockLevel("BOLT-M8", {}, within)]);
    await advance(2_000);
    const requests = sent();
    expect(single?.value).toMatchObject({ partNo: expect.any(Number) });
    sandbox.reset();
    const client = createClient();
    const answers = track(
      Array.from({ length: count }, () => () => client.inventory.getStockLevel("BOLT-M8", {}, within)),
    );
    await advance(2_000);
    for (const { value } of answers) expect(value).toEqual(single?.value);
    expect(sent()).toBe(requests);
    // Each caller gets its own copy of the result.
    const [one, other] = answers.map(({ value }) => value as StockLevel);
    expect(one).not.toBe(other);
  });

  it("answers what it can of 60 callers of 60 SKUs, and refuses the others within two seconds, with nothing sent", async () => {
    const skus = await skusOf(60);
    const client = createClient();
    const answers = track(skus.map((sku) => () => client.inventory.getStockLevel(sku, {}, within)));
    await advance(9_000);
    const answered = answers.filter(({ value }) => value !== undefined);
    expect(answered.length).toBeGreaterThanOrEqual(15);
    for (const { error, ms } of answers.filter((answer) => answer.error !== undefined)) {
      expect(error).toBeInstanceOf(TimeoutError);
      expect(error).toMatchObject({ clock: "totalTimeoutMs", retryAfterMs: expect.any(Number) });
      expect(String(error)).toContain("nothing was sent");
      expect(ms).toBeLessThanOrEqual(2_000);
    }
    for (const { value } of answered) {
      const { partNo } = value as StockLevel;
      expect(value).toEqual(truth.get(partNo));
    }
  });

  it("whoever has less time than the requests take is told so, and not to try again at once", async () => {
    const [first = "", second = ""] = await skusOf(2);
    const client = createClient();
    const [known] = track([() => client.inventory.getStockLevel(first, {}, within)]);
    await advance(2_000);
    expect(known?.value).toBeDefined();
    const [late] = track([() => client.inventory.getStockLevel(second, {}, { totalTimeoutMs: 60 })]);
    await advance(2_000);
    expect(late?.error).toBeInstanceOf(TimeoutError);
    expect(late?.error).toMatchObject({ retryAfterMs: undefined });
    expect(String(late?.error)).toMatch(
      /not begun, and nothing was sent\. It takes about \d requests, and at about \d+ ms each, they take longer/,
    );
  });

  it("a service that was slow once is asked again: refused for some seconds, then answered", async () => {
    const [first = "", ...skus] = await skusOf(40);
    let latencyMs = 5_000;
    const client = createClient({}, () => latencyMs);
    const [slow] = track([() => client.inventory.getStockLevel(first)]);
    while (!slow?.value) await advance(250, 250);
    latencyMs = LATENCY_MS;
    const answers: Answer[] = [];
    for (const sku of skus) {
      answers.push(...track([() => client.inventory.getStockLevel(sku, {}, within)]));
      await advance(1_000, 50);
    }
    await advance(9_000);
    const isAnswered = answers.map(({ value }) => value !== undefined);
    expect(isAnswered[0]).toBe(false);
    expect(isAnswered.slice(20)).not.toContain(false);
  });

  it("whoever waits for another search until his time is over gets a TimeoutError", async () => {
    const skus = await skusOf(6);
    const client = createClient({ retry: false });
    const answers = track(
      skus.flatMap((sku) =>
        [60, 120, 300].map((totalTimeoutMs) => () => client.inventory.getStockLevel(sku, {}, { totalTimeoutMs })),
      ),
    );
    await advance(2_000);
    for (const { value, error } of answers)
      if (value === undefined) expect(error).toMatchObject({ name: "TimeoutError", clock: "totalTimeoutMs" });
    await client.close();
    const [late] = track([() => client.inventory.getStockLevel(skus[0] ?? "", { maxAgeMs: 60_000 })]);
    await advance(100);
    expect(late?.error).toMatchObject({ name: "ClientClosedError" });
  });

  it("without totalTimeoutMs, searches begin in turn, and each is answered", async () => {
    const skus = await skusOf(40);
    const client = createClient();
    const answers = track(skus.map((sku) => () => client.inventory.getStockLevel(sku)));
    await advance(150_000, 250);
    expect(answers.filter(({ value }) => value !== undefined)).toHaveLength(40);
    const inOrder = answers.map(({ ms }) => ms);
    expect(Math.max(...inOrder.slice(0, 10))).toBeLessThan(5_000);
  });

  it("answers 95 % of ten callers per second over 40 SKUs from the second minute on, with maxAgeMs", async () => {
    const skus = await skusOf(40);
    const random = createRandom(1);
    const client = createClient();
    const answers: Answer[] = [];
    const minutes = RUN_ALL ? 4 : 2;
    for (let tick = 0; tick < minutes * 600; tick += 1) {
      const sku = skus[Math.floor(random() * skus.length)] ?? "";
      answers.push(...track([() => client.inventory.getStockLevel(sku, { maxAgeMs: 60_000 }, within)]));
      await advance(100, 50);
    }
    await advance(9_000);
    for (let minute = 1; minute < minutes; minute += 1) {
      const ofMinute = answers.slice(minute * 600, (minute + 1) * 600);
      expect(
        ofMinute.filter(({ value }) => value !== undefined).length / 600,
        `minute ${minute}`,
      ).toBeGreaterThanOrEqual(0.95);
    }
  });

  it("sends the first five receipts of a minute within a second, however many read", async () => {
    const skus = await skusOf(80);
    const client = createClient();
    const reads = track(skus.map((sku) => () => client.inventory.getStockLevel(sku)));
    const lists = track([
      () => client.inventory.listLots({ pageSize: 10 }).toArray(),
      () => client.items.list({ pageSize: 10 }).toArray(),
    ]);
    await advance(5_000);
    const receipts = track(
      Array.from(
        { length: 5 },
        () => () => client.inventory.receive({ itemID: "BOLT-M8", units: 1, wid: 1, reasonCode: 1 }),
      ),
    );
    await advance(1_000);
    expect(receipts.map(({ error }) => error)).toEqual(receipts.map(() => undefined));
    expect(Math.max(...receipts.map(({ ms }) => ms))).toBeLessThanOrEqual(1_000);
    await client.close();
    await advance(1_000);
    expect(reads.length + lists.length).toBe(82);
  });

  it("reads the list once for ten callers of a SKU that is not listed, and once more when that is too old", async () => {
    const items = Array.from({ length: 1_000 }, (_, index) => ({ shortID: `SKU-${index}` }));
    const lots = items.map(({ shortID }) => ({ shortID, wID: 1, units: 1 }));
    sandbox = createSandbox({ items: [{ shortID: "NO-STOCK" }, ...items], lots });
    const client = createClient();
    const ask = () => client.inventory.getStockLevel("NO-STOCK", { maxAgeMs: 30_000 }, within);
    const answers = track(Array.from({ length: 10 }, () => ask));
    await advance(5_000);
    expect(answers.map(({ value }) => value)).toEqual(answers.map(() => null));
    const once = sent();
    track(Array.from({ length: 10 }, () => ask));
    await advance(5_000);
    expect(sent()).toBe(once);
    await advance(30_000);
    track([ask]);
    await advance(5_000);
    expect(sent()).toBeGreaterThan(once);
  });
});

describe("callers who share a search", () => {
  it("leave it one by one: the last one who leaves ends its request", async () => {
    const client = createClient();
    const ends = Array.from({ length: 5 }, () => new AbortController());
    const answers = track(
      ends.map(
        ({ signal }) =>
          () =>
            client.inventory.getStockLevel("BOLT-M8", {}, { signal }),
      ),
    );
    await advance(75);
    for (const end of ends.slice(0, 4)) end.abort(new Error("left"));
    await advance(2_000);
    expect(answers.slice(0, 4).map(({ error }) => String(error))).toEqual(Array(4).fill("Error: left"));
    expect(answers[4]?.value).toMatchObject({ partNo: expect.any(Number) });
    const before = sent();
    const last = new AbortController();
    track([() => client.inventory.getStockLevel("NUT-M8", {}, { signal: last.signal })]);
    last.abort(new Error("left"));
    await advance(2_000);
    expect(sent()).toBeLessThanOrEqual(before + 1);
  });

  it("see their own writes: nobody joins what was sent before, and what is kept is forgotten", async () => {
    for (let seed = 1; seed <= runs(20); seed += 1) {
      sandbox.reset();
      const random = createRandom(seed);
      const client = createClient({ rateLimit: false });
      const { inventory } = client;
      const kept = { maxAgeMs: 60_000 };
      let booked = 0;
      const problems: string[] = [];
      const [first] = track([() => inventory.getStockLevel("BOLT-M8")]);
      await advance(1_000);
      const start = (first?.value as StockLevel).inStock;
      const person = async () => {
        for (let turn = 0; turn < 4; turn += 1) {
          await new Promise((resolve) => setTimeout(resolve, random() * 200));
          if (random() < 0.5) {
            await inventory.receive({ itemID: "BOLT-M8", units: 1, wid: 1, reasonCode: 1 });
            booked += 1;
          }
          const least = start + booked;
          const level = await inventory.getStockLevel("BOLT-M8", random() < 0.5 ? kept : {});
          if ((level?.inStock ?? 0) < least) problems.push(`seed ${seed}: ${level?.inStock} instead of ${least}`);
        }
      };
      track(Array.from({ length: 8 }, () => person));
      await advance(6_000);
      expect(problems).toEqual([]);
    }
  });

  it("share its failure, and nobody else does", async () => {
    const client = createClient({ retry: false });
    sandbox.addFault({ path: "/Item", times: 1, fault: 500 });
    const answers = track(Array.from({ length: 3 }, () => () => client.inventory.getStockLevel("BOLT-M8")));
    await advance(200);
    expect(answers.map(({ error }) => String(error).includes("500"))).toEqual([true, true, true]);
    const [later] = track([() => client.inventory.getStockLevel("BOLT-M8")]);
    await advance(2_000);
    expect(later?.value).toMatchObject({ partNo: expect.any(Number) });
  });
});

it("a result that is kept costs nothing, also 'no such item'; a write of the item, in any spelling, ends its use", async () => {
  const client = createClient();
  const kept = { maxAgeMs: 10_000 };
  const ask = async (sku: string) => {
    const [answer] = track([() => client.inventory.getStockLevel(sku, kept)]);
    const before = sent();
    await advance(2_000);
    return { requests: sent() - before, ...answer };
  };
  expect((await ask("BOLT-M8")).requests).toBeGreaterThan(0);
  expect((await ask("BOLT-M8")).requests).toBe(0);
  expect((await ask("NO-SUCH")).error).toMatchObject({ status: 404 });
  expect(await ask("NO-SUCH")).toMatchObject({ requests: 0, error: { status: 404 } });
  track([() => client.inventory.receive({ itemID: "bolt-m8", units: 1, wid: 1, reasonCode: 1 }).catch(() => {})]);
  await advance(1_000);
  expect((await ask("BOLT-M8")).requests).toBeGreaterThan(0);
  const [levels] = track([
    () => client.inventory.getStockLevels(["NO-SUCH", "BOLT-M8"], { ...kept, onMissing: "omit" }),
  ]);
  await advance(100);
  expect([...(levels?.value as Map<string, unknown>).keys()]).toEqual(["BOLT-M8"]);
  await advance(11_000);
  expect((await ask("BOLT-M8")).requests).toBeGreaterThan(0);
});

it("whoever leaves at whatever moment, the others are answered, and nothing is left", async () => {
  const skus = await skusOf(3);
  for (let seed = 1; seed <= runs(60); seed += 1) {
    sandbox.reset();
    const random = createRandom(seed);
    const client = createClient();
    const ends: AbortController[] = [];
    const leaves: boolean[] = [];
    const answers: Answer[] = [];
    for (let caller = 0; caller < 30; caller += 1) {
      const end = new AbortController();
      const sku = skus[Math.floor(random() * skus.length)] ?? "";
      const scope = random() < 0.3 ? { maxAgeMs: 1_000 } : {};
      const options = { signal: end.signal, ...(random() < 0.5 && { totalTimeoutMs: 8_000 }) };
      const isMany = random() < 0.3;
      leaves.push(random() < 0.5);
      ends.push(end);
      answers.push(
        ...track([
          () =>
            isMany
              ? client.inventory.getStockLevels([sku], scope, options).then((levels) => levels.get(sku))
              : client.inventory.getStockLevel(sku, scope, options),
        ]),
      );
      if (random() < 0.3) await advance(Math.floor(random() * 60), 10);
      for (const [index, one] of ends.entries())
        if (leaves[index] && random() < 0.1) one.abort(new Error(`left ${index}`));
    }
    for (const [index, end] of ends.entries()) if (leaves[index]) end.abort(new Error(`left ${index}`));
    await advance(5_000, 50);
    for (const [index, { value, error }] of answers.entries()) {
      if (error !== undefined) expect(String(error), `seed ${seed}`).toBe(`Error: left ${index}`);
      else expect(value, `seed ${seed}, caller ${index}`).toEqual(truth.get((value as StockLevel).partNo));
      if (!leaves[index]) expect(error, `seed ${seed}, caller ${index}`).toBeUndefined();
    }
    expect(client.rateLimit).toMatchObject({ queued: 0, inFlight: 0 });
    await client.close();
  }
});

it("keeps the last 10 000 results, and no more", () => {
  const cache = new ResultCache(new WriteLog());
  const time = { sentAt: performance.now(), epoch: 0 };
  for (let item = 0; item < 25_000; item += 1)
    cache.keep("/Inventory/StockLevels", `SKU-${item}`, { record: item }, time);
  const kept = Array.from({ length: 25_000 }, (_, item) =>
    cache.get("/Inventory/StockLevels", `SKU-${item}`, undefined, 60_000),
  );
  expect(kept.filter((result) => result !== undefined)).toHaveLength(10_000);
  expect(kept.at(-1)).toEqual({ record: 24_999 });
});
