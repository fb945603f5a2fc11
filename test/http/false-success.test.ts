import { describe, expect, it } from "vitest";
import { type InventoryClient, OutcomeUnknownError, ResponseValidationError } from "../../src/index.js";
import { errorOf, RECEIPT } from "../support/with-server.js";
import { json, service } from "./service.js";

const on = service();

const CREATE = (client: InventoryClient) => client.items.create({ shortID: "X" });
const UPDATE = (client: InventoryClient) => client.items.update("X", { units: 2 });
const DISCONTINUE = (client: InventoryClient) => client.items.discontinue("X");
const TRANSACTIONS = [
  (client: InventoryClient) => client.inventory.receive(RECEIPT),
  (client: InventoryClient) => client.inventory.issue(RECEIPT),
  (client: InventoryClient) => client.inventory.move({ itemID: "X", units: 1, wid: 3, toSpot: "A" }),
];

const html =
  (body: string, type = "text/html; charset=utf-8") =>
  () =>
    new Response(body, { headers: { "content-type": type } });
const error = { statusCode: 400, error: "bad_request", message: "No such item.", details: null };

describe.each(["error", "warn", "off"] as const)("with responseValidation %s, a 2xx", (responseValidation) => {
  it.each([
    ["of the type HTML", html("Please sign in."), /HTML.*Please sign in/],
    ["that begins with <", html("\n <p>Sign in</p>", "text/plain"), /HTML.*Sign in/],
    ["with the service's error object", json(error), /error.*No such item/],
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
    // The document shows no status of a transaction.
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
