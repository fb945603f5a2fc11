import assert from "node:assert/strict";
import { assertError } from "../shape.js";
import type { Check } from "../target.js";

const paragraph = "Authentication";

export const AUTHENTICATION: readonly Check[] = [
  {
    paragraph: "Token response",
    name: "POST /Token returns access_token, token_type bearer and expires_in",
    async run(service) {
      const { status, body } = await service.requestToken();
      assert.equal(status, 200);
      assert.match(body.access_token, /^\S+$/);
      assert.equal(String(body.token_type).toLowerCase(), "bearer");
      assert.ok(Number(body.expires_in) > 0);
    },
  },
  {
    paragraph: "POST /Token",
    name: "wrong credentials get no token",
    async run(service) {
      const { status, body } = await service.requestToken({ client_secret: "certainly-not-this" });
      assert.ok([400, 401, 403].includes(status), `status ${status}`);
      assert.equal(body?.access_token, undefined);
    },
  },
  {
    paragraph,
    name: "a missing token yields 401 unauthorized",
    async run(service) {
      for (const path of ["/Item", "/Item/All", "/Inventory", "/Inventory/StockLevels"]) {
        assertError(await service.raw(path), 401, "unauthorized");
      }
    },
  },
  {
    paragraph,
    name: "an invalid token yields 401 unauthorized",
    async run(service) {
      const headers = { authorization: "Bearer certainly-not-a-token" };
      assertError(await service.raw("/Item", { headers }), 401, "unauthorized");
    },
  },
  {
    paragraph,
    name: "a read-only client may read, and gets 403 on every write",
    async run(service) {
      const client = service.as("readOnlyClient");
      assert.equal((await client.get("/Item?pageSize=1")).status, 200);
      const message = "Account is read-only.";
      const sku = "CONFORMANCE-READ-ONLY";
      assertError(await client.post("/Item", { shortID: sku }), 403, "forbidden", message);
      assertError(await client.put("/Item", { shortID: sku }), 403, "forbidden", message);
      assertError(await client.delete(`/Item/${sku}`), 403, "forbidden", message);
      const transaction = { itemID: sku, units: 1, wid: 1, reasonCode: service.reasonCode };
      for (const kind of ["Receive", "Move", "Issue"]) {
        assertError(await client.post(`/Inventory/${kind}`, transaction), 403, "forbidden", message);
      }
    },
  },
  {
    paragraph,
    name: "a warehouse outside the scope yields 403, for reading and for writing",
    async run(service) {
      const client = service.as("scopedClient");
      const all = (await service.get("/Inventory?pageSize=250")).body.value;
      const own = (await client.get("/Inventory?pageSize=250")).body.value;
      const inside = new Set(own.map(({ wID }: { wID: number }) => wID));
      const foreign = all.find(({ wID }: { wID: number }) => !inside.has(wID));
      assert.ok(foreign, "the scoped client should not see every warehouse");
      const message = "Warehouse is outside the client's authorized scope.";
      assertError(await client.get(`/Inventory/${foreign.wID}`), 403, "forbidden", message);
      assertError(await client.get(`/Inventory/StockLevels/${foreign.wID}`), 403, "forbidden", message);
      const { reasonCode } = service;
      const transaction = { itemID: foreign.shortID, units: 0.001, wid: foreign.wID, reasonCode };
      for (const kind of ["Receive", "Move", "Issue"]) {
        assertError(await client.post(`/Inventory/${kind}`, transaction), 403, "forbidden", message);
      }
      const [wid] = inside;
      const move = { ...transaction, wid, shipToWid: foreign.wID };
      assertError(await client.post("/Inventory/Move", move), 403, "forbidden", message);
    },
  },
  {
    paragraph,
    name: "a missing permission yields 403",
    async run(service) {
      const client = service.as("powerlessClient");
      const message = "Insufficient permissions.";
      for (const path of ["/Item", "/Item/All", "/Inventory", "/Inventory/StockLevels"]) {
        assertError(await client.get(path), 403, "forbidden", message);
      }
      const sku = "CONFORMANCE-POWERLESS";
      const transaction = { itemID: sku, units: 1, wid: 1, reasonCode: service.reasonCode };
      assertError(await client.post("/Item", { shortID: sku }), 403, "forbidden", message);
      assertError(await client.put("/Item", { shortID: sku }), 403, "forbidden", message);
      assertError(await client.delete(`/Item/${sku}`), 403, "forbidden", message);
      for (const kind of ["Receive", "Move", "Issue"]) {
        assertError(await client.post(`/Inventory/${kind}`, transaction), 403, "forbidden", message);
      }
    },
  },
];
