import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type ClientOptions,
  type FindOptions,
  type FoundItem,
  type FoundReceipt,
  InventoryClient,
  type Lot,
  OutcomeUnknownError,
  type ReceiveInput,
  type SentRequest,
  TimeoutError,
} from "../../src/index.js";
import { useCountedTimers } from "../support/own-timers.js";
import { seededRandom } from "../support/random.js";
import { newLot, pageOf } from "../support/records.js";
import { RUN_ALL } from "../support/runs.js";

const RECEIPT: ReceiveInput = { itemID: "BOLT", units: 50, wid: 3, reasonCode: 1, remark: "delivery 4711" };
const START = new Date("2026-03-01T08:07:06.005Z");

const { setImmediate } = globalThis;

const STEP_MS = 1_000;

/** Advances virtual time in steps, so that promises settle between them. */
async function advance(delayMs: number): Promise<void> {
  for (let restMs = delayMs; restMs >= 0; restMs -= STEP_MS) {
    await vi.advanceTimersByTimeAsync(Math.min(restMs, STEP_MS));
    for (let turn = 0; turn < 8; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

let timers: () => number;
beforeEach(() => {
  timers = useCountedTimers({ now: START });
});
afterEach(() => {
  // No test may leave a timer, whatever its outcome.
  expect(timers()).toBe(0);
});

type Intercept = (request: Request, send: () => Promise<Response>) => Promise<Response>;

/** Creates a sandbox and a client of it. `setIntercept` changes what happens between them. */
function setUp({
  sandbox: options = {},
  client: clientOptions = {},
}: {
  sandbox?: SandboxOptions;
  client?: ClientOptions;
} = {}) {
  const sandbox = createSandbox({
    items: [{ shortID: "BOLT" }, { shortID: "NUT" }],
    lots: [],
    rateLimit: false,
    ...options,
  });
  const world: { intercept: Intercept } = { intercept: (_, send) => send() };
  const fetch = async (input: Request | string | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    return world.intercept(request, () => sandbox.fetch(request.clone()));
  };
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    ...sandbox.credentials,
    fetch,
    rateLimit: false,
    retry: false,
    ...clientOptions,
  });
  /** The times of look-ups, in ms after the start. Requests at the same time count as one look-up. */
  const searchTimes: number[] = [];
  const setIntercept = (intercept: Intercept) => {
    world.intercept = async (request, send) => {
      const now = Date.now() - START.getTime();
      if (request.method === "GET" && searchTimes.at(-1) !== now) searchTimes.push(now);
      return intercept(request, send);
    };
  };
  setIntercept((_, send) => send());
  return { sandbox, client, searchTimes, setIntercept };
}

/** A lot of the first item of the sandbox. */
const LOT = newLot({ recNo: 9, partNo: 1_001, warehouse: "South", units: 20, received: START.toISOString() });

/** Returns the response of a service that lists these lots. */
function listing(lots: readonly Lot[], { url }: Request): Response {
  const { searchParams } = new URL(url);
  return Response.json(pageOf(lots, searchParams), { headers: { date: new Date().toUTCString() } });
}

const isList = ({ url }: Request) => url.includes("/Inventory?");

const isWrite = ({ method, url }: Request) => method === "POST" && !url.endsWith("/Token");
const gatewayTimeout = () => new Response("<h1>504</h1>", { status: 504, headers: { "content-type": "text/html" } });

/** Makes the gateway respond with 504 at once. The service applies the write after a time, or never. */
const appliedAfter =
  (delayMs: number): Intercept =>
  async (request, send) => {
    if (!isWrite(request)) return send();
    if (delayMs < Infinity) setTimeout(() => void send(), delayMs);
    return gatewayTimeout();
  };

async function outcomeUnknownOf(call: Promise<unknown>): Promise<OutcomeUnknownError> {
  const error = await call.then(
    () => new Error("no failure"),
    (failure: unknown) => failure,
  );
  if (!(error instanceof OutcomeUnknownError)) throw error;
  return error;
}

/** Returns the state of a promise, which can be read without waiting for the promise. */
function track<T>(promise: Promise<T>) {
  const state: { outcome: "pending" | "fulfilled" | "rejected"; at: number; value?: T; reason?: unknown } = {
    outcome: "pending",
    at: 0,
  };
  promise.then(
    (value) => Object.assign(state, { outcome: "fulfilled", value, at: Date.now() - START.getTime() }),
    (reason) => Object.assign(state, { outcome: "rejected", reason, at: Date.now() - START.getTime() }),
  );
  return state;
}

const throughJson = (error: OutcomeUnknownError): SentRequest => JSON.parse(JSON.stringify(error)).request;

/** A kind of write that is lost, with the method that looks it up. */
interface LostWrite {
  name: string;
  send(client: InventoryClient): Promise<OutcomeUnknownError>;
  find(
    client: InventoryClient,
    sent: OutcomeUnknownError | SentRequest,
    options?: FindOptions,
  ): Promise<FoundReceipt | FoundItem>;
}

const WRITES: LostWrite[] = [
  {
    name: "findReceipt",
    send: (client) => outcomeUnknownOf(client.inventory.receive(RECEIPT)),
    find: (client, sent, options) => client.inventory.findReceipt(sent, options),
  },
  {
    name: "findCreated",
    send: (client) => outcomeUnknownOf(client.items.create({ shortID: "WASHER", description: "Washer M8" })),
    find: (client, sent, options) => client.items.findCreated(sent, options),
  },
];

describe.each(WRITES)("$name", ({ name, send, find }) => {
  it("finds a write that is applied seconds after the gateway's 504", async () => {
    const { client, searchTimes, setIntercept } = setUp();
    setIntercept(appliedAfter(5_000));
    const found = track(find(client, await send(client)));
    await advance(6_999);
    expect(found).toMatchObject({ outcome: "pending" });
    await advance(1);
    expect(found).toMatchObject({ outcome: "fulfilled", value: { outcome: "applied" } });
    expect(searchTimes).toEqual([0, 1_000, 3_000, 7_000]);
  });

  it("reports not-applied only once the request has settled, whatever the client's totalTimeoutMs is", async () => {
    const { client, searchTimes, setIntercept } = setUp({ client: { totalTimeoutMs: 500 } });
    setIntercept(appliedAfter(Infinity));
    const found = track(find(client, await send(client)));
    await advance(59_999);
    expect(found).toMatchObject({ outcome: "pending" });
    await advance(1);
    expect(found).toMatchObject({ outcome: "fulfilled", value: { outcome: "not-applied" } });
    expect(searchTimes).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 60_000]);
  });

  it("does not count a look that began before the request had settled", async () => {
    const { client, setIntercept, searchTimes } = setUp();
    setIntercept(appliedAfter(Infinity));
    const error = await send(client);
    setIntercept(async (request, respond) => {
      const response = await respond();
      // Delays one request of each look-up.
      const isLast = name === "findCreated" || request.url.includes("sort=partNo");
      if (isLast) await new Promise((resolve) => setTimeout(resolve, 20_000));
      return response;
    });
    const found = track(find(client, error, { settleMs: 10_000 }));
    await advance(39_999);
    expect(found).toMatchObject({ outcome: "pending" });
    await advance(1);
    expect(found).toMatchObject({ value: { outcome: "not-applied" } });
    expect(searchTimes.slice(0, 2)).toEqual([0, 20_000]);
  });

  it.each<[string, number, number[]]>([
    ["while it may be in flight", 45_000, [45_000, 46_000, 48_000, 52_000, 60_000]],
    ["after it has settled", 3_600_000, [3_600_000]],
  ])("takes the request as restored after a crash, %s", async (_, delayMs, expected) => {
    const { sandbox, client, setIntercept } = setUp();
    setIntercept(appliedAfter(Infinity));
    const request = throughJson(await send(client));
    await client.close();
    vi.setSystemTime(START.getTime() + delayMs);
    const other = new InventoryClient({
      baseUrl: sandbox.baseUrl,
      ...sandbox.credentials,
      fetch: sandbox.fetch,
      rateLimit: false,
    });
    const isOfLook = ({ method, path, query }: (typeof sandbox.requests)[number]) =>
      method === "GET" && (name === "findReceipt" ? query.sort === "partNo" : path === "/Item");
    const seen = () => sandbox.requests.filter(isOfLook).length;
    const counts: number[] = [];
    const found = track(find(other, request));
    for (const at of expected) {
      await advance(START.getTime() + at - Date.now());
      counts.push(seen());
    }
    expect(found).toMatchObject({ outcome: "fulfilled", value: { outcome: "not-applied" } });
    expect(counts).toEqual(expected.map((_, index) => index + 1));
  });

  it("waits in full if the clock of the process that sent it was behind that of this one", async () => {
    const { client, setIntercept } = setUp({ sandbox: { now: () => Date.now() + 600_000 } });
    setIntercept(appliedAfter(Infinity));
    const request = throughJson(await send(client));
    expect(request.clockAheadMs).toBeGreaterThan(590_000);
    const found = track(find(client, { ...request, sentAt: request.sentAt - 600_000, clockAheadMs: 1_200_000 }));
    await advance(59_999);
    expect(found).toMatchObject({ outcome: "pending" });
    await advance(1);
    expect(found).toMatchObject({ value: { outcome: "not-applied" } });
  });

  it("waits no longer than settleMs when the clock of this machine was set back", async () => {
    const { client, setIntercept } = setUp();
    setIntercept(appliedAfter(Infinity));
    const error = await send(client);
    vi.setSystemTime(START.getTime() - 3_600_000);
    const found = track(find(client, error));
    await advance(60_000);
    expect(found).toMatchObject({ outcome: "fulfilled" });
  });

  it.each<[string, (client: InventoryClient, cancellation: AbortController) => unknown, object]>([
    ["it is aborted", (_, cancellation) => cancellation.abort(new Error("enough")), { message: "enough" }],
    ["the client is closed", (client) => client.close(), { name: "ClientClosedError" }],
  ])("ends at once when %s between two looks", async (_, end, reason) => {
    const { client, setIntercept, searchTimes } = setUp();
    setIntercept(appliedAfter(Infinity));
    const cancellation = new AbortController();
    const found = track(find(client, await send(client), { signal: cancellation.signal }));
    await advance(4_000);
    await end(client, cancellation);
    await advance(0);
    expect(found).toMatchObject({ outcome: "rejected", at: 4_000, reason });
    expect(searchTimes).toEqual([0, 1_000, 3_000]);
  });

  it("ends at its own totalTimeoutMs, waiting included", async () => {
    const { client, setIntercept } = setUp();
    setIntercept(appliedAfter(Infinity));
    const found = track(find(client, await send(client), { totalTimeoutMs: 10_000 }));
    await advance(10_000);
    expect(found).toMatchObject({ outcome: "rejected", at: 10_000 });
    expect(found.reason).toBeInstanceOf(TimeoutError);
    expect(found.reason).toMatchObject({
      clock: "totalTimeoutMs",
      message: expect.stringMatching(/find(Receipt|Created).*totalTimeoutMs \(10000 ms\).*50000 ms/),
    });
  });

  it("reads its arguments when it is called", async () => {
    const { client, setIntercept } = setUp();
    setIntercept(appliedAfter(5_000));
    const request = throughJson(await send(client));
    const options: FindOptions = { settleMs: 60_000 };
    const found = track(find(client, request, options));
    Object.assign(request, { body: {}, sentAt: Number.NaN, path: "/" });
    Object.assign(options, { settleMs: "x", signal: "y" });
    await advance(60_000);
    expect(found).toMatchObject({ value: { outcome: "applied" } });
  });
});

