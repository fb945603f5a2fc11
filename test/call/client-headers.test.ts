import { describe, expect, it } from "vitest";
import { OutcomeUnknownError } from "../../src/index.js";
import { isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { findLeaks } from "../support/leaks.js";
import { connect, errorOf, QUICK, RECEIPT, recorder, startServer, TRANSPORTS } from "../support/with-server.js";

const API_KEY = "canary-gateway-key-0123456789";

describe.each(TRANSPORTS)("the headers of a client over %s", (_, transport) => {
  it("are sent with every request: token requests, retries, pages and writes", async () => {
    const server = await startServer();
    const client = connect(server, { ...transport, headers: { "X-Api-Key": API_KEY }, retry: QUICK });
    server.plan(faults.status(503), { on: isToken }).plan(faults.status(503)).plan(faults.status(429));
    await client.items.get("BOLT");
    await client.inventory.receive(RECEIPT);
    await client.inventory.listLots({ pageSize: 1 }, { readAhead: 3 }).toArray();
    expect(server.tokenRequests).toBe(2);
    expect(server.requests.length).toBeGreaterThanOrEqual(7);
    expect(server.requests.map(({ headers }) => headers["x-api-key"])).toEqual(server.requests.map(() => API_KEY));
  });

  it("give way to those of a request, whatever the case of their names", async () => {
    const server = await startServer();
    const client = connect(server, { ...transport, headers: { "X-Api-Key": API_KEY, "User-Agent": "scanner/2" } });
    await client.items.get("BOLT", { headers: { "x-API-key": "other" } });
    await client.items.get("BOLT");
    const sent = server.requests.filter((request) => !isToken(request));
    expect(sent.map(({ headers }) => [headers["x-api-key"], headers["user-agent"]])).toEqual([
      ["other", "scanner/2"],
      [API_KEY, "scanner/2"],
    ]);
  });

  it("are read once", async () => {
    const server = await startServer();
    const headers: Record<string, string> = { "X-Api-Key": API_KEY };
    const client = connect(server, { ...transport, headers: Object.seal(headers) });
    headers["X-Api-Key"] = "changed";
    await client.items.get("BOLT");
    expect(server.requests.map((request) => request.headers["x-api-key"])).toEqual([API_KEY, API_KEY]);
  });
});

it("a long value of a single call's header is visible nowhere", async () => {
  // No other test uses this key, so it is not registered as a secret yet.
  const key = "canary-of-a-single-call-0123456789";
  const server = await startServer();
  const { recorded, note, logger, hooks } = recorder();
  const client = connect(server, { retry: false, logger, hooks });
  server.plan(faults.status(400, { message: `unknown key ${key}`, headers: { "x-echo": key } }));
  recorded.push(await errorOf(client.items.get("BOLT", { headers: { "X-Api-Key": key }, onResponse: note })));
  expect(findLeaks(recorded, [key])).toEqual([]);
  expect(recorded.at(-1)).toMatchObject({ status: 400 });
});

describe("header values that are ordinary words", () => {
  it("change nothing in the request of a lost write, which is found", async () => {
    const receipt = { ...RECEIPT, remark: "order acme-tenant" };
    const server = await startServer();
    const client = connect(server, { headers: { "x-app": "Receive" }, retry: QUICK });
    server.plan(faults.droppedAfterEffect());
    const error = await errorOf(client.inventory.receive(receipt));
    if (!(error instanceof OutcomeUnknownError)) throw error;
    expect(error).toMatchObject({ request: { method: "POST", path: "/Inventory/Receive", body: receipt } });
    expect(await client.inventory.findReceipt(error)).toMatchObject({ outcome: "applied" });
  });

  it.each([
    ["x-tenant", "2026"],
    ["accept", "application/json; charset=utf-8"],
    ["content-language", "json"],
    ["user-agent", "a-scanner-with-a-long-name/2026"],
  ])("%s: %s blackens nothing in what the service responds", async (name, value) => {
    const server = await startServer();
    const client = connect(server, { headers: { [name]: value }, retry: false });
    const seen: Record<string, string> = {};
    await client.items.get("BOLT", { onResponse: ({ headers }) => Object.assign(seen, headers) });
    expect(seen.date).toMatch(/^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/);
    expect(seen["content-type"]).toMatch(/^application\/json/);
    server.plan(faults.status(400, { message: `unknown ${value}` }));
    expect(await errorOf(client.items.get("BOLT"))).toMatchObject({ serviceMessage: `unknown ${value}` });
  });
});
