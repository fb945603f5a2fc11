import { describe, expect, it } from "vitest";
import { InputValidationError, type InventoryClient } from "../../src/index.js";
import { envelope, ITEM, json, service } from "./service.js";

const on = service();

/** Arguments that the compiler would refuse, as a JavaScript program may give them. */
// biome-ignore lint/suspicious/noExplicitAny: that is the point of these tests.
type Loose = { [Name in "items" | "inventory"]: any } & Record<"request" | "paginate", any>;

const receipt = { itemID: "X", units: 1, wid: 3, reasonCode: 1 };

const rows: [what: string, call: (client: Loose) => unknown, paths: (string | number)[][]][] = [
  ["get without a key", (c) => c.items.get(), [["shortID"]]],
  ["get with an empty key", (c) => c.items.get(""), [["shortID"]]],
  ["get with .", (c) => c.items.get("."), [["shortID"]]],
  ["discontinue with ..", (c) => c.items.discontinue(".."), [["shortID"]]],
  ["getByAlias with a number", (c) => c.items.getByAlias(5), [["alias"]]],
  ["getByPartNo with a fraction", (c) => c.items.getByPartNo(1.5), [["partNo"]]],
  ["getByPartNo with text", (c) => c.items.getByPartNo("../Inventory"), [["partNo"]]],
  ["listByCategory with NaN", (c) => c.items.listByCategory(Number.NaN), [["categoryID"]]],
  ["create with nothing", (c) => c.items.create(), [[]]],
  ["create without a SKU", (c) => c.items.create({ uOM: 5 }), [["shortID"], ["uOM"]]],
  [
    "update with wrong types",
    (c) => c.items.update("X", { units: "5", discontinued: 1 }),
    [
      ["changes", "units"],
      ["changes", "discontinued"],
    ],
  ],
  ["receive with nothing in it", (c) => c.inventory.receive({}), [["itemID"], ["units"], ["wid"], ["reasonCode"]]],
  ["receive of 0", (c) => c.inventory.receive({ ...receipt, units: 0 }), [["units"]]],
  ["receive of less than 0", (c) => c.inventory.receive({ ...receipt, units: -1 }), [["units"]]],
  ["receive of NaN", (c) => c.inventory.receive({ ...receipt, units: Number.NaN }), [["units"]]],
  ["receive of infinitely many", (c) => c.inventory.receive({ ...receipt, units: Infinity }), [["units"]]],
  ["receive into half a warehouse", (c) => c.inventory.receive({ ...receipt, wid: 1.5 }), [["wid"]]],
  ["receive with an invalid date", (c) => c.inventory.receive({ ...receipt, expires: new Date("x") }), [["expires"]]],
  ["receive with a misspelt field", (c) => c.inventory.receive({ ...receipt, rFIDTag: "T" }), [["rFIDTag"]]],
  ["move of 0", (c) => c.inventory.move({ itemID: "X", units: 0, wid: 3 }), [["units"]]],
  [
    "move without a destination",
    (c) => c.inventory.move({ itemID: "X", units: 1, wid: 3, fromSpot: "A" }),
    [["toSpot"]],
  ],
  ["issue without a reason", (c) => c.inventory.issue({ itemID: "X", units: 1, wid: 3 }), [["reasonCode"]]],
  ["a list with page 0", (c) => c.items.list({ page: 0 }).page(), [["page"]]],
  ["a list with a page size of 0", (c) => c.items.list({ pageSize: 0 }).toArray(), [["pageSize"]]],
  ["a list in a direction in small letters", (c) => c.items.list({ direction: "asc" }).toArray(), [["direction"]]],
  ["a list since a date that is none", (c) => c.items.list({ modifiedSince: "today" }).page(), [["modifiedSince"]]],
  ["a list with a misspelt parameter", (c) => c.inventory.listLots({ wID: 3 }).toArray(), [["wID"]]],
  ["a list of warehouse text", (c) => c.inventory.listStockLevels({ wid: "3" }).pages().next(), [["wid"]]],
  ["a list with a misspelt option", (c) => c.items.list({}, { readahead: 1 }).toArray(), [["readahead"]]],
  ["a list with readAhead -1", (c) => c.items.list({}, { readAhead: -1 }).toArray(), [["readAhead"]]],
  ["a list with concurrency 0", (c) => c.items.list({}, { concurrency: 0 }).toArray(), [["concurrency"]]],
  ["a list with params null", (c) => c.items.list(null).toArray(), [[]]],
  ["an unknown option", (c) => c.items.get("X", { timeout: 5 }), [["timeout"]]],
  ["options null", (c) => c.items.get("X", null), [[]]],
  ["a timeout of 0", (c) => c.items.get("X", { timeoutMs: 0 }), [["timeoutMs"]]],
  ["a signal that is none", (c) => c.items.get("X", { signal: {} }), [["signal"]]],
  ["an unknown priority", (c) => c.items.get("X", { priority: "urgent" }), [["priority"]]],
  [
    "an authorization header",
    (c) => c.items.get("X", { headers: { Authorization: "x" } }),
    [["headers", "Authorization"]],
  ],
  ["a host header", (c) => c.items.get("X", { headers: { host: "x" } }), [["headers", "host"]]],
  [
    "a framing header",
    (c) => c.items.get("X", { headers: { "Transfer-Encoding": "x" } }),
    [["headers", "Transfer-Encoding"]],
  ],
  ["a header with a line break", (c) => c.items.get("X", { headers: { "x-a": "b\r\nc: d" } }), [["headers", "x-a"]]],
  ["a request with dot segments", (c) => c.request({ method: "GET", path: "/a/../b" }), [["path"]]],
  ["a request with a query in the path", (c) => c.request({ method: "GET", path: "/a?b" }), [["path"]]],
  ["a request with an unknown method", (c) => c.request({ method: "TRACE", path: "/a" }), [["method"]]],
  [
    "a request with an object in its query",
    (c) => c.request({ method: "GET", path: "/a", query: { b: {} } }),
    [["query", "b"]],
  ],
  ["a request with a schema that is none", (c) => c.request({ method: "GET", path: "/a", schema: {} }), [["schema"]]],
  ["a request with a body that is no JSON", (c) => c.request({ method: "POST", path: "/a", body: 1n }), [["body"]]],
  ["a request with a function for a body", (c) => c.request({ method: "POST", path: "/a", body: () => 1 }), [["body"]]],
  [
    "a request with an invalid date",
    (c) => c.request({ method: "GET", path: "/a", query: { b: new Date("x") } }),
    [["query", "b"]],
  ],
  ["a list sorted by half a character", (c) => c.items.list({ sort: "\ud800" }).page(), [["query"]]],
  ["paginate with nothing", (c) => c.paginate().toArray(), [[]]],
  ["paginate, gapless, without a key", (c) => c.paginate({ path: "/a" }, { gapless: true }).toArray(), [["key"]]],
  ["paginate with page 0", (c) => c.paginate({ path: "/a", query: { page: 0 } }).toArray(), [["query", "page"]]],
];

