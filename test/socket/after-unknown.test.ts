import { beforeEach, describe, expect, it } from "vitest";
import {
  type ClientOptions,
  type FindOptions,
  type InventoryClient,
  NotFoundError,
  OutcomeUnknownError,
  type ReceiveInput,
  type RequestOptions,
} from "../../src/index.js";
import type { FaultServer } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { useLoopTime } from "../support/loop-time.js";
import { connect, errorOf, startServer, waitUntil } from "../support/with-server.js";
import { WRITES } from "../support/writes.js";

beforeEach(useLoopTime);

const RECEIPT: ReceiveInput = { itemID: "BOLT", units: 12.5, wid: 3, reasonCode: 1, spot: "A-01", serial: "S-1" };
const PLAIN: ReceiveInput = { itemID: "BOLT", units: 12.5, wid: 3, reasonCode: 1 };

/** A lot that matches the receipt. */
const matchingLot = { shortID: "BOLT", units: 12.5, wID: 3, spot: "A-01", serial: "S-1" };

const timeBefore = (ms: number) => new Date(Date.now() - ms).toISOString();
const HOUR_MS = 3_600_000;
/** The request has settled already. */
const ONCE: FindOptions = { settleMs: 0 };

async function outcomeUnknownOf(call: Promise<unknown>): Promise<OutcomeUnknownError> {
  const error = await errorOf(call);
  if (!(error instanceof OutcomeUnknownError)) throw error;
  return error;
}

async function setUp(options: ClientOptions = {}) {
  const server = await startServer();
  const client = connect(server, { rateLimit: false, ...options });
  await client.items.get("BOLT");
  return { server, client };
}

const lostAfter = (server: FaultServer, client: InventoryClient, receipt = RECEIPT) => {
  server.plan(faults.droppedAfterEffect());
  return outcomeUnknownOf(client.inventory.receive(receipt));
};
const lostBefore = (server: FaultServer, client: InventoryClient, receipt = RECEIPT) => {
  server.plan(faults.dropped());
  return outcomeUnknownOf(client.inventory.receive(receipt));
};

