import { createSandbox } from "stocklot/sandbox";
import { beforeEach, describe, expect, it } from "vitest";
import { newItem } from "../../support/records.js";
import { type Caller, callerOf } from "../support/caller.js";

const START = Date.UTC(2025, 2, 3, 9);

const OPTIONS = {
  now: () => START,
  items: [
    { shortID: "BOLT-8", partNo: 7, description: "Bolt", category: 10, created: "2024-01-01T00:00:00Z" },
    { shortID: "NUT-8", category: 10, uOM: "KG" },
    { shortID: "OLD-1", category: 10, discontinued: true },
    { shortID: "PIPE-2", category: 20 },
  ],
  aliases: { "VND 55/A": "PIPE-2" },
};

let api: Caller;
beforeEach(() => {
  api = callerOf(createSandbox(OPTIONS));
});

const skus = (records: { shortID: string }[]) => records.map(({ shortID }) => shortID);

describe("reading items", () => {
  it("returns every field of the document and no other", async () => {
    const dates = { created: "2024-01-01T00:00:00Z", modified: "2024-01-01T00:00:00Z" };
    const item = newItem({ partNo: 7, shortID: "BOLT-8", description: "Bolt", category: 10, ...dates });
    expect((await api.get("/Item/7")).body).toEqual(item);
  });

  it("responds with 400 to a key without a type, a type without a key and a category that is no number", async () => {
    for (const path of ["/Item?key=A", "/Item?type=id", "/Item?key=A&type=sku", "/Item?Category=tools"]) {
      expect(await api.get(path), path).toMatchObject({ status: 400, body: { error: "bad_request" } });
    }
  });
});

describe("creating items", () => {
  it("responds with a reference, or with the full item and `active`", async () => {
    const created = await api.post("/Item", { shortID: "NEW", description: "New", uOM: "KG", category: 3 });
    expect([created.status, created.body]).toEqual([201, { shortID: "NEW", status: "created" }]);

    const full = callerOf(createSandbox({ ...OPTIONS, createForm: "item" }));
    const { status, body } = await full.post("/Item", { shortID: "NEW", partNo: 1, created: "1999-01-01" });
    expect(status).toBe(201);
    expect(body).toMatchObject({ shortID: "NEW", partNo: 1004, active: true, created: new Date(START).toISOString() });
    expect(body).not.toHaveProperty("status");
  });

  it("accepts the names of the quick start", async () => {
    const quick = { shortID: "Q", unit: "M", categoryID: 9 };
    await api.post("/Item", quick);
    expect((await api.get("/Item?key=Q&type=id")).body).toMatchObject({ uOM: "M", category: 9 });
  });

  it("names every field that is missing or wrong", async () => {
    const { status, body } = await api.post("/Item", { category: "10", units: "many" });
    expect(status).toBe(400);
    expect(body).toEqual({
      statusCode: 400,
      error: "validation_error",
      message: "Model validation failed.",
      details: {
        shortID: ["The shortID field is required."],
        category: ["The field category is not valid (Invalid input: expected number, received string)."],
        units: ["The field units is not valid (Invalid input: expected number, received string)."],
      },
    });
    expect((await api.post("/Item", { shortID: "  " })).body.details).toHaveProperty("shortID");
  });
});

describe("updating items", () => {
  it("shows the new description in the item's lots and keeps their order right", async () => {
    const lots = [{ shortID: "BOLT-8" }, { shortID: "NUT-8", description: "M" }];
    const both = callerOf(createSandbox({ ...OPTIONS, lots }));
    const order = async () => skus((await both.get("/Inventory?sort=description")).body.value);
    expect(await order()).toEqual(["BOLT-8", "NUT-8"]);
    await both.put("/Item", { shortID: "BOLT-8", description: "Zinc bolt" });
    expect(await order()).toEqual(["NUT-8", "BOLT-8"]);
    expect((await both.get("/Inventory?sort=shortID")).body.value[0].description).toBe("Zinc bolt");
  });

  it("keeps lists sorted by a changed column in order", async () => {
    const bySort = async () => skus((await api.get("/Item?sort=description&direction=desc")).body.value);
    expect(await bySort()).toEqual(["BOLT-8", "PIPE-2", "NUT-8"]);
    await api.put("/Item", { shortID: "NUT-8", description: "Zebra nut" });
    expect(await bySort()).toEqual(["NUT-8", "BOLT-8", "PIPE-2"]);
  });
});

describe("SKUs with unusual characters", () => {
  const SKUS = ["A/B?c=d#e", "100%", "ü ✓", "+", "%2F", "All", "x".repeat(300), "\u{1F4A1}"];

  it.each(SKUS)("%s is the same in path, query and body", async (sku) => {
    expect((await api.post("/Item", { shortID: sku })).status).toBe(201);
    const found = await api.get(`/Item?key=${encodeURIComponent(sku)}&type=id`);
    expect(found.body.shortID).toBe(sku);
    expect((await api.delete(`/Item/${encodeURIComponent(sku)}`)).body).toEqual({
      shortID: sku,
      status: "discontinued",
    });
  });
});
