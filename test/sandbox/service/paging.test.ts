import { createSandbox } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { callerOf } from "../support/caller.js";

const names = (count: number) => Array.from({ length: count }, (_, index) => ({ shortID: `S${100 + index}` }));
const skus = (records: { shortID: string }[]) => records.map(({ shortID }) => shortID);

describe("the paged envelope", () => {
  const api = callerOf(createSandbox({ items: names(60), rateLimit: false }));

  it("is empty after the last page", async () => {
    const beyond = (await api.get("/Item?page=9")).body;
    expect(beyond).toEqual({ value: [], totalCount: 60, page: 9, pageSize: 25, pageCount: 3, hasMore: false });
  });

  it.each([
    "page=0",
    "page=-3",
    "page=x",
    "pageSize=0",
    "pageSize=-1",
    "pageSize=",
    "pageSize=1.5",
  ])("takes the nearest valid value for %s", async (query) => {
    const { status, body } = await api.get(`/Item?${query}`);
    expect(status).toBe(200);
    expect(body.page).toBe(1);
    expect(body.pageSize).toBeGreaterThanOrEqual(1);
  });
});

describe("sorting", () => {
  const items = [
    { shortID: "C", category: 2, units: 10 },
    { shortID: "A", category: 2, units: 9 },
    { shortID: "B", category: 1, units: 100 },
  ];
  const api = callerOf(createSandbox({ items, rateLimit: false }));

  it.each([
    ["", "ABC"],
    ["sort=shortID&direction=DESC", "CBA"],
    ["direction=DESC", "CBA"],
    ["sort=UNITS", "ACB"],
    ["sort=units&direction=desc", "BCA"],
    ["sort=category", "BCA"],
    ["sort=category&direction=DESC", "ACB"],
    ["sort=nonsense", "ABC"],
    ["sort=nonsense&direction=DESC", "ABC"],
    ["sort=units&direction=sideways", "ACB"],
  ])("with %s returns %s", async (query, expected) => {
    expect(skus((await api.get(`/Item?${query}`)).body.value).join("")).toBe(expected);
  });
});

describe("modifiedSince", () => {
  it("includes the very moment, and reads a missing offset as UTC", async () => {
    const items = ["2024-03-01T10:00:00Z", "2024-03-02T10:00:00.000Z", "2024-03-03T10:00:00Z"].map(
      (modified, index) => ({
        shortID: `S${index}`,
        modified,
      }),
    );
    const api = callerOf(createSandbox({ items }));
    const since = async (text: string) =>
      skus((await api.get(`/Item?modifiedSince=${encodeURIComponent(text)}`)).body.value);
    expect(await since("2024-03-02T10:00:00Z")).toEqual(["S1", "S2"]);
    expect(await since("2024-03-02T10:00:00")).toEqual(["S1", "S2"]);
    expect(await since("2024-03-02T10:00:00.001Z")).toEqual(["S2"]);
    expect(await since("2024-03-02T11:00:00+01:00")).toEqual(["S1", "S2"]);
    expect(await since("2024-03-02")).toEqual(["S1", "S2"]);
    expect(await since("2030-01-01T00:00:00Z")).toEqual([]);
  });

  it("sees what a write has just changed, in all three lists", async () => {
    let now = Date.UTC(2030, 0, 1);
    const api = callerOf(createSandbox({ now: () => now, rateLimit: false, items: 20, lots: 100 }));
    const sku = (await api.get("/Item?pageSize=1")).body.value[0].shortID;
    const since = `modifiedSince=${new Date(now).toISOString()}`;
    const counts = () =>
      Promise.all(
        ["/Item", "/Inventory", "/Inventory/StockLevels"].map(async (path) => {
          return (await api.get(`${path}?${since}`)).body.totalCount;
        }),
      );
    expect(await counts()).toEqual([0, 0, 0]);
    now += 5;
    await api.put("/Item", { shortID: sku, putUp: "Crate" });
    expect(await counts()).toEqual([1, 0, 0]);
    await api.post("/Inventory/Receive", { itemID: sku, units: 3, wid: 1, reasonCode: 1 });
    expect(await counts()).toEqual([1, 1, 1]);
  });

  it("is ignored where the options say so, and refused when it is no datetime", async () => {
    const api = callerOf(createSandbox({ modifiedSinceOn: ["items"] }));
    expect((await api.get("/Inventory?modifiedSince=2999-01-01")).body.totalCount).toBe(2000);
    expect(await api.get("/Item?modifiedSince=yesterday")).toMatchObject({
      status: 400,
      body: { error: "validation_error", details: { modifiedSince: [expect.any(String)] } },
    });
  });
});
