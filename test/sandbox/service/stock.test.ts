import { describe, expect, it } from "vitest";
import type { Caller } from "../support/caller.js";
import { NOW, open, receipt } from "../support/stock.js";

const lotsBy = async (api: Caller, column = "recNo") => (await api.get(`/Inventory?sort=${column}`)).body.value;

describe("receiving", () => {
  it("creates a lot with what was sent, most recent first in the list", async () => {
    const api = open({ lots: [{ shortID: "A", received: "2025-01-01T00:00:00Z" }] });
    const sent = receipt(2.5, { spot: "B-1", serial: "L1", serial2: "x", rfidTag: "E1", remark: "r", jobid: 5001 });
    const { status, body } = await api.post("/Inventory/Receive", sent);
    expect([status, body]).toEqual([201, { recNo: 100_002, status: "received" }]);
    expect((await api.get("/Inventory")).body.value[0]).toEqual({
      recNo: 100_002,
      partNo: 1001,
      shortID: "A",
      description: "Thing",
      associate: "",
      warehouse: "Central",
      wID: 1,
      spot: "B-1",
      units: 2.5,
      received: new Date(NOW).toISOString(),
      shipped: null,
      serial: "L1",
      serial2: "x",
      rFIDTag: "E1",
      remark: "r",
      hold: false,
      jobID: 5001,
      jobName: "Harbour crane refit",
      active: true,
    });
  });

  it("names every field that is wrong", async () => {
    expect((await open().post("/Inventory/Receive", receipt(0, { expires: "soon" }))).body.details).toEqual({
      units: ["The field units is not valid (Too small: expected number to be >0)."],
      expires: ["The field expires is not valid (must be a datetime (ISO 8601))."],
    });
  });
});

describe("issuing", () => {
  const lots = [
    { shortID: "A", recNo: 1, units: 3, received: "2025-01-03T00:00:00Z", spot: "S1", serial: "X" },
    { shortID: "A", recNo: 2, units: 5, received: "2025-01-01T00:00:00Z", spot: "S2", rFIDTag: "E9" },
    { shortID: "A", recNo: 3, units: 7, received: "2025-01-02T00:00:00Z", spot: "S1", serial2: "Y" },
    { shortID: "A", recNo: 4, units: 9, received: "2024-01-01T00:00:00Z", wID: 2 },
    { shortID: "A", recNo: 5, units: 9, received: "2024-01-01T00:00:00Z", shipped: "2024-02-01T00:00:00Z" },
    { shortID: "A", recNo: 6, units: 9, received: "2024-01-01T00:00:00Z", active: false },
  ];
  const units = async (api: Caller) => (await lotsBy(api)).map((lot: { units: number }) => lot.units);

  it("issues from the oldest lots first and ships those that are used up", async () => {
    const api = open({ lots });
    const { status, body } = await api.post("/Inventory/Issue", receipt(6));
    expect([status, body]).toEqual([200, { recNo: 2, status: "issued" }]);
    expect(await units(api)).toEqual([3, 0, 6, 9, 9, 9]);
    const [first, second] = await lotsBy(api);
    expect(second.shipped).toBe(new Date(NOW).toISOString());
    expect(first.shipped).toBeNull();
  });

  it.each([
    [{ spot: "S1" }, [2, 5, 0, 9, 9, 9], 4 + 4],
    [{ serial: "X" }, [1, 5, 7, 9, 9, 9], 2],
    [{ serial2: "Y" }, [3, 5, 5, 9, 9, 9], 2],
    [{ rfidTag: "E9" }, [3, 3, 7, 9, 9, 9], 2],
    [{ recno: 1 }, [1, 5, 7, 9, 9, 9], 2],
  ])("takes only from lots that fit %j", async (selection, expected, amount) => {
    const api = open({ lots });
    expect((await api.post("/Inventory/Issue", receipt(amount, selection))).status).toBe(200);
    expect(await units(api)).toEqual(expected);
  });

  it.each([
    ["more than there is", { units: 15.001 }],
    ["from a lot of another warehouse", { units: 1, recno: 4 }],
    ["from a shipped lot", { units: 1, recno: 5 }],
    ["from an inactive lot", { units: 1, recno: 6 }],
    ["from a lot that does not exist", { units: 1, recno: 77 }],
    ["more than the lots that fit hold", { units: 4, serial: "X" }],
  ])("refuses %s and changes nothing", async (_name, more) => {
    const api = open({ lots });
    expect(await api.post("/Inventory/Issue", { ...receipt(1), ...more })).toMatchObject({
      status: 400,
      body: { statusCode: 400, error: "bad_request" },
    });
    expect(await units(api)).toEqual([3, 5, 7, 9, 9, 9]);
  });
});

