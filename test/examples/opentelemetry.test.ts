import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type HrTime, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import { type ClientOptions, InventoryClient, type StoredToken } from "stocklot";
import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { traceStocklot } from "../../examples/opentelemetry/trace-stocklot.js";
import { urlTemplate } from "../../examples/opentelemetry/url-template.js";

const ROOT = new URL("../../", import.meta.url);
const SECRET = "a-very-secret-secret";

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
beforeAll(() => provider.register());
afterAll(() => provider.shutdown());

/** A traced client of a sandbox on real HTTP, so that sockets and their callbacks are included. */
async function traced(options: ClientOptions = {}, service: SandboxOptions = {}) {
  const clients = [{ clientId: "acme", clientSecret: SECRET }];
  const sandbox = createSandbox({ items: 3, lots: 60, clients, rateLimit: false, ...service });
  const server = await sandbox.listen();
  const client = new InventoryClient({
    baseUrl: server.url,
    clientId: "acme",
    clientSecret: SECRET,
    retry: { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [5, 10] },
    ...options,
  });
  exporter.reset();
  const stop = traceStocklot();
  onTestFinished(async () => {
    stop();
    await client.close();
    await server.close();
  });
  return { sandbox, client, stop, url: server.url, port: Number(new URL(server.url).port) };
}

const isCall = ({ kind, name }: ReadableSpan) => kind === SpanKind.CLIENT && !name.endsWith("/Token");
const spans = () => exporter.getFinishedSpans();
const calls = () => spans().filter(isCall);
const msOf = ([seconds, nanoseconds]: HrTime) => seconds * 1_000 + nanoseconds / 1e6;
const parentOf = ({ parentSpanContext }: ReadableSpan) => parentSpanContext?.spanId;

/** Runs a function within a span, and returns the span's id. */
const within = (name: string, run: () => Promise<unknown>): Promise<string> =>
  trace.getTracer("test").startActiveSpan(name, async (span) => {
    await run();
    span.end();
    return span.spanContext().spanId;
  });