describe("findReceipt", () => {
  it("reports applied, with the lot, if only the response was lost", async () => {
    const { server, client } = await setUp();
    const error = await lostAfter(server, client);
    const found = await client.inventory.findReceipt(error);
    expect(found).toMatchObject({
      outcome: "applied",
      lots: [{ ...matchingLot, recNo: server.service.lots[0]?.recNo }],
    });
  });

  it.each<[string, faults.Fault, RequestOptions]>([
    ["the gateway's 504", faults.status(504), {}],
    ["a timeout", faults.hang({ applies: false }), { timeoutMs: 100 }],
    ["a dropped connection", faults.cutChunks(), {}],
  ])("finds a receipt that the service applies after %s", async (_, fault, options) => {
    const { server, client } = await setUp();
    server.plan({ ...fault, applies: false });
    const error = await outcomeUnknownOf(client.inventory.receive(RECEIPT, options));
    const receipt = server.requests.at(-1);
    const found = client.inventory.findReceipt(JSON.parse(JSON.stringify(error)).request, { settleMs: 4_000 });
    await waitUntil(() => server.requests.some(({ path }) => path === "/Inventory"));
    if (receipt) server.service.respond(receipt);
    expect(await found).toMatchObject({ outcome: "applied", lots: [matchingLot] });
    expect(server.effects("receive")).toBe(1);
    expect(server.requests.filter(({ path }) => path === "/Inventory")).toHaveLength(2);
  });

  it("looks again after the request has settled", async () => {
    const { server, client } = await setUp();
    const error = await lostBefore(server, client);
    expect(await client.inventory.findReceipt(error, { settleMs: 700 })).toEqual({ outcome: "not-applied", lots: [] });
    expect(Date.now()).toBeGreaterThanOrEqual(error.request.sentAt + 700);
    expect(server.requests.filter(({ path }) => path === "/Inventory")).toHaveLength(2);
  });

  it("compares every field that receipts and lots share", async () => {
    const { server, client } = await setUp();
    const error = await lostAfter(server, client, {
      ...RECEIPT,
      serial2: "X",
      rfidTag: "T",
      remark: "pallet 7",
      jobid: 4,
    });
    const lots = [{ serial2: "X", rFIDTag: "T", remark: "pallet 7", jobID: 4 }];
    expect(await client.inventory.findReceipt(error)).toMatchObject({ outcome: "applied", lots });
  });

  it("reports not applied when the request was lost", async () => {
    const { server, client } = await setUp();
    const error = await lostBefore(server, client);
    expect(await client.inventory.findReceipt(error, ONCE)).toEqual({ outcome: "not-applied", lots: [] });
  });

  it.each([
    ["of another item", { shortID: "NUT" }],
    ["of an hour ago", { received: timeBefore(HOUR_MS) }],
  ])("is not misled by a lot %s", async (_, difference) => {
    const { server, client } = await setUp();
    const error = await lostBefore(server, client);
    server.service.addLot({ ...matchingLot, ...difference });
    expect(await client.inventory.findReceipt(error, ONCE)).toEqual({ outcome: "not-applied", lots: [] });
  });

  it.each([
    ["has other units, as if partly issued", { units: 12 }],
    ["is in another warehouse, as if moved", { wID: 4 }],
    ["is at another spot, as if moved", { spot: "A-02" }],
    ["has another serial", { serial: "S-2" }],
    ["has no serial", { serial: "" }],
    ["has another second serial", { serial2: "Y" }],
    ["has no tag", { rFIDTag: null }],
    ["has a remark cut short", { remark: "by tru" }],
    ["has no remark", { remark: "" }],
    ["belongs to another job", { jobID: 8 }],
    ["has its SKU in another case, and other units", { shortID: " bolt", units: 1 }],
    ["has no readable time", { received: "just now", units: 12 }],
  ])("reports ambiguous when a lot of the item %s", async (_, difference) => {
    const { server, client } = await setUp();
    const receipt = { ...RECEIPT, serial2: "X", rfidTag: "T", remark: "by truck", jobid: 7 };
    const error = await lostBefore(server, client, receipt);
    const lot = { ...matchingLot, serial2: "X", rFIDTag: "T", remark: "by truck", jobID: 7 };
    server.service.addLot({ ...lot, ...difference });
    expect(await client.inventory.findReceipt(error, ONCE)).toMatchObject({ outcome: "ambiguous", lots: [difference] });
    server.service.addLot({ ...lot, shortID: "bolt ", remark: " by truck " });
    expect(await client.inventory.findReceipt(error, ONCE)).toMatchObject({
      outcome: "applied",
      lots: [{ remark: " by truck " }],
    });
  });

  it("reports ambiguous when there are two lots that fit", async () => {
    const { server, client } = await setUp();
    const error = await lostAfter(server, client);
    server.service.addLot(matchingLot);
    const found = await client.inventory.findReceipt(error);
    expect(found).toMatchObject({ outcome: "ambiguous", lots: [matchingLot, matchingLot] });
  });

  it("is not misled by a receipt of this client's that is known to have been applied", async () => {
    const { server, client } = await setUp();
    await client.inventory.receive(PLAIN);
    const error = await lostBefore(server, client, PLAIN);
    await client.inventory.receive(PLAIN);
    await client.inventory.receive({ ...PLAIN, units: 1 });
    expect(await client.inventory.findReceipt(error, ONCE)).toEqual({ outcome: "not-applied", lots: [] });
    const other = await lostAfter(server, client, PLAIN);
    expect(await client.inventory.findReceipt(other)).toMatchObject({ outcome: "applied" });
  });

  it("reports ambiguous if another client's lot was created so shortly before that the clocks cannot order the two", async () => {
    const { server, client } = await setUp();
    server.service.addLot({ ...matchingLot, received: timeBefore(200) });
    const error = await lostBefore(server, client);
    expect(await client.inventory.findReceipt(error)).toMatchObject({ outcome: "ambiguous", lots: [matchingLot] });
  });

  it("accepts a spot that the service filled in, and treats a serial that it filled in as ambiguous", async () => {
    const { server, client } = await setUp();
    const first = await lostBefore(server, client, PLAIN);
    const lot = server.service.addLot({ ...matchingLot, spot: "DOCK", serial: "" });
    expect(await client.inventory.findReceipt(first)).toMatchObject({ outcome: "applied" });
    lot.serial = "AUTO-1";
    expect(await client.inventory.findReceipt(first)).toMatchObject({ outcome: "ambiguous" });
  });

  it.each<[string, (time: Date) => string, string]>([
    ["microseconds", (time) => time.toISOString().replace("Z", "123Z"), "applied"],
    ["no offset", (time) => time.toISOString().replace("Z", ""), "applied"],
    ["whole seconds", (time) => time.toISOString().replace(/\.\d+/, ""), "applied"],
    [
      "another offset",
      (time) => new Date(time.getTime() + 2 * HOUR_MS).toISOString().replace("Z", "+02:00"),
      "applied",
    ],
    ["days only", (time) => time.toISOString().slice(0, 10), "ambiguous"],
    ["days written as midnight", (time) => `${time.toISOString().slice(0, 10)}T00:00:00`, "ambiguous"],
    ["no time that can be read", () => "just now", "ambiguous"],
  ])("reads times with %s", async (_, write, outcome) => {
    const { server, client } = await setUp();
    const error = await lostAfter(server, client);
    const [lot] = server.service.lots;
    if (lot) lot.received = write(new Date());
    expect(await client.inventory.findReceipt(error)).toMatchObject({ outcome });
  });

  it.each([
    ["behind", -10 * 60_000],
    ["ahead", 10 * 60_000],
  ])("is right also when the service's clock is %s", async (_, offMs) => {
    const server = await startServer();
    server.clockOffsetMs = offMs;
    const client = connect(server, { rateLimit: false });
    const atService = (ms: number) => new Date(Date.now() + offMs - ms).toISOString();
    const error = await lostAfter(server, client);
    const [lot] = server.service.lots;
    if (lot) lot.received = atService(-1_500);
    expect(await client.inventory.findReceipt(error)).toMatchObject({ outcome: "applied" });
    if (lot) lot.received = atService(120_000);
    expect(await client.inventory.findReceipt(error, ONCE)).toMatchObject({ outcome: "not-applied" });
  });

  it("reads only as far as lots that are older, and the whole list if it is not newest first", async () => {
    const { server, client } = await setUp();
    const error = await lostAfter(server, client);
    for (let count = 0; count < 600; count += 1)
      server.service.lots.push({ ...server.service.addLot({}), received: timeBefore(HOUR_MS + count * 1_000) });
    server.service.lots.splice(0, 600);
    const before = server.requests.length;
    expect(await client.inventory.findReceipt(error)).toMatchObject({ outcome: "applied" });
    expect(server.requests.length - before).toBeLessThanOrEqual(2);
    server.service.lots.reverse();
    expect(await client.inventory.findReceipt(error)).toMatchObject({ outcome: "applied" });
  });

  it("takes the options of a call", async () => {
    const { server, client } = await setUp();
    const error = await lostAfter(server, client);
    const statuses: number[] = [];
    await client.inventory.findReceipt(error, { onResponse: ({ status }) => void statuses.push(status) });
    expect(statuses).toEqual([200]);
    const signal = AbortSignal.abort();
    expect(await errorOf(client.inventory.findReceipt(error, { signal }))).toBe(signal.reason);
  });

  it("refuses any other error", async () => {
    const { server, client } = await setUp();
    server.plan(faults.dropped());
    const ofMove = await outcomeUnknownOf(client.inventory.move({ itemID: "BOLT", units: 1, wid: 3, toSpot: "B" }));
    for (const error of [ofMove, new Error("x"), undefined]) {
      expect(await errorOf(client.inventory.findReceipt(error as OutcomeUnknownError))).toMatchObject({
        name: "InputValidationError",
        issues: [{ path: ["sent"] }],
      });
    }
  });
});

