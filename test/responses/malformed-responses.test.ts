import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ClientOptions, InventoryClient, ResponseValidationError, StocklotError } from "../../src/index.js";
import * as faults from "../support/faults.js";
import { invalidUtf8, malformedResponse } from "../support/malformed-responses.js";
import { envelope, newItem, newLevel, newLot } from "../support/records.js";
import { RUN_ALL, runs } from "../support/runs.js";
import { connect, errorOf, QUICK, RECEIPT, SECRET, startServer } from "../support/with-server.js";

const item = newItem();
const lot = newLot();
const level = newLevel();
const page = (...value: object[]) => envelope(value);

/** A method of each kind, with a valid response to it. */
const METHODS: [string, object, (client: InventoryClient) => Promise<unknown>][] = [
  ["items.list", page(item, { ...item, partNo: 2 }), (client) => client.items.list().toArray({ limit: 1_000 })],
  ["items.list, page by page", page(item), (client) => client.items.list().page()],
  ["items.listByCategory", [item], (client) => client.items.listByCategory(3)],
  ["items.get", item, (client) => client.items.get("BOLT")],
  ["items.create", item, (client) => client.items.create({ shortID: "NUT" })],
  ["items.update", { shortID: "BOLT", status: "updated" }, (client) => client.items.update("BOLT", { units: 2 })],
  [
    "inventory.listLots, gapless",
    page(lot, { ...lot, recNo: 2 }),
    (client) => client.inventory.listLots({}, { gapless: true }).toArray({ limit: 1_000 }),
  ],
  ["inventory.listStockLevels", page(level), (client) => client.inventory.listStockLevels().toArray({ limit: 1_000 })],
  ["inventory.receive", { result: { id: "7" } }, (client) => client.inventory.receive(RECEIPT)],
  ["request", { any: [1] }, (client) => client.request({ method: "GET", path: "/Orders" })],
  [
    "paginate",
    page({ id: 1 }, { id: 2 }),
    (client) => client.paginate<{ id: number }>({ path: "/Orders", key: "id" }).toArray({ limit: 1_000 }),
  ],
];

const MODES = ["error", "warn", "off"] as const;

const lenient: ClientOptions = {
  retry: { ...QUICK, maxRetries: 1, maxRateLimitRetries: 1 },
  rateLimit: false,
  timeoutMs: 10_000,
};

const keysOf = (object: object) => Reflect.ownKeys(object).map(String).sort().join();
const builtIns = [Object.prototype, Array.prototype, Function.prototype, Error.prototype];
const before = builtIns.map(keysOf);

const unhandled: unknown[] = [];
const recordUnhandled = (reason: unknown) => unhandled.push(reason);
beforeEach(() => void process.on("unhandledRejection", recordUnhandled));
afterEach(() => {
  process.off("unhandledRejection", recordUnhandled);
  expect(unhandled.splice(0)).toEqual([]);
  expect(builtIns.map(keysOf)).toEqual(before);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

/** Expects that a call returns a result, or rejects with an error of the package. */
async function expectTypedErrorOrResult(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof StocklotError)) throw error;
    expect(error.message.length).toBeLessThan(100_000);
    JSON.stringify(error);
  }
}

