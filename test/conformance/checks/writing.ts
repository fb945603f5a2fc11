import assert from "node:assert/strict";
import { assertError, assertInvalid } from "../shape.js";
import type { Check, ServiceResponse, Target } from "../target.js";

let serial = 0;

/** A SKU that nobody has, with characters that a path has to encode. */
const newSku = () => `CONF/${Date.now().toString(36)}-${(serial++).toString(36)} ?%#+ü`;

const bySku = (service: Target, sku: string) => service.get(`/Item?key=${encodeURIComponent(sku)}&type=id`);

async function createItem(service: Target): Promise<string> {
  const sku = newSku();
  const { status, text } = await service.post("/Item", { shortID: sku, description: "Conformance check", uOM: "KG" });
  assert.equal(status, 201, text);
  return sku;
}

async function someWarehouse(service: Target): Promise<number> {
  return (await service.get("/Inventory?pageSize=1")).body.value[0].wID;
}

async function succeed(response: Promise<ServiceResponse>): Promise<void> {
  const { status, text } = await response;
  assert.ok(status === 200 || status === 201, `status ${status}: ${text}`);
}

/** How much of the item is in stock in the warehouse. */
async function inStock(service: Target, sku: string, wid: number): Promise<number> {
  const { partNo } = (await bySku(service, sku)).body;
  for (let page = 1; ; page += 1) {
    const { value, hasMore } = (await service.get(`/Inventory/StockLevels/${wid}?pageSize=250&page=${page}`)).body;
    const level = value.find((each: { partNo: number }) => each.partNo === partNo);
    if (level || !hasMore) return level?.inStock ?? 0;
  }
}