describe("findCreated", () => {
  const lost = (client: InventoryClient) =>
    outcomeUnknownOf(client.items.create({ shortID: "NUT", description: "Nut M8" }));

  it("reports applied, with the item, if only the response was lost", async () => {
    const { server, client } = await setUp();
    server.plan(faults.droppedAfterEffect());
    const found = await client.items.findCreated(await lost(client));
    expect(found).toMatchObject({ outcome: "applied", item: { shortID: "NUT", description: "Nut M8" } });
  });

  it("reports not applied when there is no such item", async () => {
    const { server, client } = await setUp();
    server.plan(faults.dropped());
    expect(await client.items.findCreated(await lost(client), ONCE)).toEqual({ outcome: "not-applied" });
  });

  it("reports not applied when the item was there before", async () => {
    const { server, client } = await setUp();
    await client.items.create({ shortID: "NUT" });
    Object.assign(server.service.items.get("NUT") ?? {}, { created: timeBefore(HOUR_MS) });
    server.plan(faults.status(500));
    expect(await client.items.findCreated(await lost(client))).toMatchObject({
      outcome: "not-applied",
      item: { shortID: "NUT" },
    });
  });

  it("compares fields that the document does not name, whatever their values", async () => {
    const { server, client } = await setUp();
    server.plan(faults.droppedAfterEffect());
    const input = { shortID: "NUT", dimensions: { mm: [8, 13] } };
    const error = await outcomeUnknownOf(client.items.create(input));
    expect(await client.items.findCreated(error)).toMatchObject({ outcome: "applied" });
    Object.assign(server.service.items.get("NUT") ?? {}, { dimensions: { mm: [8, 14] } });
    expect(await client.items.findCreated(error)).toMatchObject({ outcome: "ambiguous" });
  });

  it.each([
    ["has other values", { description: "Somebody else's nut" }],
    ["does not report when it was created", { created: "" }],
    ["reports only the day on which it was created", { created: new Date().toISOString().slice(0, 10) }],
  ])("reports ambiguous when the item %s", async (_, difference) => {
    const { server, client } = await setUp();
    server.plan(faults.droppedAfterEffect());
    const error = await lost(client);
    Object.assign(server.service.items.get("NUT") ?? {}, difference);
    expect(await client.items.findCreated(error)).toMatchObject({ outcome: "ambiguous", item: { shortID: "NUT" } });
  });

  it("fails as any other call does", async () => {
    const { server, client } = await setUp({ retry: false });
    server.plan(faults.dropped());
    const error = await lost(client);
    server.plan(faults.status(500));
    expect(await errorOf(client.items.findCreated(error))).toMatchObject({ name: "ServerError" });
    expect(await errorOf(client.items.findCreated(new NotFoundError(NOT_FOUND) as never))).toMatchObject({
      name: "InputValidationError",
    });
  });
});

const NOT_FOUND = { status: 404, code: "", message: "", method: "", path: "", headers: {}, attempts: 1 };

describe("the error of an unknown outcome", () => {
  it.each(WRITES.filter(({ idempotent }) => !idempotent))("of $name reports how to find out", async (write) => {
    const { server, client } = await setUp();
    server.plan(faults.droppedAfterEffect());
    const { message } = await outcomeUnknownOf(write.call(client));
    expect(message).toContain("the outcome is unknown");
    const way = { create: "items.findCreated", receive: "inventory.findReceipt", move: "lots", issue: "lots" };
    expect(message).toContain(way[write.name as keyof typeof way]);
  });

  it("contains what was sent, also if the caller changes its object meanwhile", async () => {
    const { server, client } = await setUp();
    server.plan(faults.hang({ applies: false }));
    const receipt = { ...PLAIN, expires: new Date("2027-01-01T00:00:00Z") };
    const failed = outcomeUnknownOf(client.inventory.receive(receipt, { timeoutMs: 200 }));
    receipt.units = 99;
    const { request } = await failed;
    expect(request.body).toEqual({ ...PLAIN, expires: "2027-01-01T00:00:00.000Z" });
  });
});
