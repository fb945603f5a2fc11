import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  ApiError,
  BadRequestError,
  ConflictError,
  type InventoryClient,
  NotFoundError,
  NotImplementedError,
  OutcomeUnknownError,
  PermissionError,
  ResponseValidationError,
  ServerError,
  ValidationError,
} from "../../src/index.js";
import { html, json, service } from "../call/service.js";
import { envelope, ITEM, LOT } from "../support/records.js";
import { errorOf, RECEIPT, warningLog } from "../support/with-server.js";

const on = service();

const documented = (statusCode: number, error: string, message: string, details?: object) => ({
  statusCode,
  error,
  message,
  ...(details ? { details } : {}),
});

const OFF = { retry: false } as const;

describe("an error status", () => {
  it("with a long text has all of it as serviceMessage, and a message of at most 2 000 characters", async () => {
    const text = `Wrong rows: ${Array.from({ length: 2_000 }, (_, row) => row).join(", ")}`;
    const client = on.client(json(documented(400, "bad_request", text), 400), OFF);
    const error = await errorOf(client.items.get("X"));
    expect(error).toMatchObject({ serviceMessage: text, message: expect.stringMatching(/^GET .Item: 400 Wrong rows/) });
    expect((error as Error).message.length).toBeLessThan(2_001);
  });

  it.each([
    [400, "bad_request", BadRequestError],
    [403, "forbidden", PermissionError],
    [404, "not_found", NotFoundError],
    [409, "conflict", ConflictError],
    [500, "internal_error", ServerError],
    [501, "not_implemented", NotImplementedError],
    [503, "unavailable", ServerError],
    [418, "teapot", ApiError],
    [300, "multiple_choices", ApiError],
  ] as const)("%i %s arrives as its class, with code and message", async (status, code, ErrorClass) => {
    const client = on.client(json(documented(status, code, "What went wrong."), status), OFF);
    const error = await errorOf(client.items.get("X"));
    expect(error).toBeInstanceOf(ErrorClass);
    expect(error).toMatchObject({
      name: ErrorClass.name,
      status,
      code,
      message: `GET /Item: ${status} What went wrong.`,
      serviceMessage: "What went wrong.",
      method: "GET",
      path: "/Item",
      attempts: 1,
      headers: { "content-type": "application/json" },
    });
  });

  it("400 validation_error contains the details", async () => {
    const details = { units: ["must be greater than 0"], wid: ["is required"] };
    const client = on.client(json(documented(400, "validation_error", "Model validation failed.", details), 400));
    const error = await errorOf(client.items.create({ shortID: "X" }));
    expect(error).toBeInstanceOf(ValidationError);
    expect(error).toMatchObject({
      message: "POST /Item: 400 Model validation failed. units: must be greater than 0 wid: is required",
      serviceMessage: "Model validation failed.",
      details,
    });
  });

  it.each([
    ["a form", new URLSearchParams({ shortID: "4711", remark: "a b" }), "shortID=4711&remark=a+b"],
    ["nothing", undefined, undefined],
  ])("the request of an unknown outcome shows what was sent: %s", async (_, body, shown) => {
    const client = on.client(() => new Response("", { status: 504 }));
    const error = await errorOf(client.request({ method: "POST", path: "/Orders", body }));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toHaveProperty("request", {
      method: "POST",
      path: "/Orders",
      ...(shown !== undefined && { body: shown }),
      sentAt: expect.any(Number),
    });
  });

  it.each([
    [504, "", "504 (the response has no message)", { status: 504, serviceMessage: "" }],
    [201, new ReadableStream({ start: (body) => body.error(new Error("cut off")) }), "no usable response", {}],
  ])("names the status %i in an unknown outcome", async (status, body, reason, cause) => {
    const client = on.client(() => new Response(body, { status }));
    const sent = { itemID: "X", units: 1, wid: 1, reasonCode: 1 };
    const error = await errorOf(client.request({ method: "POST", path: "/Inventory/Receive", body: sent }));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    const start = `POST /Inventory/Receive: sent, but the outcome is unknown (${reason}`;
    expect(error).toMatchObject({ message: expect.stringContaining(start), status, cause });
    expect(error).toHaveProperty(
      "message",
      expect.stringMatching(/\). Check whether it was applied before you resend it\.$/),
    );
  });
});

it("an abort while the body of an error is being read rejects with its reason", async () => {
  const abort = new AbortController();
  const client = on.client(() => {
    setTimeout(() => abort.abort("enough"), 20);
    return new Response(new ReadableStream(), { status: 503 });
  });
  expect(await errorOf(client.items.get("X", { signal: abort.signal, retry: false }))).toBe("enough");
});