describe("the evidence that a receipt was not applied", () => {
  const ONCE: FindOptions = { settleMs: 0 };

  async function lose(options: Parameters<typeof setUp>[0] = {}) {
    const all = setUp(options);
    all.setIntercept(appliedAfter(Infinity));
    const error = await outcomeUnknownOf(all.client.inventory.receive(RECEIPT));
    all.setIntercept((_, send) => send());
    return { ...all, error };
  }

  /** Looks up a lost receipt on a service that lists these lots. The client had seen no lot number before it sent the receipt. */
  const listed = async (lots: readonly Partial<Lot>[], receipt: Partial<ReceiveInput> = {}) => {
    const all = setUp();
    all.setIntercept(appliedAfter(Infinity));
    const error = await outcomeUnknownOf(all.client.inventory.receive({ ...RECEIPT, ...receipt }));
    all.setIntercept(async (request, send) =>
      request.url.includes("/Inventory")
        ? listing(
            lots.map((lot) => ({ ...LOT, ...lot })),
            request,
          )
        : send(),
    );
    return all.client.inventory.findReceipt(error, ONCE);
  };
  const LATER = new Date(START.getTime() + 500).toISOString();
  const EQUAL = { units: 50, wID: 3, remark: "delivery 4711" };

  it.each<[string, Partial<Lot>, FoundReceipt["outcome"]]>([
    ["an equal lot received since", { ...EQUAL, received: LATER }, "applied"],
    ["an equal lot received before", { ...EQUAL, received: "2026-02-01T00:00:00Z" }, "ambiguous"],
    ["an equal lot on this day", { ...EQUAL, received: "2026-03-01" }, "ambiguous"],
    ["an equal lot with a placeholder for a date", { ...EQUAL, received: "0001-01-01T00:00:00" }, "ambiguous"],
    ["an equal lot whose date cannot be read", { ...EQUAL, received: "yesterday" }, "ambiguous"],
    ["a lot with its remark and another quantity", { ...EQUAL, units: 7, received: LATER }, "ambiguous"],
    ["a lot with merged remarks", { remark: "pallet 9; delivery 4711", received: "2026-02-01" }, "ambiguous"],
    ["a lot with its remark cut off", { remark: "delivery 47", received: LATER }, "ambiguous"],
    ["a lot with a longer number", { remark: "delivery 47119", received: LATER }, "not-applied"],
    ["a lot with none of its texts", { remark: "", received: LATER }, "not-applied"],
    ["a lot of another item with its remark", { ...EQUAL, partNo: 1_002, shortID: "NUT" }, "not-applied"],
  ])("without a number seen before, %s", async (_, lot, outcome) => {
    expect(await listed([lot])).toMatchObject({ outcome });
  });

  it("a lot of another item with its tag may be its own, also without a number", async () => {
    const lot = { partNo: 1_002, shortID: "NUT", rFIDTag: "E28011606", received: LATER };
    expect(await listed([lot], { rfidTag: "E28011606" })).toMatchObject({ outcome: "ambiguous" });
  });

  it("without a number and without a text of its own, any lot of the item is in doubt", async () => {
    expect(await listed([{ received: "2020-01-01" }], { remark: "" })).toMatchObject({ outcome: "ambiguous" });
    expect(await listed([], { remark: "" })).toMatchObject({ outcome: "not-applied" });
  });

  it("includes lots that an earlier look has found", async () => {
    const { client, error, setIntercept } = await lose();
    // The lot is partly issued at first, and then used up.
    setIntercept(async (request, send) => {
      if (!isList(request)) return send();
      const isUsedUp = Date.now() - START.getTime() > 4_000;
      return listing(isUsedUp ? [] : [{ ...LOT, remark: "delivery 4711", received: LATER }], request);
    });
    const found = track(client.inventory.findReceipt(error));
    await advance(60_000);
    expect(found).toMatchObject({ value: { outcome: "ambiguous", lots: [{ recNo: 9 }] }, at: 60_000 });
  });

  it("is missing if the service's clock is days behind: its lot is not from before", async () => {
    const { client, setIntercept } = setUp({ sandbox: { now: () => Date.now() - 72 * 3_600_000 } });
    setIntercept(appliedAfter(0));
    const error = await outcomeUnknownOf(client.inventory.receive(RECEIPT));
    setIntercept((_, send) => send());
    await advance(100);
    expect(await client.inventory.findReceipt(error, ONCE)).toMatchObject({ outcome: "applied" });
  });

  it("is missing if the look had to wait for a slot and the service's clock is behind", async () => {
    const { client, setIntercept } = setUp({ sandbox: { now: () => Date.now() - 30_000 } });
    setIntercept(appliedAfter(0));
    const error = await outcomeUnknownOf(client.inventory.receive(RECEIPT));
    await advance(100);
    // A slow response leaves the time of the service's clock uncertain.
    setIntercept(async (request, send) => {
      if (isList(request)) await new Promise((resolve) => setTimeout(resolve, 25_000));
      return send();
    });
    const found = track(client.inventory.findReceipt(error, ONCE));
    await advance(25_000);
    expect(found.value?.outcome).not.toBe("not-applied");
    expect(found.value?.lots).toHaveLength(1);
  });
});

