import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ClientOptions, InventoryClient, StocklotError } from "../../src/index.js";
import * as faults from "../support/faults.js";
import { oddAnswer, oddBytes } from "../support/odd-answers.js";
import { SmallService } from "../support/small-service.js";
import { connect, SECRET, startServer } from "../support/with-server.js";

const service = new SmallService();
const item = service.items.get("BOLT") ?? {};
const lot = service.addLot({});
const level = { partNo: 1, available: 1, inStock: 1, onOrder: 0, onHold: 0, committed: 0, packed: 0, aSN: 0 };
const page = (...value: object[]) => ({
  value,
  totalCount: value.length,
  page: 1,
  pageSize: 250,
  pageCount: 1,
  hasMore: false,
});
const receipt = { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 };

/** Every method, and what is a right answer to it. */
const METHODS: [string, object, (client: InventoryClient) => Promise<unknown>][] = [
  ["items.list", page(item, { ...item, partNo: 2 }), (client) => client.items.list().toArray({ limit: 1_000 })],
  ["items.list, page by page", page(item), (client) => client.items.list().page()],
  ["items.listByCategory", [item], (client) => client.items.listByCategory(3)],
  ["items.get", item, (client) => client.items.get("BOLT")],
  ["items.getByAlias", item, (client) => client.items.getByAlias("B")],
  ["items.getByPartNo", item, (client) => client.items.getByPartNo(1)],
  ["items.create", item, (client) => client.items.create({ shortID: "NUT" })],
  [
    "items.create, reference",
    { shortID: "NUT", status: "created" },
    (client) => client.items.create({ shortID: "NUT" }),
  ],
  ["items.update", { shortID: "BOLT", status: "updated" }, (client) => client.items.update("BOLT", { units: 2 })],
  ["items.discontinue", { shortID: "BOLT", status: "discontinued" }, (client) => client.items.discontinue("BOLT")],
  [
    "inventory.listLots",
    page(lot, { ...lot, recNo: 2 }),
    (client) => client.inventory.listLots().toArray({ limit: 1_000 }),
  ],
  [
    "inventory.listLots, gapless",
    page(lot),
    (client) => client.inventory.listLots({}, { gapless: true }).toArray({ limit: 1_000 }),
  ],
  ["inventory.listStockLevels", page(level), (client) => client.inventory.listStockLevels().toArray({ limit: 1_000 })],
  ["inventory.receive", { recNo: 5 }, (client) => client.inventory.receive(receipt)],
  [
    "inventory.move",
    { result: { id: "7" } },
    (client) => client.inventory.move({ itemID: "BOLT", units: 1, wid: 3, toSpot: "B" }),
  ],
  ["inventory.issue", [5], (client) => client.inventory.issue(receipt)],
  ["request", { any: [1] }, (client) => client.request({ method: "GET", path: "/Orders" })],
  [
    "paginate",
    page({ id: 1 }, { id: 2 }),
    (client) => client.paginate<{ id: number }>({ path: "/Orders", key: "id" }).toArray({ limit: 1_000 }),
  ],
];

const MODES = ["error", "warn", "off"] as const;

const quick = {
  minDelayMs: 1,
  maxDelayMs: 2,
  maxRetries: 1,
  maxRateLimitRetries: 1,
  rateLimitDelayMs: [1, 2],
} as const;
const lenient: ClientOptions = { retry: quick, rateLimit: false, timeoutMs: 10_000 };

const keysOf = (object: object) => Reflect.ownKeys(object).map(String).sort().join();
const builtIns = [Object.prototype, Array.prototype, Function.prototype, Error.prototype];
const before = builtIns.map(keysOf);

const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown) => unhandled.push(reason);
beforeEach(() => void process.on("unhandledRejection", noteUnhandled));
afterEach(() => {
  process.off("unhandledRejection", noteUnhandled);
  expect(unhandled.splice(0)).toEqual([]);
  expect(builtIns.map(keysOf)).toEqual(before);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

/** A typed error or a result, and none of it late. */
async function endsWell(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof StocklotError)) throw error;
    expect(error.message.length).toBeLessThan(100_000);
    JSON.stringify(error);
  }
}

/** A client whose service answers everything but token requests with this. */
function clientAnswered(response: () => Response, options: ClientOptions) {
  return new InventoryClient({
    baseUrl: "http://localhost/api/v1",
    clientId: "scanner",
    clientSecret: SECRET,
    ...lenient,
    ...options,
    fetch: async (url) =>
      url.endsWith("/Token")
        ? Response.json({ access_token: "canary-token-0123456789", expires_in: 3600 })
        : response(),
  });
}

describe.each(METHODS)("whatever the service answers to %s,", (_, right, call) => {
  it.each(MODES)("there is a typed error or a result, with responseValidation %s", async (responseValidation) => {
    await call(clientAnswered(() => Response.json(right), { responseValidation }));
    await fc.assert(
      fc.asyncProperty(oddAnswer(right), fc.constantFrom(200, 200, 200, 201, 400, 403, 500), async (body, status) => {
        await endsWell(() => call(clientAnswered(() => new Response(body, { status }), { responseValidation })));
      }),
      { numRuns: 60 },
    );
  });

  it("bytes that are no text end in an error or a result, too", async () => {
    await fc.assert(
      fc.asyncProperty(oddBytes(right), fc.constantFrom(...MODES), async (bytes, responseValidation) => {
        await endsWell(() => call(clientAnswered(() => new Response(new Uint8Array(bytes)), { responseValidation })));
      }),
      { numRuns: 40 },
    );
  });
});