describe("the span of a call", () => {
  it("is of kind CLIENT and has the attributes of the HTTP conventions; the request for a token has its own", async () => {
    const { client, url, port } = await traced();
    await client.inventory.listLots({ wid: 1 }).page();
    const common = {
      [conventions.ATTR_SERVER_ADDRESS]: "127.0.0.1",
      [conventions.ATTR_SERVER_PORT]: port,
      [conventions.ATTR_HTTP_RESPONSE_STATUS_CODE]: 200,
    };
    expect(spans().map(({ name, kind, attributes, status }) => ({ name, kind, attributes, status }))).toEqual([
      {
        name: "POST /api/v1/Token",
        kind: SpanKind.CLIENT,
        attributes: {
          ...common,
          [conventions.ATTR_HTTP_REQUEST_METHOD]: "POST",
          [conventions.ATTR_URL_FULL]: `${url}/Token`,
          [conventions.ATTR_URL_TEMPLATE]: "/api/v1/Token",
        },
        status: { code: SpanStatusCode.UNSET },
      },
      {
        name: "GET /api/v1/Inventory/{wid}",
        kind: SpanKind.CLIENT,
        attributes: {
          ...common,
          [conventions.ATTR_HTTP_REQUEST_METHOD]: "GET",
          [conventions.ATTR_URL_FULL]: `${url}/Inventory/1`,
          [conventions.ATTR_URL_TEMPLATE]: "/api/v1/Inventory/{wid}",
        },
        status: { code: SpanStatusCode.UNSET },
      },
    ]);
  });

  it("is named after the method if the endpoint is not known", async () => {
    const { client } = await traced();
    await client.request({ method: "GET", path: "/Orders/4711" }).catch(() => {});
    const [span] = calls();
    expect(span?.name).toBe("GET");
    expect(span?.attributes).not.toHaveProperty(conventions.ATTR_URL_TEMPLATE);
  });

  it("has its attempts, responses, retries and pauses as events, in order and within its time", async () => {
    const { client, sandbox } = await traced();
    await client.items.list().page();
    sandbox.addFault({ path: "/Item", times: 1, fault: 503 });
    sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
    exporter.reset();
    await client.items.list().page();
    const [span] = calls();
    if (!span) throw new Error("no span");
    expect(calls()).toHaveLength(1);
    expect(span.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ["request", {}],
      ["response", { [conventions.ATTR_HTTP_RESPONSE_STATUS_CODE]: 503 }],
      ["retry", { "stocklot.retry.reason": "HTTP 503", "stocklot.retry.delay_ms": expect.any(Number) }],
      ["request", { [conventions.ATTR_HTTP_REQUEST_RESEND_COUNT]: 1 }],
      ["response", { [conventions.ATTR_HTTP_RESPONSE_STATUS_CODE]: 429 }],
      ["pause", { "stocklot.pause.duration_ms": expect.any(Number) }],
      ["retry", { "stocklot.retry.reason": "HTTP 429", "stocklot.retry.delay_ms": 0 }],
      ["request", { [conventions.ATTR_HTTP_REQUEST_RESEND_COUNT]: 2 }],
      ["response", { [conventions.ATTR_HTTP_RESPONSE_STATUS_CODE]: 200 }],
    ]);
    expect(span.attributes[conventions.ATTR_HTTP_REQUEST_RESEND_COUNT]).toBe(2);
    expect(span.status).toEqual({ code: SpanStatusCode.UNSET });
    const times = [span.startTime, ...span.events.map(({ time }) => time), span.endTime].map(msOf);
    expect(times).toEqual([...times].sort((one, other) => one - other));
  });

  it("begins with the call, so that its time in the queue is visible", async () => {
    const { client } = await traced({ rateLimit: { requests: 2, reserved: 0, intervalMs: 400 } });
    await Promise.all([client.items.list().page(), client.items.list().page()]);
    const waited = calls().map(({ startTime, events }) => (events[0] ? msOf(events[0].time) - msOf(startTime) : 0));
    expect(Math.max(...waited)).toBeGreaterThan(300);
  });

  it("is an error with a type if the call failed, with the status if there was a response", async () => {
    const { client, sandbox } = await traced({ retry: false });
    await client.items.list().page();
    exporter.reset();
    await client.items.get("NONE").catch(() => {});
    sandbox.addFault({ path: "/Item", times: 1, fault: "drop" });
    await client.items.get("NONE").catch(() => {});
    sandbox.addFault({ path: "/Inventory/Receive", times: 1, fault: "drop-after" });
    await client.inventory.receive({ itemID: "X", units: 1, wid: 1, reasonCode: 1 }).catch(() => {});
    await client.items.get("NONE", { signal: AbortSignal.abort() }).catch(() => {});
    expect(
      calls().map(({ attributes, status }) => [
        attributes[conventions.ATTR_ERROR_TYPE],
        attributes[conventions.ATTR_HTTP_RESPONSE_STATUS_CODE],
        status,
      ]),
    ).toEqual([
      ["NotFoundError", 404, { code: SpanStatusCode.ERROR }],
      ["ConnectionError", undefined, { code: SpanStatusCode.ERROR }],
      ["OutcomeUnknownError", undefined, { code: SpanStatusCode.ERROR }],
      ["AbortError", undefined, { code: SpanStatusCode.ERROR }],
    ]);
  });

  it("shows no secret and no token, even if the caller puts them into a path", async () => {
    const tokens: string[] = [];
    const token: StoredToken[] = [];
    const tokenStore = {
      get: async () => token[0] ?? null,
      set: async (given: StoredToken) => {
        token[0] = given;
        tokens.push(given.accessToken);
      },
      delete: async () => void token.pop(),
    };
    const { client, sandbox } = await traced({ tokenStore });
    await client.items.list().page();
    sandbox.revokeTokens();
    await client.items.list().page();
    for (const secret of [SECRET, ...tokens]) await client.items.discontinue(secret).catch(() => {});
    expect(tokens).toHaveLength(2);
    const text = JSON.stringify(
      spans().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
    );
    for (const hidden of [SECRET, ...tokens, "Bearer"]) expect(text).not.toContain(hidden);
    expect(text).toContain("[redacted]");
  });
});