describe("a client that may not read all warehouses at once", () => {
  const forbidden: Intercept = async (request, send) =>
    request.method === "GET" && /\/Inventory(\?|$)/.test(request.url)
      ? Response.json(
          { statusCode: 403, error: "forbidden", message: "Warehouse is outside the client's authorized scope." },
          { status: 403 },
        )
      : send();

  it("looks in the warehouse of the receipt, and does not conclude that the receipt is absent", async () => {
    const { client, setIntercept } = setUp();
    setIntercept(appliedAfter(Infinity));
    const error = await outcomeUnknownOf(client.inventory.receive(RECEIPT));
    setIntercept(forbidden);
    await expect(client.inventory.findReceipt(error, { settleMs: 0 })).resolves.toEqual({
      outcome: "ambiguous",
      lots: [],
    });
    setIntercept(appliedAfter(10));
    const other = await outcomeUnknownOf(client.inventory.receive(RECEIPT));
    setIntercept(forbidden);
    const found = track(client.inventory.findReceipt(other));
    await advance(1_000);
    expect(found).toMatchObject({ value: { outcome: "applied" } });
  });
});

describe("a request from which a secret was removed", () => {
  const clients = [{ clientId: "scanner", clientSecret: "pallet-secret-77" }];

  it.each<[string, Partial<ReceiveInput>]>([
    ["serial", { serial: "S-pallet-secret-77" }],
    ["remark", { remark: "see pallet-secret-77" }],
  ])("still finds the receipt by its %s", async (_, fields) => {
    const { client, setIntercept } = setUp({ sandbox: { clients } });
    setIntercept(appliedAfter(0));
    const error = await outcomeUnknownOf(client.inventory.receive({ ...RECEIPT, ...fields }));
    expect(JSON.stringify(error)).toContain("[redacted]");
    await advance(100);
    expect(await client.inventory.findReceipt(throughJson(error))).toMatchObject({ outcome: "applied" });
  });

  it("proves nothing if the item itself is unknown", async () => {
    const shortID = "BOLT-pallet-secret-77";
    const { client, setIntercept } = setUp({ sandbox: { clients, items: [{ shortID }] } });
    setIntercept(appliedAfter(0));
    const error = await outcomeUnknownOf(client.inventory.receive({ ...RECEIPT, itemID: shortID }));
    await advance(100);
    const found = await client.inventory.findReceipt(throughJson(error), { settleMs: 0 });
    expect(found).toEqual({ outcome: "ambiguous", lots: [] });
    setIntercept(appliedAfter(Infinity));
    const creation = await outcomeUnknownOf(client.items.create({ shortID: "NUT-pallet-secret-77" }));
    expect(await client.items.findCreated(creation, { settleMs: 0 })).toEqual({ outcome: "ambiguous" });
  });
});

