import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ClientClosedError, type InventoryClient, VERSION } from "../../src/index.js";
import * as operations from "../../src/service/operations.js";
import { envelope, ITEM, LEVEL, LOT } from "../support/records.js";
import { json, service } from "./service.js";

const on = service();

type Call = (client: InventoryClient) => Promise<unknown>;

const receipt = { itemID: "BOLT-M8", units: 2.5, wid: 3, reasonCode: 1 };
const move = { itemID: "BOLT-M8", units: 1, wid: 3, shipToWid: 4 };
const PAGE = "page=1&pageSize=250";
const ALL_PARAMS = { page: 2, pageSize: 25, sort: "shortID", direction: "DESC", modifiedSince: new Date(0) } as const;

/** Reads, each with its request and the records of its response. */
const READS: [call: Call, request: string, records: unknown][] = [
  [(c) => c.items.list().toArray(), `/Item?${PAGE}`, [ITEM]],
  [(c) => c.items.list({ includeDiscontinued: true }).toArray(), `/Item/All?${PAGE}`, [ITEM]],
  [
    async (c) => (await c.items.list(ALL_PARAMS).page()).value,
    "/Item?page=2&pageSize=25&sort=shortID&direction=DESC&modifiedSince=1970-01-01T00%3A00%3A00.000Z",
    [ITEM],
  ],
  [(c) => c.items.listByCategory(3), "/Item?Category=3", [ITEM]],
  [(c) => c.items.get("A/B?c=d#e"), "/Item?key=A%2FB%3Fc%3Dd%23e&type=id", ITEM],
  [(c) => c.items.getByAlias("100% +"), "/Item?key=100%25%20%2B&type=alias", ITEM],
  [(c) => c.items.getByPartNo(7), "/Item/7", ITEM],
  [(c) => c.inventory.listLots().toArray(), `/Inventory?${PAGE}`, [LOT]],
  [(c) => c.inventory.listLots({ wid: 3 }).toArray(), `/Inventory/3?${PAGE}`, [LOT]],
  [(c) => c.inventory.listStockLevels().toArray(), `/Inventory/StockLevels?${PAGE}`, [LEVEL]],
  [(c) => c.inventory.listStockLevels({ wid: 3 }).toArray(), `/Inventory/StockLevels/3?${PAGE}`, [LEVEL]],
];

type Write = [call: Call, request: string, body: unknown, reply: unknown, result: unknown];

const item = { shortID: "BOLT-M8", uOM: "EA", category: 3 };
const created = { shortID: "BOLT-M8", status: "created" };
const updated = { shortID: "BOLT-M8", status: "updated" };
const discontinued = { shortID: "ü ✓/", status: "discontinued" };
const active = { ...ITEM, active: true };

/** Writes, and calls of `request` and `paginate`. */
const OTHERS: Write[] = [
  [(c) => c.items.create(item), "POST /Item", item, created, created],
  [(c) => c.items.create(item), "POST /Item", item, active, { ...created, item: active }],
  [(c) => c.items.create(item), "POST /Item", item, { partNo: 7, shortID: "BOLT-M8", active: true }, created],
  [(c) => c.items.update("BOLT-M8", { units: 2 }), "PUT /Item", { shortID: "BOLT-M8", units: 2 }, updated, updated],
  [(c) => c.items.discontinue("ü ✓/"), "DELETE /Item/%C3%BC%20%E2%9C%93%2F", undefined, discontinued, discontinued],
  [
    (c) => c.inventory.receive({ ...receipt, expires: new Date(0), serial: undefined }),
    "POST /Inventory/Receive",
    { ...receipt, expires: "1970-01-01T00:00:00.000Z" },
    42,
    { recNo: 42, body: 42 },
  ],
  [(c) => c.inventory.move(move), "POST /Inventory/Move", move, { moved: true }, { body: { moved: true } }],
  [
    (c) => c.inventory.issue(receipt),
    "POST /Inventory/Issue",
    receipt,
    { data: { recno: "42" } },
    { recNo: 42, body: { data: { recno: "42" } } },
  ],
  [
    (c) => c.request({ method: "PATCH", path: "/Orders/5", query: { force: true, none: undefined }, body: { a: 1 } }),
    "PATCH /Orders/5?force=true",
    { a: 1 },
    { done: 1 },
    { done: 1 },
  ],
  [
    (c) => c.request({ method: "GET", path: "/Orders/5", schema: z.object({ at: z.coerce.date() }) }),
    "GET /Orders/5",
    undefined,
    { at: "2026-01-01T00:00:00Z", more: 1 },
    { at: new Date("2026-01-01T00:00:00Z") },
  ],
  [
    (c) => c.paginate({ path: "/Orders", query: { startDate: new Date(0) }, maxPageSize: 50, key: "no" }).toArray(),
    "GET /Orders?startDate=1970-01-01T00%3A00%3A00.000Z&pageSize=50&page=1",
    undefined,
    envelope([{ no: 1 }, { no: 2 }, { no: 1 }]),
    [{ no: 1 }, { no: 2 }],
  ],
];

