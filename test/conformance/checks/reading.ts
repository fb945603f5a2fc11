import assert from "node:assert/strict";
import { assertError, assertPage, assertShape, ITEM, LOT, STOCK_LEVEL } from "../shape.js";
import type { Check, Target } from "../target.js";

const firstItem = async (service: Target) => (await service.get("/Item?pageSize=1")).body.value[0];
const firstLot = async (service: Target) => (await service.get("/Inventory?pageSize=1")).body.value[0];

export const READING: readonly Check[] = [
  {
    paragraph: "GET /Item",
    name: "returns active items only, sorted by ShortID",
    async run(service) {
      const { value } = assertPage(await service.get("/Item?pageSize=250"), ITEM);
      const skus = value.map(({ shortID }: { shortID: string }) => shortID);
      // The document does not say how texts are sorted: by code unit, or regardless of case.
      const ordered = [[...skus].sort(), [...skus].sort((a, b) => a.localeCompare(b, "en"))];
      assert.ok(ordered.some((order) => JSON.stringify(order) === JSON.stringify(skus)));
      for (const item of value) assert.equal(item.discontinued, false);
    },
  },
  {
    paragraph: "GET /Item",
    name: "GET /Item/All includes discontinued items",
    async run(service) {
      const active = (await service.get("/Item?pageSize=1")).body.totalCount;
      assert.ok((await service.get("/Item/All?pageSize=1")).body.totalCount >= active);
    },
  },
  {
    paragraph: "GET /Item",
    name: "type=id and the quick-start form return the full item without an envelope",
    async run(service) {
      const item = await firstItem(service);
      const byKey = await service.get(`/Item?key=${encodeURIComponent(item.shortID)}&type=id`);
      assert.equal(byKey.status, 200);
      assertShape(byKey.body, ITEM);
      assert.equal(byKey.body.partNo, item.partNo);
      const byPartNo = await service.get(`/Item/${item.partNo}`);
      assertShape(byPartNo.body, ITEM);
      assert.equal(byPartNo.body.shortID, item.shortID);
    },
  },
  {
    paragraph: "GET /Item",
    name: "an unknown ShortID, alias or part number yields 404",
    async run(service) {
      assertError(await service.get("/Item?key=CONFORMANCE-NOBODY&type=id"), 404, "not_found");
      assertError(await service.get("/Item?key=CONFORMANCE-NOBODY&type=alias"), 404, "not_found");
      assertError(await service.get("/Item/2147483646"), 404, "not_found");
    },
  },
  {
    paragraph: "GET /Item",
    name: "Category returns a flat array of the category's items",
    async run(service) {
      const { category, shortID } = await firstItem(service);
      const { status, body } = await service.get(`/Item?Category=${category}`);
      assert.equal(status, 200);
      assert.ok(Array.isArray(body));
      for (const item of body) {
        assertShape(item, ITEM);
        assert.equal(item.category, category);
      }
      assert.ok(body.some((item) => item.shortID === shortID));
    },
  },
  {
    paragraph: "GET /Inventory",
    name: "lists lots most recent first",
    async run(service) {
      const { value } = assertPage(await service.get("/Inventory?pageSize=250"), LOT);
      const times = value.map(({ received }: { received: string }) => Date.parse(received));
      assert.deepEqual(
        times,
        [...times].sort((a, b) => b - a),
      );
    },
  },
  {
    paragraph: "GET /Inventory/{wid}",
    name: "lists the lots of that warehouse only",
    async run(service) {
      const { wID, warehouse } = await firstLot(service);
      const page = assertPage(await service.get(`/Inventory/${wID}?pageSize=250`), LOT);
      assert.ok(page.totalCount > 0);
      for (const lot of page.value) assert.deepEqual([lot.wID, lot.warehouse], [wID, warehouse]);
      assert.ok(page.totalCount <= (await service.get("/Inventory?pageSize=1")).body.totalCount);
    },
  },
  {
    paragraph: "Stock level object",
    name: "available is inStock less onHold, committed and packed, in all warehouses and in one",
    async run(service) {
      const { wID } = await firstLot(service);
      for (const path of ["/Inventory/StockLevels", `/Inventory/StockLevels/${wID}`]) {
        const { value } = assertPage(await service.get(`${path}?pageSize=250`), STOCK_LEVEL);
        assert.ok(value.length > 0);
        for (const level of value) {
          const rest = level.inStock - level.onHold - level.committed - level.packed;
          assert.ok(Math.abs(level.available - rest) < 1e-6, JSON.stringify(level));
        }
      }
    },
  },
];
