/** Tests what `findReceipt` concludes from the lots of an item, on services that list them in different ways. */
import { describe, expect, it } from "vitest";
import { type InventoryClient, type Lot, OutcomeUnknownError, type ReceiveInput } from "../../src/index.js";
import { SearchedService } from "../search/searched-service.js";
import { createRandom } from "../support/random.js";
import { newLot } from "../support/records.js";
import type { ListedLot, ServiceBehaviour } from "../support/small-service.js";
import { errorOf } from "../support/with-server.js";

const PART_NO = 5_000;
const RECEIPT: ReceiveInput = { itemID: `SKU-${PART_NO}`, units: 5, wid: 1, reasonCode: 1, remark: "delivery 4711" };

/** Creates a service and a client. Responses to writes are lost unless `lose` is set to false. */
function connect(lots: readonly Partial<Lot>[], behaviour: ServiceBehaviour = {}) {
  const service = new SearchedService([], behaviour);
  for (const lot of lots) service.addLot(lot);
  const state = { service, lose: true, recNo: 0 };
  const fetch = async (input: Request | URL | string, init?: RequestInit) => {
    const response = await service.fetch(input, init);
    const isWrite = /\/(Receive|Item)$/.test(String(input)) && response.status === 201;
    if (isWrite && state.lose) throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    return isWrite && state.recNo > 0 ? Response.json({ recNo: state.recNo }) : response;
  };
  return Object.assign(state, { client: service.client({ fetch, retry: false }) });
}

const lost = async (client: InventoryClient, input = RECEIPT) => unknownOf(client.inventory.receive(input));

async function unknownOf(call: Promise<unknown>) {
  const error = await errorOf(call);
  if (!(error instanceof OutcomeUnknownError)) throw error;
  return error;
}

async function outcomeOf(lots: readonly Partial<Lot>[], behaviour: ServiceBehaviour = {}, input = RECEIPT) {
  const { client } = connect(lots, behaviour);
  return client.inventory.findReceipt(await lost(client, input), { settleMs: 0 });
}

const none = () => undefined;

const others = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    newLot({ recNo: index + 1, partNo: 1 + (index % 900), received: "2026-01-01T00:00:00Z" }),
  );

