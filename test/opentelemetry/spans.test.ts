import { readFileSync } from "node:fs";
import { type HrTime, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-node";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import type { InventoryClient, StoredToken } from "stocklot";
import { describe, expect, it } from "vitest";
import { findUrlTemplate } from "../../src/opentelemetry/attributes.js";
import {
  attempts,
  calls,
  idOf,
  parentOf,
  registerTracing,
  resetSpans,
  SECRET,
  spans,
  traced,
  within,
} from "./support.js";

registerTracing();

const msOf = ([seconds, nanoseconds]: HrTime) => seconds * 1_000 + nanoseconds / 1e6;
const BROKEN = /^(UND_ERR_SOCKET|ECONNRESET)$/;
const outcomeOf = ({ attributes, status }: ReadableSpan) => [
  attributes[conventions.ATTR_ERROR_TYPE],
  attributes[conventions.ATTR_HTTP_RESPONSE_STATUS_CODE],
  status.code,
];

describe("a call", () => {
  it("is a span with a child for its attempt, which follows the conventions; so is a token request", async () => {
    const { client, url, port } = await traced();
    await client.inventory.listLots({ wid: 1 }).page();
    const shared = {
      [conventions.ATTR_SERVER_ADDRESS]: "127.0.0.1",
      [conventions.ATTR_SERVER_PORT]: port,
      [conventions.ATTR_HTTP_RESPONSE_STATUS_CODE]: 200,
    };
    const token = {
      name: "POST /api/v1/Token",
      attributes: {
        ...shared,
        [conventions.ATTR_HTTP_REQUEST_METHOD]: "POST",
        [conventions.ATTR_URL_FULL]: `${url}/Token`,
        [conventions.ATTR_URL_TEMPLATE]: "/api/v1/Token",
      },
      status: { code: SpanStatusCode.UNSET },
    };
    const page = {
      name: "GET /api/v1/Inventory/{wid}",
      attributes: {
        ...shared,
        [conventions.ATTR_HTTP_REQUEST_METHOD]: "GET",
        [conventions.ATTR_URL_FULL]: `${url}/Inventory/1`,
        [conventions.ATTR_URL_TEMPLATE]: "/api/v1/Inventory/{wid}",
      },
      status: { code: SpanStatusCode.UNSET },
    };
    expect(spans().map(({ name, kind, attributes, status }) => ({ name, kind, attributes, status }))).toEqual([
      { ...token, kind: SpanKind.CLIENT },
      { ...token, kind: SpanKind.INTERNAL },
      { ...page, kind: SpanKind.CLIENT },
      { ...page, kind: SpanKind.INTERNAL },
    ]);
    const [tokenAttempt, tokenCall, attempt, call] = spans();
    expect(spans().map(parentOf)).toEqual([tokenCall, call, call, undefined].map((span) => span && idOf(span)));
    expect([tokenAttempt, attempt].map((span) => span?.instrumentationScope.name)).toEqual(["stocklot", "stocklot"]);
  });

  it("has a child for each attempt; retries and pauses are events, in order", async () => {
    const { client, sandbox } = await traced();
    await client.items.list().page();
    sandbox.addFault({ path: "/Item", times: 1, fault: 503 });
    sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
    resetSpans();
    await client.items.list().page();
    const [call] = calls();
    if (!call) throw new Error("no span");
    expect(calls()).toHaveLength(1);
    expect(attempts().map(parentOf)).toEqual([idOf(call), idOf(call), idOf(call)]);
    expect(
      attempts().map((span) => [...outcomeOf(span), span.attributes[conventions.ATTR_HTTP_REQUEST_RESEND_COUNT]]),
    ).toEqual([
      ["503", 503, SpanStatusCode.ERROR, undefined],
      ["429", 429, SpanStatusCode.ERROR, 1],
      [undefined, 200, SpanStatusCode.UNSET, 2],
    ]);
    expect(call.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ["retry", { "stocklot.retry.reason": "HTTP 503" }],
      ["pause", { "stocklot.pause.duration_ms": expect.any(Number) }],
      ["retry", { "stocklot.retry.reason": "HTTP 429" }],
    ]);
    expect(call.attributes[conventions.ATTR_HTTP_REQUEST_RESEND_COUNT]).toBe(2);
    expect(outcomeOf(call)).toEqual([undefined, 200, SpanStatusCode.UNSET]);
  });

  it("begins when it is made, so that its time in the queue is visible", async () => {
    const { client } = await traced({ rateLimit: { requests: 2, reserved: 0, intervalMs: 200 } });
    await Promise.all([client.items.list().page(), client.items.list().page()]);
    const waited = calls().map((call) => {
      const attempt = attempts().find((span) => parentOf(span) === idOf(call));
      return attempt ? msOf(attempt.startTime) - msOf(call.startTime) : 0;
    });
    expect(Math.max(...waited)).toBeGreaterThan(150);
  });

  it("that failed is an error with a type, and so is its attempt, with the status if there was a response", async () => {
    const { client, sandbox } = await traced({ retry: false });
    await client.items.list().page();
    resetSpans();
    await client.items.get("NONE").catch(() => {});
    sandbox.addFault({ path: "/Item", times: 1, fault: "drop" });
    await client.items.get("NONE").catch(() => {});
    sandbox.addFault({ path: "/Inventory/Receive", times: 1, fault: "drop-after" });
    await client.inventory.receive({ itemID: "X", units: 1, wid: 1, reasonCode: 1 }).catch(() => {});
    await client.items.get("NONE", { signal: AbortSignal.abort() }).catch(() => {});
    sandbox.addFault({ path: "/Item", times: 1, fault: "hang" });
    await client.items.get("NONE", { timeoutMs: 50 }).catch(() => {});
    expect(calls().map(outcomeOf)).toEqual([
      ["NotFoundError", 404, SpanStatusCode.ERROR],
      ["ConnectionError", undefined, SpanStatusCode.ERROR],
      ["OutcomeUnknownError", undefined, SpanStatusCode.ERROR],
      ["AbortError", undefined, SpanStatusCode.ERROR],
      ["TimeoutError", undefined, SpanStatusCode.ERROR],
    ]);
    expect(attempts().map(outcomeOf)).toEqual([
      ["404", 404, SpanStatusCode.ERROR],
      [expect.stringMatching(BROKEN), undefined, SpanStatusCode.ERROR],
      [expect.stringMatching(BROKEN), undefined, SpanStatusCode.ERROR],
      ["timeout", undefined, SpanStatusCode.ERROR],
    ]);
  });

  it("shows no secret, no token and no header, even if the caller puts them into a path", async () => {
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
    const apiKey = "the-key-of-a-gateway";
    const { client, sandbox } = await traced({ tokenStore, headers: { "x-api-key": apiKey } });
    await client.items.list().page();
    sandbox.revokeTokens();
    await client.items.list().page();
    for (const secret of [SECRET, apiKey, ...tokens]) await client.items.discontinue(secret).catch(() => {});
    expect(tokens).toHaveLength(2);
    const text = JSON.stringify(
      spans().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
    );
    for (const hidden of [SECRET, apiKey, ...tokens, "Bearer"]) expect(text).not.toContain(hidden);
    expect(text).toContain("[redacted]");
  });
});

