import { HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type InventoryClient, VERSION } from "../../src/index.js";
import { envelope, ITEM, LEVEL, LOT } from "../support/records.js";
import { json, service } from "./service.js";

const on = service();

type Row = [
  what: string,
  call: (client: InventoryClient) => Promise<unknown>,
  request: string,
  body: unknown,
  reply: unknown,
  result: unknown,
];

const receipt = { itemID: "BOLT-M8", units: 2.5, wid: 3, reasonCode: 1 };
const PAGE = "page=1&pageSize=250";

const rows: Row[] = [
  ["lists items", (c) => c.items.list().toArray(), `GET /Item?${PAGE}`, "", envelope([ITEM]), [ITEM]],
  [
    "lists discontinued items too",
    (c) => c.items.list({ includeDiscontinued: true }).toArray(),
    `GET /Item/All?${PAGE}`,
    "",
    envelope([ITEM]),
    [ITEM],
  ],
  [
    "passes on all paging parameters",
    (c) =>
      c.items.list({ page: 2, pageSize: 25, sort: "shortID", direction: "DESC", modifiedSince: new Date(0) }).page(),
    "GET /Item?page=2&pageSize=25&sort=shortID&direction=DESC&modifiedSince=1970-01-01T00%3A00%3A00.000Z",
    "",
    envelope([ITEM], { page: 2 }),
    envelope([ITEM], { page: 2 }),
  ],
  ["lists a category", (c) => c.items.listByCategory(3), "GET /Item?Category=3", "", [ITEM], [ITEM]],
  ["gets an item by SKU", (c) => c.items.get("A/B?c=d#e"), "GET /Item?key=A%2FB%3Fc%3Dd%23e&type=id", "", ITEM, ITEM],
  [
    "gets an item by alias",
    (c) => c.items.getByAlias("100% +"),
    "GET /Item?key=100%25%20%2B&type=alias",
    "",
    ITEM,
    ITEM,
  ],
  ["gets an item by part number", (c) => c.items.getByPartNo(7), "GET /Item/7", "", ITEM, ITEM],
  [
    "creates an item, with a reference as the response",
    (c) => c.items.create({ shortID: "BOLT-M8", uOM: "EA", category: 3 }),
    "POST /Item",
    { shortID: "BOLT-M8", uOM: "EA", category: 3 },
    { shortID: "BOLT-M8", status: "created" },
    { shortID: "BOLT-M8", status: "created" },
  ],
  [
    "creates an item, with the item as the response",
    (c) => c.items.create({ shortID: "BOLT-M8" }),
    "POST /Item",
    { shortID: "BOLT-M8" },
    { ...ITEM, active: true },
    { shortID: "BOLT-M8", status: "created", item: { ...ITEM, active: true } },
  ],
  [
    "creates an item, with part of the item as the response",
    (c) => c.items.create({ shortID: "BOLT-M8" }),
    "POST /Item",
    { shortID: "BOLT-M8" },
    { partNo: 7, shortID: "BOLT-M8", active: true },
    { shortID: "BOLT-M8", status: "created" },
  ],
  [
    "updates an item",
    (c) => c.items.update("BOLT-M8", { description: "Bolt" }),
    "PUT /Item",
    { shortID: "BOLT-M8", description: "Bolt" },
    { shortID: "BOLT-M8", status: "updated" },
    { shortID: "BOLT-M8", status: "updated" },
  ],
  [
    "discontinues an item",
    (c) => c.items.discontinue("ü ✓/"),
    "DELETE /Item/%C3%BC%20%E2%9C%93%2F",
    "",
    { shortID: "ü ✓/", status: "discontinued" },
    { shortID: "ü ✓/", status: "discontinued" },
  ],
  ["lists lots", (c) => c.inventory.listLots().toArray(), `GET /Inventory?${PAGE}`, "", envelope([LOT]), [LOT]],
  [
    "lists the lots of a warehouse",
    (c) => c.inventory.listLots({ wid: 3 }).toArray(),
    `GET /Inventory/3?${PAGE}`,
    "",
    envelope([LOT]),
    [LOT],
  ],
  [
    "lists stock levels",
    (c) => c.inventory.listStockLevels().toArray(),
    `GET /Inventory/StockLevels?${PAGE}`,
    "",
    envelope([LEVEL]),
    [LEVEL],
  ],
  [
    "lists the stock levels of a warehouse",
    (c) => c.inventory.listStockLevels({ wid: 3 }).toArray(),
    `GET /Inventory/StockLevels/3?${PAGE}`,
    "",
    envelope([LEVEL]),
    [LEVEL],
  ],
  [
    "receives",
    (c) => c.inventory.receive({ ...receipt, expires: new Date(0), serial: undefined }),
    "POST /Inventory/Receive",
    { ...receipt, expires: "1970-01-01T00:00:00.000Z" },
    42,
    { recNo: 42, body: 42 },
  ],
  [
    "moves",
    (c) => c.inventory.move({ itemID: "BOLT-M8", units: 1, wid: 3, shipToWid: 4 }),
    "POST /Inventory/Move",
    { itemID: "BOLT-M8", units: 1, wid: 3, shipToWid: 4 },
    { moved: true },
    { body: { moved: true } },
  ],
  [
    "issues",
    (c) => c.inventory.issue(receipt),
    "POST /Inventory/Issue",
    receipt,
    { data: { recno: "42" } },
    { recNo: 42, body: { data: { recno: "42" } } },
  ],
  [
    "sends any request",
    (c) => c.request({ method: "PATCH", path: "/Orders/5", query: { force: true, none: undefined }, body: { a: 1 } }),
    "PATCH /Orders/5?force=true",
    { a: 1 },
    { done: 1 },
    { done: 1 },
  ],
  [
    "validates the response to any request with a schema",
    (c) => c.request({ method: "GET", path: "/Orders/5", schema: z.object({ at: z.coerce.date() }) }),
    "GET /Orders/5",
    "",
    { at: "2026-01-01T00:00:00Z", more: 1 },
    { at: new Date("2026-01-01T00:00:00Z") },
  ],
  [
    "pages through any list",
    (c) =>
      c
        .paginate({
          path: "/Orders",
          query: { startDate: new Date(0) },
          maxPageSize: 50,
          schema: z.object({ no: z.number() }),
          key: "no",
        })
        .toArray(),
    "GET /Orders?startDate=1970-01-01T00%3A00%3A00.000Z&pageSize=50&page=1",
    "",
    envelope([{ no: 1 }, { no: 2 }, { no: 1 }]),
    [{ no: 1 }, { no: 2 }],
  ],
];