describe("on the wire,", () => {
  const body = Buffer.from(JSON.stringify(item));
  const compressed = { gzip: gzipSync(body), br: brotliCompressSync(body), deflate: deflateSync(body) };

  const damaged = fc
    .tuple(
      fc.constantFrom<keyof typeof compressed>("gzip", "br", "deflate"),
      fc.array(fc.tuple(fc.nat({ max: 200 }), fc.nat({ max: 255 })), { maxLength: 3 }),
      fc.option(fc.nat({ max: 200 })),
      fc.uint8Array({ maxLength: 5 }),
    )
    .map(([coding, changes, end, tail]) => {
      const bytes = Buffer.from(compressed[coding]);
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      return { coding, bytes: Buffer.concat([bytes.subarray(0, end ?? bytes.length), tail]) };
    });

  const header = fc.oneof(
    fc.tuple(
      fc.constantFrom(
        "content-encoding",
        "content-type",
        "retry-after",
        "date",
        "content-length",
        "x-total-count",
        "location",
      ),
      fc.oneof(
        fc.constantFrom(
          "gzip",
          "br",
          "gzip, gzip",
          "compress",
          "identity",
          ",",
          "9".repeat(400),
          "-1",
          "Infinity",
          "0x10",
          "NaN",
        ),
        fc.stringMatching(/^[!-~]{0,20}$/),
      ),
    ),
  );

  it("damaged compression ends in a typed error or a result", async () => {
    const server = await startServer();
    const client = connect(server, lenient);
    await fc.assert(
      fc.asyncProperty(damaged, async ({ coding, bytes }) => {
        server.clearPlans();
        server.plan(faults.body(bytes, { headers: { "content-encoding": coding } }), { times: 2 });
        await endsWell(() => client.items.get("BOLT"));
        await endsWell(() => client.inventory.receive(receipt));
      }),
      { numRuns: 100 },
    );
  });

  it("odd headers and statuses end in a typed error or a result", async () => {
    const server = await startServer();
    await fc.assert(
      fc.asyncProperty(
        fc.array(header, { maxLength: 3 }),
        fc.integer({ min: 200, max: 599 }),
        async (headers, status) => {
          server.clearPlans();
          const raw = [
            `HTTP/1.1 ${status} Odd`,
            ...headers.map(([name, value]) => `${name}: ${value}`),
            "connection: close",
          ].join("\r\n");
          server.plan(faults.notHttp(`${raw}\r\n\r\n${body}`), { times: 10 });
          // A pause may be asked for that nobody would live to see; a call can be limited in time.
          const client = connect(server, { ...lenient, totalTimeoutMs: 2_000 });
          await endsWell(() => client.items.get("BOLT", { timeoutMs: 1_000 }));
          await endsWell(() => client.inventory.receive(receipt, { timeoutMs: 1_000 }));
          await client.close();
        },
      ),
      { numRuns: 100 },
    );
  });

  it("bytes that are not HTTP end in a typed error", async () => {
    const server = await startServer();
    const client = connect(server, lenient);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: "binary", maxLength: 80 }),
          fc.string({ maxLength: 40 }).map((text) => `HTTP/1.1 200 OK\r\n${text}\r\n\r\n{}`),
          fc.string({ maxLength: 40 }).map((text) => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${text}`),
        ),
        async (raw) => {
          server.clearPlans();
          server.plan(faults.notHttp(raw), { times: 10 });
          await endsWell(() => client.items.get("BOLT"));
          await endsWell(() => client.items.create({ shortID: "NUT" }));
        },
      ),
      { numRuns: 100 },
    );
  });
});

it("a fetch function that gives anything at all makes calls end in a typed error", async () => {
  const oddities: unknown[] = [
    undefined,
    null,
    {},
    { status: 200 },
    { status: "200", headers: new Headers(), body: null },
    {
      status: 200,
      headers: new Headers(),
      body: { getReader: () => ({ read: async () => ({ done: false, value: "text" }) }) },
    },
    { status: 200, headers: new Headers(), body: { getReader: () => ({ read: async () => null }) } },
    { status: 0, headers: new Headers(), body: null },
    new Response(new ReadableStream<never>({ start: (controller) => controller.enqueue("no bytes" as never) })),
    new Response(new ReadableStream({ start: (controller) => controller.error(Object.create(null)) })),
  ];
  for (const oddity of oddities) {
    const client = clientAnswered(() => oddity as Response, { timeoutMs: 1_000 });
    await endsWell(() => client.items.get("BOLT"));
    await endsWell(() => client.items.create({ shortID: "NUT" }));
  }
  for (const thrown of [
    undefined,
    null,
    "text",
    5,
    Object.create(null),
    Symbol("odd"),
    new TypeError("odd"),
    { message: {} },
  ]) {
    const client = clientAnswered(() => {
      throw thrown;
    }, {});
    await endsWell(() => client.items.get("BOLT"));
    await endsWell(() => client.items.create({ shortID: "NUT" }));
  }
});
