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

describe("findReceipt", () => {
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
    expect(await client.inventory.findReceipt(error, ONCE)).toMatchObject({ outcome: "applied", lots });
  });
});

describe("findCreated", () => {
  const lost = (client: InventoryClient) =>
    outcomeUnknownOf(client.items.create({ shortID: "NUT", description: "Nut M8" }));

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