export const WRITING: readonly Check[] = [
  {
    paragraph: "POST /Item (create)",
    name: "creates an active item with a part number, and responds with 201 in one of two forms",
    async run(service) {
      const sku = newSku();
      const { status, body } = await service.post("/Item", { shortID: sku, description: "Conformance check" });
      assert.equal(status, 201);
      assert.equal(body.shortID, sku);
      if (body.partNo === undefined) assert.equal(body.status, "created");
      else assert.equal(body.active, true);
      const item = (await bySku(service, sku)).body;
      assert.deepEqual([item.discontinued, item.description], [false, "Conformance check"]);
      assert.ok(Number.isInteger(item.partNo));
    },
  },
  {
    paragraph: "POST /Item (create)",
    name: "refuses a missing ShortID with 400, and one that exists with 400 or 409",
    async run(service) {
      assert.equal((await service.post("/Item", { description: "none" })).status, 400);
      const again = await service.post("/Item", { shortID: await createItem(service) });
      assertError(again, again.status === 409 ? 409 : 400, again.status === 409 ? "conflict" : "bad_request");
    },
  },
  {
    paragraph: "PUT /Item (update)",
    name: "changes what is sent, keeps the rest, and preserves partNo and created whatever is sent",
    async run(service) {
      const sku = await createItem(service);
      const before = (await bySku(service, sku)).body;
      const changes = { shortID: sku, description: "Changed", partNo: 1, created: "1999-01-01T00:00:00Z" };
      const { status, body } = await service.put("/Item", changes);
      assert.deepEqual([status, body.shortID, body.status], [200, sku, "updated"]);
      const after = (await bySku(service, sku)).body;
      assert.deepEqual({ ...after, modified: "" }, { ...before, description: "Changed", modified: "" });
      assert.ok(Date.parse(after.modified) >= Date.parse(before.modified));
    },
  },
  {
    paragraph: "PUT /Item (update)",
    name: "refuses a missing ShortID and a malformed body with 400, and an unknown item with 404",
    async run(service) {
      assert.equal((await service.put("/Item", { description: "none" })).status, 400);
      const headers = { ...(await service.authorization()), "content-type": "application/json" };
      assert.equal((await service.raw("/Item", { method: "PUT", headers, body: "{" })).status, 400);
      assertError(await service.put("/Item", { shortID: "CONFORMANCE-NOBODY" }), 404, "not_found");
    },
  },
  {
    paragraph: "States and transitions",
    name: "DELETE /Item/{shortID} discontinues: out of GET /Item, still in GET /Item/All",
    async run(service) {
      const sku = await createItem(service);
      const [active, all] = [await total(service, "/Item"), await total(service, "/Item/All")];
      const { status, body } = await service.delete(`/Item/${encodeURIComponent(sku)}`);
      assert.deepEqual([status, body.shortID, body.status], [200, sku, "discontinued"]);
      assert.deepEqual([await total(service, "/Item"), await total(service, "/Item/All")], [active - 1, all]);
      assert.equal((await bySku(service, sku)).body.discontinued, true);
      assertError(await service.delete("/Item/CONFORMANCE-NOBODY"), 404, "not_found");
    },
  },
  {
    paragraph: "POST /Inventory/Receive",
    name: "validates: all required fields, units above 0",
    async run(service) {
      assertInvalid(await service.post("/Inventory/Receive", {}), ["itemID", "wid", "reasonCode"]);
      const zero = { itemID: "X", units: 0, wid: 1, reasonCode: service.reasonCode };
      assertInvalid(await service.post("/Inventory/Receive", zero), ["units"]);
      assertInvalid(await service.post("/Inventory/Issue", { ...zero, units: -1 }), ["units"]);
      assertInvalid(await service.post("/Inventory/Move", {}), ["itemID", "wid"]);
    },
  },
  {
    paragraph: "POST /Inventory/Receive, Move, Issue",
    name: "stock goes up, moves and goes down without drifting",
    async run(service) {
      const { reasonCode } = service;
      const [sku, wid] = [await createItem(service), await someWarehouse(service)];
      const receive = { itemID: sku, wid, reasonCode, spot: "CONF-1", serial: "C1" };
      for (const units of [0.1, 0.2]) await succeed(service.post("/Inventory/Receive", { ...receive, units }));
      assert.equal(await inStock(service, sku, wid), 0.3);
      const move = { itemID: sku, wid, units: 0.15, fromSpot: "CONF-1", toSpot: "CONF-2" };
      await succeed(service.post("/Inventory/Move", move));
      assert.equal(await inStock(service, sku, wid), 0.3);
      const issue = { itemID: sku, wid, reasonCode };
      const excess = await service.post("/Inventory/Issue", { ...issue, units: 0.31 });
      assert.ok(excess.status >= 400 && excess.status < 500, `status ${excess.status} for more than there is`);
      await succeed(service.post("/Inventory/Issue", { ...issue, units: 0.15, spot: "CONF-2" }));
      assert.equal(await inStock(service, sku, wid), 0.15);
      await succeed(service.post("/Inventory/Issue", { ...issue, units: 0.15 }));
      assert.equal(await inStock(service, sku, wid), 0);
    },
  },
  {
    paragraph: "POST /Inventory/Move",
    name: "shipToWid moves between warehouses",
    async run(service) {
      const lots = (await service.get("/Inventory?pageSize=250")).body.value;
      const [wid, shipToWid] = new Set<number>(lots.map(({ wID }: { wID: number }) => wID));
      assert.ok(wid !== undefined && shipToWid !== undefined);
      const itemID = await createItem(service);
      const { reasonCode } = service;
      await succeed(service.post("/Inventory/Receive", { itemID, units: 5, wid, reasonCode }));
      await succeed(service.post("/Inventory/Move", { itemID, units: 2, wid, shipToWid, transitSlip: "CONF" }));
      assert.deepEqual([await inStock(service, itemID, wid), await inStock(service, itemID, shipToWid)], [3, 2]);
      for (const [from, units] of [[wid, 3] as const, [shipToWid, 2] as const]) {
        await succeed(service.post("/Inventory/Issue", { itemID, units, wid: from, reasonCode }));
      }
    },
  },
];

async function total(service: Target, path: string): Promise<number> {
  return (await service.get(`${path}?pageSize=1`)).body.totalCount;
}