it("an update whose last attempt succeeded was applied, whatever became of those before", async () => {
  const client = on.client((_, count) => json(count === 1 ? {} : { shortID: 5 }, count === 1 ? 503 : 200)(), {
    retry: { minDelayMs: 1 },
  });
  await expect(client.items.update("BOLT", { description: "x" })).rejects.toMatchObject({
    name: "ResponseValidationError",
    applied: "yes",
  });
});

it.each([404, 405])("a token endpoint that does not exist (%i) has a message that names baseUrl", async (status) => {
  const client = on.client(json(ITEM), { fetch: async () => new Response("Not here", { status }) });
  expect(await errorOf(client.items.get("X"))).toMatchObject({
    message: `POST /Token: ${status} (its text may repeat the secret, and is not shown). Check baseUrl: it must end with the version segment, for example "/api/v1".`,
  });
});

describe("of a failed token request only the status and the code are shown", () => {
  const SECRET = "Summer-2026-inventory!";
  const form = `grant_type=client_credentials&client_id=cid&client_secret=${SECRET}`;
  const reversed = [...SECRET].reverse().join("");
  it.each<[string, number, object | string, string]>([
    [
      "the service's error",
      401,
      { statusCode: 401, error: "unauthorized", message: `no ${reversed}` },
      "401 unauthorized",
    ],
    ["an OAuth error", 400, { error: "invalid_client", error_description: reversed }, "400 invalid_client"],
    ["a gateway's event", 502, { isBase64Encoded: true, body: Buffer.from(form).toString("base64") }, "502 (its text"],
    ["an error code that is none", 400, { error: reversed, message: reversed }, "400 (its text"],
    ["details", 400, { error: "validation_error", message: "m", details: { f: [reversed] } }, "400 validation_error"],
    ["text", 503, `upstream refused ${reversed}`, "503 (its text"],
    ["the rate limit", 429, { message: reversed }, "429 (its text"],
  ])("%s", async (_, status, body, expected) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const client = on.client(json(ITEM), {
      clientSecret: SECRET,
      retry: false,
      fetch: async () => new Response(text, { status }),
    });
    const error = await errorOf(client.items.get("X"));
    const shown = inspect(error, { depth: 9 }) + JSON.stringify(error);
    expect(shown).toContain(`POST /Token: ${expected}`);
    for (const part of [reversed, SECRET, Buffer.from(form).toString("base64").slice(-20)])
      expect(shown).not.toContain(part);
  });
});

describe("a response that does not match the document", () => {
  const odd = { ...LOT, recNo: 12, units: "12" };

  it("names endpoint, record and field, and how to relax the check", async () => {
    const client = on.client(json(envelope([LOT, odd])));
    const error = await errorOf(client.inventory.listLots({ wid: 3 }).toArray());
    expect(error).toBeInstanceOf(ResponseValidationError);
    expect(error).toMatchObject({ status: 200, issues: [{ path: ["value", 1, "units"] }] });
    expect(String(error)).toMatch(/GET \/Inventory\/3: .*value\[1\]\.units.*responseValidation/);
  });

  it.each([0, 2_499])("names record %i of 2500, of a page or of an array", async (index) => {
    const items = Array.from({ length: 2_500 }, (_, at) => (at === index ? { ...ITEM, partNo: "7" } : ITEM));
    const array = errorOf(on.client(json(items)).items.listByCategory(1));
    expect(await array).toMatchObject({ name: "ResponseValidationError", issues: [{ path: [index, "partNo"] }] });
    const { items: resource } = on.client(json(envelope(items)));
    expect(await errorOf(resource.list().page())).toMatchObject({
      name: "ResponseValidationError",
      issues: [{ path: ["value", index, "partNo"] }],
    });
  });

  it('is logged and returned with responseValidation: "warn"', async () => {
    const { warnings, logger } = warningLog();
    const client = on.client(json(envelope([LOT, odd])), { responseValidation: "warn", logger });
    expect((await client.inventory.listLots().toArray())[1]).toEqual(odd);
    expect(warnings).toEqual([expect.stringContaining("value[1].units")]);
  });

  it('is returned with responseValidation: "off"', async () => {
    const client = on.client(json({ ...ITEM, partNo: "7" }), { responseValidation: "off" });
    expect(await client.items.get("X")).toMatchObject({ partNo: "7" });
  });

  it.each([
    "error",
    "warn",
    "off",
  ] as const)("is an error if it is not JSON, or a page without records, with responseValidation %s", async (mode) => {
    const client = on.client(html("<p>Welcome</p>"), { responseValidation: mode });
    const error = await errorOf(client.items.get("X"));
    expect(error).toBeInstanceOf(ResponseValidationError);
    expect(String(error)).toContain("<p>Welcome</p>");
    const other = on.client(json({ error: "none" }), { responseValidation: mode });
    expect(await errorOf(other.items.list().toArray())).toBeInstanceOf(ResponseValidationError);
  });

  it("names the field of a caller's schema, whatever its message begins with", async () => {
    const client = on.client(json({ customer: "X" }));
    const schema = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: () => ({ issues: [{ path: ["customer"], message: "unknown value" }] }),
      },
    } as const;
    const error = await errorOf(client.request({ method: "GET", path: "/Orders/5", schema }));
    expect(error).toBeInstanceOf(ResponseValidationError);
    expect(String(error)).toContain("customer: unknown value");
  });
});