describe("moving", () => {
  const lots = [
    { shortID: "A", recNo: 1, units: 3, received: "2025-01-01T00:00:00Z", spot: "S1", serial: "X", remark: "r" },
    { shortID: "A", recNo: 2, units: 5, received: "2025-01-02T00:00:00Z", spot: "S1" },
  ];
  const move = (units: number, more: object) => ({ itemID: "A", units, wid: 1, ...more });

  it("splits a lot, and the part keeps its age and marks", async () => {
    const api = open({ lots });
    const { status, body } = await api.post("/Inventory/Move", move(1, { fromSpot: "S1", toSpot: "S9" }));
    expect([status, body]).toEqual([200, { recNo: 3, status: "moved" }]);
    const [source, , part] = await lotsBy(api);
    expect(source).toMatchObject({ units: 2, spot: "S1" });
    expect(part).toEqual({ ...source, recNo: 3, units: 1, spot: "S9" });
  });

  it("moves whole lots without a new record, several if need be", async () => {
    const api = open({ lots });
    expect((await api.post("/Inventory/Move", move(8, { toSpot: "S9" }))).body.recNo).toBe(1);
    expect(await lotsBy(api)).toMatchObject([
      { recNo: 1, spot: "S9" },
      { recNo: 2, spot: "S9" },
    ]);
  });

  it("refuses more than there is, in the wrong bin, or of another date", async () => {
    const api = open({ lots });
    for (const wrong of [move(9, {}), move(1, { fromSpot: "S2" }), move(1, { received: "2024" }), move(0, {})]) {
      expect((await api.post("/Inventory/Move", wrong)).status).toBe(400);
    }
    expect((await api.post("/Inventory/Move", move(5, { received: "2025-01-02", toSpot: "Z" }))).status).toBe(200);
    expect((await lotsBy(api))[1].spot).toBe("Z");
  });

  it.each([
    ["without a destination", {}],
    ["to the bin it is in", { fromSpot: "S1", toSpot: "S1" }],
    ["of a lot to the bin it is in", { recno: 1, toSpot: "S1" }],
    ["to the warehouse it is in", { shipToWid: 1 }],
    ["with blanks", { fromSpot: "", toSpot: " ", serial: "", serial2: "", rfidTag: "", received: "" }],
  ])("%s would change nothing, and is an error", async (_name, more) => {
    const api = open({ lots });
    const before = await lotsBy(api);
    const { status, body } = await api.post("/Inventory/Move", move(2, more));
    expect([status, body.message]).toEqual([400, expect.stringMatching(/^Only 0 of 2 units match\. .* destination/)]);
    expect(await lotsBy(api)).toEqual(before);
  });

  it("never says that it moved without moving: stock that is there already does not count", async () => {
    const there = { shortID: "A", recNo: 3, units: 10, received: "2024-01-01T00:00:00Z", spot: "S9" };
    const api = open({ lots: [...lots, there] });
    expect((await api.post("/Inventory/Move", move(9, { toSpot: "S9" }))).body.message).toMatch(/^Only 8 of 9 units/);
    expect((await api.post("/Inventory/Move", move(4, { toSpot: "S9" }))).body).toEqual({ recNo: 1, status: "moved" });
    const spots = (await lotsBy(api)).map(({ units, spot }: { units: number; spot: string }) => [units, spot]);
    expect(spots).toEqual([
      [3, "S9"],
      [4, "S1"],
      [10, "S9"],
      [1, "S9"],
    ]);
  });
});
