import { createSandbox } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { callerOf } from "../support/caller.js";

const UNAUTHORIZED = { statusCode: 401, error: "unauthorized", message: expect.any(String) };

describe("tokens", () => {
  it("are requested as a form, with the right grant", async () => {
    const api = callerOf(createSandbox());
    expect(await api.requestToken({ grant_type: "password" })).toMatchObject({
      status: 400,
      body: { statusCode: 400, error: "bad_request" },
    });
    expect((await api.requestToken({ client_id: "" })).status).toBe(400);
    const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await api.raw("/Token", json)).status).toBe(400);
  });

  it("expire when their time is over on the sandbox's clock", async () => {
    let now = Date.UTC(2025, 5, 1);
    const api = callerOf(createSandbox({ tokenTtlSeconds: 60, now: () => now }));
    expect((await api.get("/Item")).status).toBe(200);
    now += 59_999;
    expect((await api.get("/Item")).status).toBe(200);
    now += 1;
    expect(await api.get("/Item")).toMatchObject({ status: 401, body: UNAUTHORIZED });
  });
});

describe("permissions", () => {
  const WRITE = { itemID: "A", units: 1, wid: 1, reasonCode: 1, shortID: "A" };
  const ACTIONS = [
    ["GET", "/Item", 11],
    ["GET", "/Item/All", 11],
    ["GET", "/Item?key=A&type=id", 11],
    ["GET", "/Inventory", 11],
    ["GET", "/Inventory/StockLevels/1", 11],
    ["POST", "/Item", 116],
    ["PUT", "/Item", 116],
    ["DELETE", "/Item/A", 116],
    ["POST", "/Inventory/Receive", 95],
    ["POST", "/Inventory/Move", 15],
    ["POST", "/Inventory/Issue", 88],
  ] as const;

  it.each(ACTIONS)("%s %s needs security ID %i", async (method, path, permission) => {
    const ask = async (permissions: number[]) => {
      const client = { clientId: "c", clientSecret: "s", permissions };
      const lots = [{ shortID: "A", units: 5 }];
      const api = callerOf(createSandbox({ clients: [client], lots }));
      const headers = { ...(await api.authorization()), "content-type": "application/json" };
      return api.raw(path, { method, headers, ...(method.startsWith("P") && { body: JSON.stringify(WRITE) }) });
    };
    const all = [11, 116, 95, 15, 88];
    const without = await ask(all.filter((each) => each !== permission));
    expect([without.status, without.body]).toEqual([
      403,
      { statusCode: 403, error: "forbidden", message: "Insufficient permissions." },
    ]);
    expect((await ask([permission])).status).not.toBe(403);
  });
});

it.each([
  "/Inventory/99",
  "/Inventory/99999999999999999999",
  "/Inventory/StockLevels/9007199254740993",
])("a warehouse that does not exist is out of scope, however large its number: %s", async (path) => {
  expect((await callerOf(createSandbox()).get(path)).body).toEqual({
    statusCode: 403,
    error: "forbidden",
    message: "Warehouse is outside the client's authorized scope.",
  });
});