it("a write that succeeded was applied, also if the caller's schema takes too long", async () => {
  const client = on.client(json({ id: 5 }, 201));
  const schema = { "~standard": { version: 1, vendor: "test", validate: () => new Promise<never>(() => {}) } } as const;
  const order = { method: "POST", path: "/Orders", body: {}, schema } as const;
  const late = await errorOf(client.request(order, { totalTimeoutMs: 30 }));
  expect(late).toMatchObject({ name: "TimeoutError", applied: "yes" });
  const aborted = await errorOf(client.request(order, { signal: AbortSignal.timeout(30) }));
  expect(aborted).toMatchObject({ name: "OutcomeUnknownError", status: 201 });
});

it("a list that cannot be read to its end names the request", async () => {
  const client = on.client(json(envelope([], { totalCount: 5, hasMore: true })));
  await expect(client.inventory.listLots({ wid: 3 }).toArray()).rejects.toMatchObject({
    name: "PaginationError",
    message: expect.stringMatching(/^GET \/Inventory\/3: page 1 is empty, but the service reports more records\. /),
  });
});

const CREATE = (client: InventoryClient) => client.items.create({ shortID: "X" });
const UPDATE = (client: InventoryClient) => client.items.update("X", { units: 2 });
const DISCONTINUE = (client: InventoryClient) => client.items.discontinue("X");
const TRANSACTIONS = [
  (client: InventoryClient) => client.inventory.receive(RECEIPT),
  (client: InventoryClient) => client.inventory.issue(RECEIPT),
  (client: InventoryClient) => client.inventory.move({ itemID: "X", units: 1, wid: 3, toSpot: "A" }),
];

const refusal = { statusCode: 400, error: "bad_request", message: "No such item.", details: null };

describe.each(["error", "warn", "off"] as const)("with responseValidation %s, a 2xx", (responseValidation) => {
  it.each([
    ["of the type HTML", html("Please sign in."), /HTML.*Please sign in/],
    ["that begins with <", html("\n <p>Sign in</p>", 200, "text/plain"), /HTML.*Sign in/],
    ["with the service's error object", json(refusal), /error.*No such item/],
  ] as const)("%s is no success of a write", async (_, response, message) => {
    const client = on.client(response, { responseValidation });
    for (const call of [CREATE, ...TRANSACTIONS]) {
      const unknown = await errorOf(call(client));
      expect(unknown).toBeInstanceOf(OutcomeUnknownError);
      expect(unknown).toMatchObject({ message: expect.stringMatching(message), cause: { status: 200 } });
    }
    for (const call of [UPDATE, DISCONTINUE]) {
      const invalid = await errorOf(call(client));
      expect(invalid).toBeInstanceOf(ResponseValidationError);
      expect(invalid).toMatchObject({ status: 200, message: expect.stringMatching(message) });
      expect(String(invalid)).not.toContain("has applied it");
    }
    expect(on.requests).toHaveLength(6);
  });

  it("with another status than the documented one is no success of a write to the catalog", async () => {
    const client = on.client(json({ shortID: "X", status: "failed" }), { responseValidation });
    expect(await errorOf(CREATE(client))).toBeInstanceOf(OutcomeUnknownError);
    for (const call of [UPDATE, DISCONTINUE]) {
      const invalid = await errorOf(call(client));
      expect(invalid).toBeInstanceOf(ResponseValidationError);
      expect(invalid).toMatchObject({ message: expect.stringContaining('"failed"') });
    }
    // The document does not define a status of a transaction, so any status passes.
    for (const call of TRANSACTIONS) expect(await call(client)).toEqual({ body: { shortID: "X", status: "failed" } });
  });
});

it("a status in another case, JSON of the type HTML, and an empty body of that type are successes", async () => {
  const updated = on.client(html('{"shortID":"X","status":"Updated"}'));
  expect(await UPDATE(updated)).toEqual({ shortID: "X", status: "updated" });
  const received = on.client(html('{"recNo":7}'));
  expect(await received.inventory.receive(RECEIPT)).toMatchObject({ recNo: 7 });
  const empty = on.client(html(""));
  expect(await empty.inventory.receive(RECEIPT)).toEqual({ body: undefined });
});