describe("the parent of a call", () => {
  it("is the span that was active at the call, also if the call waited in the queue", async () => {
    const { client } = await traced({ rateLimit: { requests: 3, reserved: 0, intervalMs: 50, maxConcurrent: 1 } });
    const ids = await Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        within(`job ${number}`, () => client.items.get(`NONE-${number}`).catch(() => {})),
      ),
    );
    expect(calls().map(parentOf).sort()).toEqual(ids.sort());
  });

  it.each([
    ["read ahead", { readAhead: 3 }],
    ["gapless", { gapless: true, readAhead: 3 }],
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

it("stopping creates no more spans, and leaves those of calls in flight to end with them", async () => {
  const { client, sandbox, stop } = await traced();
  await client.items.list().page();
  resetSpans();
  sandbox.addFault({ path: "/Item", times: 1, fault: "hang" });
  const controller = new AbortController();
  const hanging = client.items.get("NONE", { signal: controller.signal }).catch(() => {});
  await expect.poll(() => client.rateLimit.inFlight).toBe(1);
  stop();
  await client.inventory.listLots().page();
  controller.abort();
  await hanging;
  expect(spans().map(({ name }) => name)).toEqual(["GET /api/v1/Item", "GET /api/v1/Item"]);
  stop();
});

it("the templates are the paths of the OpenAPI document", () => {
  const document = readFileSync(new URL("../../openapi.json", import.meta.url), "utf8");
  const { paths }: { paths: Record<string, unknown> } = JSON.parse(document);
  for (const path of Object.keys(paths)) expect(findUrlTemplate(path.replace(/\{\w+\}/, "BOLT%2FM8"))).toBe(path);
  for (const path of ["/Orders", "/Item/1/2", "/Inventory/", "/Inventory/StockLevels/3/4"])
    expect(findUrlTemplate(path)).toBeUndefined();
});

describe("a method that is one call for its caller, and sends several requests", () => {
  const SENT = { method: "POST", path: "/Inventory/Receive", sentAt: Date.now() - 100_000 } as const;
  const item = (shortID: string) => ({ ...SENT, path: "/Item", body: { shortID } });
  it.each<[string, (client: InventoryClient, sku: string) => Promise<unknown>]>([
    ["inventory.getStockLevel", (client, sku) => client.inventory.getStockLevel(sku)],
    ["inventory.getStockLevels", (client, sku) => client.inventory.getStockLevels([sku])],
    ["inventory.getLots", (client, sku) => client.inventory.getLots(sku)],
    [
      "inventory.findReceipt",
      (client, sku) =>
        client.inventory.findReceipt({ ...SENT, body: { itemID: sku, units: 1, wid: 1, reasonCode: 1 } }),
    ],
    ["items.findCreated", (client, sku) => client.items.findCreated(item(sku))],
  ])("%s is a span, whose children are the spans of its requests", async (name, run) => {
    const { client } = await traced();
    const [{ shortID } = { shortID: "" }] = (await client.items.list().page()).value;
    resetSpans();
    const parent = await within("caller", () => run(client, shortID));
    const methods = spans().filter((span) => span.name === `stocklot.${name}`);
    expect(methods.map(parentOf)).toEqual([parent]);
    expect(methods[0]?.attributes).toMatchObject({ "server.address": "127.0.0.1" });
    const requests = calls().filter((span) => !span.name.startsWith("stocklot."));
    expect(requests.length).toBeGreaterThan(0);
    expect(new Set(requests.map(parentOf))).toEqual(new Set(methods.map(idOf)));
  });

  it("that fails has a span with the type of its error", async () => {
    const { client } = await traced();
    resetSpans();
    await expect(client.inventory.getStockLevel("NO-SUCH")).rejects.toThrow("404");
    const method = spans().find(({ name }) => name === "stocklot.inventory.getStockLevel");
    expect(method).toMatchObject({
      attributes: { "error.type": "NotFoundError" },
      status: { code: SpanStatusCode.ERROR },
    });
  });
});