describe("the client", () => {
  it.each(rows)("%s", async (_, call, request, body, reply, result) => {
    const client = on.client(json(reply));
    expect(await call(client)).toEqual(result);
    expect(on.requests.map(({ method, target }) => `${method} ${target}`)).toEqual([request]);
    const [sent] = on.requests;
    if (body === "") expect(sent?.body).toBe("");
    else expect(JSON.parse(sent?.body ?? "")).toEqual(body);
    expect(sent?.headers["content-type"]).toBe(body === "" ? undefined : "application/json");
    expect(sent?.headers).toMatchObject({
      authorization: "Bearer token-1",
      accept: "application/json",
      "user-agent": `stocklot/${VERSION}`,
    });
    expect(on.tokens).toBe(1);
  });

  it.each([
    ["a bare number", "42", { recNo: 42, body: 42 }],
    ["text", "booked", { body: "booked" }],
    ["nothing", "", { body: undefined }],
    ["broken JSON", '{"recNo":', { body: '{"recNo":' }],
  ])("accepts %s as the success of a transaction", async (_, body, result) => {
    const client = on.client(() => new HttpResponse(body, { status: 201 }));
    expect(await client.inventory.receive(receipt)).toEqual(result);
    expect(on.requests).toHaveLength(1);
  });

  it("keeps fields that the service adds later", async () => {
    const client = on.client(json(envelope([{ ...LOT, createdBy: "eve", later: { deep: [1] } }], { extra: 1 })));
    const page = await client.inventory.listLots().page();
    expect(page).toMatchObject({ extra: 1, value: [{ createdBy: "eve", later: { deep: [1] } }] });
  });

  it("returns records without their key unchanged if responses are not checked", async () => {
    const odd = [{ ...LOT, recNo: undefined }, { ...LOT, recNo: undefined }, null, LOT, LOT];
    const client = on.client(json(envelope(odd)), { responseValidation: "off" });
    expect(await client.inventory.listLots().toArray()).toHaveLength(4);
  });
});