describe("wrong arguments are rejected, one issue a field, with nothing sent", () => {
  it.each(rows)("%s", async (_, call, paths) => {
    const client: InventoryClient = on.client(json(ITEM));
    const error: unknown = await Promise.resolve(call(client as unknown as Loose)).then(
      () => expect.fail("it was taken"),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(InputValidationError);
    if (!InputValidationError.is(error)) return;
    expect(error.issues.map(({ path }) => path)).toEqual(paths);
    for (const { message } of error.issues) expect(message).toMatch(/^(must|is|has|cannot|there is no|".*" cannot)/);
    expect(on.seen).toEqual([]);
    expect(on.tokens).toBe(0);
  });
});

it("the caller's objects are never changed", async () => {
  const frozen = <T extends object>(value: T): T => Object.freeze(value);
  const client = on.client((request) =>
    Response.json(request.target.includes("page=") ? envelope([]) : { shortID: "X" }),
  );
  await client.items.create(frozen({ shortID: "X", description: "d" }), frozen({ timeoutMs: 5_000 }));
  await client.items.update("X", frozen({ description: "d" }));
  await client.inventory.receive(frozen({ ...receipt }), frozen({ headers: frozen({ "X-A": "b" }) }));
  await client.items.list(frozen({ page: 1 }), frozen({ readAhead: 0 })).toArray();
  await client.request(frozen({ method: "POST", path: "/a", query: frozen({ b: 1 }), body: frozen({ c: 1 }) }));
  expect(on.seen).toHaveLength(5);
});