describe("a receipt that was applied is never reported as not applied", () => {
  it("on a service whose lots have a date without a time, and no fixed order among equal dates", async () => {
    const today = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`;
    for (let seed = 1; seed <= 5; seed += 1) {
      const lots = others(900).map((lot) => ({ ...lot, received: today }));
      const book = (lot: ListedLot) => ({ ...lot, received: today });
      const { outcome } = await outcomeOf(lots, { ties: "shuffled", random: createRandom(seed), book });
      expect(outcome).toBe("ambiguous");
    }
  });

  it.each<[string, (lot: ListedLot) => ListedLot]>([
    ["another spelling of the SKU", (lot) => ({ ...lot, shortID: "NÉW" })],
    ["no SKU", (lot) => ({ ...lot, shortID: null as never })],
  ])("if its lot has %s: that does not matter", async (_, book) => {
    expect(await outcomeOf(others(10), { book })).toMatchObject({ outcome: "applied" });
  });

  it.each<[string, (lot: ListedLot) => ListedLot]>([
    ["a remark that was cut off", (lot) => ({ ...lot, remark: "deliv" })],
    ["other units", (lot) => ({ ...lot, units: 3 })],
    ["a date hours ago", (lot) => ({ ...lot, received: new Date(Date.now() - 14 * 3_600_000).toISOString() })],
  ])("if its lot has %s: a person must decide", async (_, book) => {
    expect(await outcomeOf(others(10), { book })).toMatchObject({
      outcome: "ambiguous",
      lots: [{ partNo: PART_NO }],
    });
  });

  it.each([
    ["Kühl-4711", "Kühl-4711".normalize("NFD")],
    ["Kühl-4711", "Kuhl-4711"],
    ["Kühl-4711", "K?hl-4711"],
    ["Kühl-4711", "KÃ¼hl-4711"],
    ["Kühl-4711", "Kühl4711"],
    ["PO 4711 & Co", "PO 4711 &amp; Co"],
    ["PO 4711  & Co", "PO 4711 & Co"],
    ["line\nbreak", "line\r\nbreak"],
    ["004711", "4711"],
    ["４７１１", "4711"],
  ])("if its remark %j is kept in another form, %j: a person must decide", async (remark, stored) => {
    const book = (lot: ListedLot) => ({ ...lot, remark: stored });
    const { outcome } = await outcomeOf(others(10), { book }, { ...RECEIPT, remark });
    expect(outcome).toBe("ambiguous");
  });

  it("if its item cannot be found", async () => {
    const { client } = connect([]);
    const sent = (await lost(client)).request;
    const body = { ...RECEIPT, itemID: "GONE" };
    const found = await client.inventory.findReceipt({ ...sent, body }, { settleMs: 0 });
    expect(found).toEqual({ outcome: "ambiguous", lots: [] });
  });

  it("if a number in another response happens to be that of its lot", async () => {
    const state = connect(others(10));
    const { client } = Object.assign(state, { lose: false, recNo: 12 });
    await client.inventory.receive({ ...RECEIPT, remark: "" });
    state.lose = true;
    const error = await lost(client, { ...RECEIPT, remark: "" });
    expect((await client.inventory.findReceipt(error, { settleMs: 0 })).outcome).toBe("ambiguous");
  });
});

describe("a receipt that was not applied is reported so", () => {
  it("if no lot shows one of its texts: on one page, on several, or in a list that is not sorted, read twice", async () => {
    const ofItem = (count: number) =>
      Array.from({ length: count }, (_, index) => newLot({ recNo: index + 2_000, partNo: PART_NO, remark: "old" }));
    for (const lots of [ofItem(1), [...others(900), ...ofItem(1)], [...others(900), ...ofItem(600)]])
      expect(await outcomeOf(lots, { book: none })).toEqual({ outcome: "not-applied", lots: [] });
    const shuffled = [...others(900), ...ofItem(1)].sort((one, other) => (one.recNo % 7) - (other.recNo % 7));
    const found = await outcomeOf(shuffled, { book: none, sorting: "ignored" });
    expect(found).toEqual({ outcome: "not-applied", lots: [] });
  });

  it.each([
    ["another remark", RECEIPT, RECEIPT],
    [
      "a remark beside the same serial",
      { ...RECEIPT, serial: "B-7" },
      { ...RECEIPT, remark: undefined, serial: "B-7" },
    ],
  ])("beside a receipt of this client with %s, whose lot is known", async (_, other, receipt) => {
    const state = connect(others(10));
    const { client, service } = Object.assign(state, { lose: false });
    await client.inventory.receive({ ...other, remark: "delivery 1" });
    state.lose = true;
    service.behaviour.book = none;
    const error = await lost(client, receipt);
    expect(await client.inventory.findReceipt(error, { settleMs: 0 })).toEqual({ outcome: "not-applied", lots: [] });
  });
});

describe("a receipt is found", () => {
  it("by its RFID tag, or by equality with a text among the fields", async () => {
    const tagged = { ...RECEIPT, remark: "", rfidTag: "E200" };
    const book = (lot: ListedLot) => ({ ...lot, rFIDTag: "E200", spot: "moved" });
    expect(await outcomeOf([], { book }, tagged)).toMatchObject({ outcome: "applied" });
    expect(await outcomeOf([], {}, { ...RECEIPT, remark: "", serial: "S-1" })).toMatchObject({ outcome: "applied" });
    // Without such a text, an equal lot may be another receipt.
    expect(await outcomeOf([], {}, { ...RECEIPT, remark: "" })).toMatchObject({ outcome: "ambiguous" });
  });

  it("by every field that receipts and lots share", async () => {
    const receipt = { ...RECEIPT, serial: "S", serial2: "X", rfidTag: "T", spot: "A-01", jobid: 4 };
    const shared = { serial: "S", serial2: "X", rFIDTag: "T", spot: "A-01", jobID: 4 };
    expect(await outcomeOf([], {}, receipt)).toMatchObject({ outcome: "applied", lots: [shared] });
    for (const name of ["serial", "serial2", "remark", "spot", "jobID"]) {
      const book = (lot: ListedLot) => ({ ...lot, rFIDTag: null, [name]: name === "jobID" ? 5 : "other" });
      expect((await outcomeOf([], { book }, { ...receipt, rfidTag: undefined })).outcome, name).toBe("ambiguous");
    }
  });

  it("by neither if two lots have the same text", async () => {
    const { client } = connect([]);
    await lost(client);
    const error = await lost(client);
    const found = await client.inventory.findReceipt(error, { settleMs: 0 });
    expect(found.outcome).toBe("ambiguous");
    expect(found.lots).toHaveLength(2);
  });
});

it("a creation is not called absent because a proxy has no page", async () => {
  const { client, service } = connect([]);
  const error = await unknownOf(client.items.create({ shortID: "NUT" }));
  const fetch = async (url: string) =>
    url.endsWith("/Token") ? Response.json({ access_token: "token" }) : new Response("<html>", { status: 404 });
  const found = await service.client({ fetch }).items.findCreated(error, { settleMs: 0 });
  expect(found).toEqual({ outcome: "ambiguous" });
});

describe("a created item", () => {
  const SENT = { shortID: "NUT", description: "Nut M8", dimensions: { mm: [8, 13] } };

  it.each<[string, object, string]>([
    ["is as it was sent, with fields that the document does not name", {}, "applied"],
    ["is listed under the SKU in another case", { shortID: "nut" }, "applied"],
    ["is listed under a SKU with the same beginning", { shortID: "NUT-2" }, "ambiguous"],
    ["existed before", { created: "2026-01-01T00:00:00Z" }, "not-applied"],
    ["has other values", { description: "Somebody else's nut" }, "ambiguous"],
    ["has other values of a field that the document does not name", { dimensions: { mm: [8, 14] } }, "ambiguous"],
    ["does not report when it was created", { created: "" }, "ambiguous"],
    ["reports only the day on which it was created", { created: new Date().toISOString().slice(0, 10) }, "ambiguous"],
  ])("that %s", async (_, difference, outcome) => {
    const { client, service } = connect([]);
    const error = await unknownOf(client.items.create(SENT));
    Object.assign(service.items.get("NUT") ?? {}, difference);
    expect(await client.items.findCreated(error)).toMatchObject({ outcome, item: { partNo: 1_001 } });
  });
});