describe("the parent of a call", () => {
  it("is none outside of spans", async () => {
    const { client } = await traced();
    await client.items.list().page();
    expect(spans().map(parentOf)).toEqual([undefined, undefined]);
  });

  it("is the span that was active at the call, also if the call waited in the queue", async () => {
    const { client } = await traced({ rateLimit: { requests: 3, reserved: 0, intervalMs: 50, maxConcurrent: 1 } });
    const ids = await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        within(`job ${number}`, () => client.items.get(`NONE-${number}`).catch(() => {})),
      ),
    );
    expect(calls().map(parentOf).sort()).toEqual(ids.sort());
    expect(ids).toContain(parentOf(spans().find((span) => !isCall(span) && span.kind === SpanKind.CLIENT) ?? never()));
  });

  it.each([
    ["read ahead", { readAhead: 3 }],
    ["side by side", { concurrency: 4 }],
    ["gapless", { gapless: true, concurrency: 3 }],
  ])("is the span around the iteration for pages that are %s, not that of a record's work", async (_how, options) => {
    const { client, sandbox } = await traced();
    sandbox.addFault({ path: "/Inventory", skip: 2, times: 2, fault: 503 });
    const id = await within("copy", async () => {
      for await (const lot of client.inventory.listLots({ pageSize: 10 }, options)) {
        await within(`lot ${lot.recNo}`, () => Promise.resolve());
      }
    });
    expect(calls().length).toBeGreaterThanOrEqual(4);
    expect(new Set(calls().map(parentOf))).toEqual(new Set([id]));
  });
});

it("stopping the tracing ends the spans of calls in flight, and creates no more", async () => {
  const { client, sandbox, stop } = await traced();
  await client.items.list().page();
  exporter.reset();
  sandbox.addFault({ path: "/Item", times: 1, fault: "hang" });
  const controller = new AbortController();
  const hanging = client.items.get("NONE", { signal: controller.signal }).catch(() => {});
  stop();
  await client.inventory.listLots().page();
  controller.abort();
  await hanging;
  expect(calls().map(({ name }) => name)).toEqual(["GET /api/v1/Item"]);
});

it("the templates are the paths of the OpenAPI document", () => {
  const { paths }: { paths: Record<string, unknown> } = JSON.parse(readFileSync(new URL("openapi.json", ROOT), "utf8"));
  for (const path of Object.keys(paths)) expect(urlTemplate(path.replace(/\{\w+\}/, "BOLT%2FM8"))).toBe(path);
  for (const path of ["/Orders", "/Item/1/2", "/Inventory/", "/Inventory/StockLevels/3/4"])
    expect(urlTemplate(path)).toBeUndefined();
});

it("the example prints its traces as trees", async () => {
  const main = fileURLToPath(new URL("examples/opentelemetry/main.ts", ROOT));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--import", "tsx", main], {
    cwd: fileURLToPath(ROOT),
  });
  expect(stderr).toBe("");
  for (const root of ["count the stock", "book a delivery", "look up what was scanned"])
    expect(stdout).toMatch(new RegExp(`^${root} +█+ +\\d+ ms$`, "m"));
  expect(stdout).toMatch(/^├─ POST \/api\/v1\/Token +█+ +\d+ ms {2}200$/m);
  expect(stdout).toMatch(/^│ +\+\d+ ms {2}retry reason=HTTP 503 delay_ms=\d+$/m);
  expect(stdout).toMatch(/^└─ POST \/api\/v1\/Inventory\/Receive +█+ +\d+ ms {2}201$/m);
  expect(stdout).toMatch(/^ +\+\d+ ms {2}pause duration_ms=\d+$/m);
  expect(stdout).toMatch(/GET \/api\/v1\/Item +█+ +\d+ ms {2}404 NotFoundError$/m);
}, 60_000);

function never(): never {
  throw new Error("there is no such span");
}