/** Creates a client whose service sends this response to every request except token requests. */
function clientReceiving(response: () => Response, options: ClientOptions) {
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

describe.each(METHODS)("whatever the service responds to %s,", (_, valid, call) => {
  it.each(MODES)("there is a typed error or a result, with responseValidation %s", async (responseValidation) => {
    await call(clientReceiving(() => Response.json(valid), { responseValidation }));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          { weight: 3, arbitrary: malformedResponse(valid) },
          { weight: 1, arbitrary: invalidUtf8(valid).map((bytes) => new Uint8Array(bytes)) },
        ),
        fc.constantFrom(200, 200, 200, 201, 400, 403, 500),
        async (body, status) => {
          await expectTypedErrorOrResult(() =>
            call(clientReceiving(() => new Response(body, { status }), { responseValidation })),
          );
        },
      ),
      { numRuns: runs(24) },
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

  const names = "content-encoding content-type retry-after date content-length x-total-count location".split(" ");
  const values = `gzip|br|gzip, gzip|compress|identity|,|-1|Infinity|0x10|${"9".repeat(400)}`.split("|");
  const header = fc.tuple(
    fc.constantFrom(...names),
    fc.oneof(fc.constantFrom(...values), fc.stringMatching(/^[!-~]{0,20}$/)),
  );

  it("damaged compression ends in a typed error or a result", async () => {
    const server = await startServer();
    const client = connect(server, lenient);
    await fc.assert(
      fc.asyncProperty(damaged, async ({ coding, bytes }) => {
        server.clearPlans();
        server.plan(faults.body(bytes, { headers: { "content-encoding": coding } }), { times: 2 });
        await expectTypedErrorOrResult(() => client.items.get("BOLT"));
        await expectTypedErrorOrResult(() => client.inventory.receive(RECEIPT));
      }),
      { numRuns: runs(40) },
    );
  });

  it("unusual headers and statuses end in a typed error or a result", async () => {
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
          // Retry-After may request a pause of any length, so the calls have a time limit.
          const client = connect(server, { ...lenient, totalTimeoutMs: 2_000 });
          await expectTypedErrorOrResult(() => client.items.get("BOLT", { timeoutMs: 1_000 }));
          await expectTypedErrorOrResult(() => client.inventory.receive(RECEIPT, { timeoutMs: 1_000 }));
          await client.close();
        },
      ),
      { numRuns: runs(40) },
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
          await expectTypedErrorOrResult(() => client.items.get("BOLT"));
          await expectTypedErrorOrResult(() => client.items.create({ shortID: "NUT" }));
        },
      ),
      { numRuns: runs(40) },
    );
  });
});

describe("a response that is not UTF-8", () => {
  it("is still a success of a transaction, and still the error of its status", async () => {
    const bytes = new Uint8Array([0x22, 0xe4, 0x22]);
    const client = clientReceiving(() => new Response(bytes), {});
    expect(await client.inventory.receive(RECEIPT)).toHaveProperty("body");
    const refusing = clientReceiving(() => new Response(bytes, { status: 404 }), {});
    await expect(refusing.items.get("BOLT")).rejects.toMatchObject({ name: "NotFoundError" });
  });

  it("is read unchanged if it is UTF-8, also with a byte order mark", async () => {
    const text = JSON.stringify({ ...item, shortID: "HÄ-1 ✓ 🔩 \ufffd" });
    const client = clientReceiving(() => new Response(`\ufeff${text}`), {});
    expect((await client.items.get("BOLT")).shortID).toBe("HÄ-1 ✓ 🔩 \ufffd");
  });
});

describe("what is wrong with a response is bounded", () => {
  const key = "k".repeat(100_000);
  const inexact = Array.from({ length: 3_000 }, () => `{"${key.slice(0, 1_000)}":9007199254740993}`);
  it.each<[string, string]>([
    ["a page of empty records", `{"value":[${"{},".repeat(300_000)}{}],"totalCount":1}`],
    ["numbers that a double cannot represent", `{"value":[${inexact}]}`],
    ["an array of nothing", `[${"null,".repeat(300_000)}null]`],
  ])("%s", async (_, body) => {
    for (const call of [
      (client: InventoryClient) => client.items.list().page(),
      (client: InventoryClient) => client.items.listByCategory(1),
      (client: InventoryClient) => client.items.get("BOLT"),
    ]) {
      const error: unknown = await errorOf(call(clientReceiving(() => new Response(body), {})));
      if (!(error instanceof ResponseValidationError)) throw error;
      expect(error.issues.length).toBeLessThanOrEqual(1_000);
      expect(JSON.stringify(error).length).toBeLessThan(3_000_000);
      expect(error.message.length).toBeLessThanOrEqual(2_001);
    }
  });
});

it.skipIf(!RUN_ALL).each([
  ["a valid response is returned", 1, "call", "BOLT"],
  ["an invalid response is rejected", "one", "failure", "ResponseValidationError GET /Item: the response is not what"],
])("where code generation is forbidden, %s", async (_, partNo, what, output) => {
  const server = await startServer();
  server.service.items.set("BOLT", { ...item, partNo });
  const script = fileURLToPath(new URL("../support/one-call.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--disallow-code-generation-from-strings",
    "--import",
    "tsx",
    script,
    server.baseUrl,
    what,
  ]);
  expect(stdout).toContain(output);
});