describe("whatever happens in the warehouse meanwhile", () => {
  const SCENARIOS = RUN_ALL ? 40 : 10;
  /** Formats of a lot's time without milliseconds. */
  const FORMATS: ((time: string) => string)[] = [
    (time) => time.replace(/\.\d+Z/, ""),
    (time) => time.replace(/:\d\d\.\d+Z/, ":00Z"),
    (time) => time.slice(0, 10),
  ];

  it.each(
    Array.from({ length: SCENARIOS }, (_, seed) => seed),
  )("a search reports nothing wrong: scenario %d", async (seed) => {
    const random = seededRandom(seed);
    const pick = <T>(options: readonly [T, ...T[]]): T => options[random(options.length)] ?? options[0];
    const offsetMs = pick([0, 0, -600_000, 600_000, 700]);
    const format = FORMATS[random(2 * FORMATS.length)] ?? String;
    const { sandbox, client, setIntercept } = setUp({ sandbox: { now: () => Date.now() + offsetMs } });
    const { baseUrl, credentials, fetch } = sandbox;
    const others = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false });
    await others.inventory.receive({ ...RECEIPT, units: 7 });
    await advance(pick([500, 3_000, 61_000]));
    const isApplied = random(10) < 6;
    setIntercept(appliedAfter(isApplied ? random(59_000) : Infinity));
    const request = throughJson(await outcomeUnknownOf(client.inventory.receive(RECEIPT)));
    setIntercept(async (request, send) => {
      const response = await send();
      if (!isList(request)) return response;
      const body = (await response.text()).replace(/(?<="received":")[^"]+/g, format);
      return new Response(body, { headers: response.headers });
    });
    const work = async () => {
      for (let round = 0; round < 3; round += 1) {
        await new Promise((resolve) => setTimeout(resolve, random(30_000)));
        const action = pick([
          () => others.inventory.receive({ ...RECEIPT, itemID: "NUT" }),
          () => others.inventory.receive({ ...RECEIPT, units: 9 }),
          () => others.inventory.move({ itemID: "BOLT", units: 50, wid: 3, shipToWid: 1 }),
          () => others.inventory.move({ itemID: "BOLT", units: 20, wid: 3, toSpot: "B-1" }),
          () => others.inventory.issue({ itemID: "BOLT", units: 10, wid: 3, reasonCode: 1 }),
          async () => {},
        ]);
        await action().catch(() => {});
      }
    };
    if (random(2) === 0) void work();
    await advance(pick([0, 0, 20_000, 100_000]));
    const found = track(client.inventory.findReceipt(request));
    await advance(130_000);
    expect(found.outcome).toBe("fulfilled");
    expect(found.value?.outcome).not.toBe(isApplied ? "not-applied" : "applied");
  });
});