const replyOf = (request: string, records: unknown) =>
  request.includes("page=") ? envelope(records as unknown[], { page: request.includes("page=2") ? 2 : 1 }) : records;

describe("the client", () => {
  it.each([
    ...READS.map(
      ([call, request, records]): Write => [call, `GET ${request}`, undefined, replyOf(request, records), records],
    ),
    ...OTHERS,
  ])("%s", async (call, request, body, reply, result) => {
    const client = on.client(json(reply));
    expect(await call(client)).toEqual(result);
    expect(on.requests.map(({ method, target }) => `${method} ${target}`)).toEqual([request]);
    const [sent] = on.requests;
    expect(sent?.body && JSON.parse(sent.body)).toEqual(body ?? "");
    expect(sent?.headers["content-type"]).toBe(body === undefined ? undefined : "application/json");
    expect(sent?.headers).toMatchObject({
      authorization: "Bearer token-1",
      accept: "application/json",
      "user-agent": `stocklot/${VERSION}`,
    });
    expect(on.tokens).toBe(1);
  });

  it("has a call of each operation in these tables", () => {
    const requests = [...READS.map(([, request]) => `GET ${request}`), ...OTHERS.map(([, request]) => request)];
    const paths = requests.map((request) => request.replace(/\?.*/, ""));
    const missing = Object.values({ ...operations.READS, ...operations.WRITES }).filter(({ method, path }) => {
      const pattern = new RegExp(`^${method} ${path.replace(/\{\w+\}/g, "[^/]+")}$`);
      return !paths.some((one) => pattern.test(one));
    });
    expect(missing).toEqual([]);
  });

  it.each([
    ["a bare number", "42", { recNo: 42, body: 42 }],
    ["text", "booked", { body: "booked" }],
    ["nothing", "", { body: undefined }],
    ["broken JSON", '{"recNo":', { body: '{"recNo":' }],
  ])("accepts %s as the success of a transaction", async (_, body, result) => {
    const client = on.client(() => new Response(body, { status: 201 }));
    expect(await client.inventory.receive(receipt)).toEqual(result);
    expect(on.requests).toHaveLength(1);
  });

  it("keeps fields that the service adds later", async () => {
    const client = on.client(json(envelope([{ ...LOT, createdBy: "eve", later: { deep: [1] } }], { extra: 1 })));
    const page = await client.inventory.listLots().page();
    expect(page).toMatchObject({ extra: 1, value: [{ createdBy: "eve", later: { deep: [1] } }] });
  });

  it("rejects a page that lacks a field of the envelope", async () => {
    const { inventory, paginate } = on.client(json({ ...envelope([LOT]), hasMore: undefined }));
    for (const list of [inventory.listLots(), paginate({ path: "/Orders" })])
      await expect(list.page()).rejects.toMatchObject({ issues: [{ path: ["hasMore"] }] });
  });

  it("returns records without their key unchanged if responses are not checked", async () => {
    const odd = [{ ...LOT, recNo: undefined }, { ...LOT, recNo: undefined }, null, LOT, LOT];
    const client = on.client(json(envelope(odd)), { responseValidation: "off" });
    expect(await client.inventory.listLots().toArray()).toHaveLength(4);
  });

  it("has methods that work when they are detached", async () => {
    const client = on.client(({ target }) => json(target.includes("page=") ? envelope([LOT]) : created)());
    const { create, list } = client.items;
    const { receive, listLots } = client.inventory;
    const { request, paginate, close } = client;
    await Promise.all([create(item), receive(receipt), request({ method: "GET", path: "/Orders" })]);
    await Promise.all([listLots().page(), paginate({ path: "/Orders" }).page()]);
    await close();
    await expect(list().page()).rejects.toBeInstanceOf(ClientClosedError);
  });
});
