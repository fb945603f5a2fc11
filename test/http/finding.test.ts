/** What `findReceipt` concludes from the lots of an item, on services that list them in ways of their own. */
import { describe, expect, it } from "vitest";
import { InventoryClient, type Lot, OutcomeUnknownError, type ReceiveInput } from "../../src/index.js";
import { createRandom } from "../support/random.js";
import { newItem, newLot, pageOf } from "../support/records.js";

const PART_NO = 5_000;
const RECEIPT: ReceiveInput = { itemID: "NEW", units: 5, wid: 1, reasonCode: 1, remark: "delivery 4711" };

interface Service {
  lots: Lot[];
  /** What a receipt adds; `undefined` for nothing. */
  book?: (lot: Lot) => Lot | undefined;
  /** The order of lots with the same part number, at each request. */
  ties?: () => number;
  /** The service ignores `sort`. */
  ignoresSort?: boolean;
  lose?: boolean;
  recNo?: number;
}

function clientOf(service: Service): InventoryClient {
  const respond = (body: unknown, status = 200) =>
    Response.json(body, { status, headers: { date: new Date().toUTCString() } });
  const list = ({ searchParams }: URL) => {
    const { lots, ties = () => 0, ignoresSort = false } = service;
    const sort = ignoresSort ? null : searchParams.get("sort");
    const sign = searchParams.get("direction") === "DESC" ? -1 : 1;
    const keyed = lots.map((lot) => ({ lot, tie: ties() }));
    const sorted =
      sort === "recNo"
        ? lots.toSorted((one, other) => one.recNo - other.recNo)
        : keyed
            .sort(
              (one, other) =>
                (sort === "partNo" ? sign * (one.lot.partNo - other.lot.partNo) : 0) || one.tie - other.tie,
            )
            .map(({ lot }) => lot);
    return pageOf(sorted, searchParams);
  };
  const fetch = async (input: Request | URL | string, init?: RequestInit) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    if (url.pathname.endsWith("/Token")) return respond({ access_token: "abcdefgh", expires_in: 3_600 });
    if (request.method === "POST") {
      const { units, wid, remark = "", serial = "" } = Object(await request.json());
      const received = new Date().toISOString();
      const recNo = 10_000 + service.lots.length;
      const fields = { recNo, partNo: PART_NO, shortID: "NEW", units, wID: wid, remark, serial, received };
      const lot = (service.book ?? ((booked) => booked))(newLot(fields));
      if (lot) service.lots.push(lot);
      if (service.lose !== false) throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
      return respond({ recNo: service.recNo ?? recNo });
    }
    if (url.pathname.endsWith("/Item")) {
      const key = url.searchParams.get("key") ?? "";
      if (key === "GONE") return respond({ statusCode: 404, error: "not_found", message: "No such item." }, 404);
      return respond(newItem({ partNo: PART_NO, shortID: key }));
    }
    return respond(list(url));
  };
  const options = { clientId: "c", clientSecret: "some-long-secret", rateLimit: false, retry: false } as const;
  return new InventoryClient({ baseUrl: "https://service.test/api/v1", ...options, fetch });
}

const lost = async (client: InventoryClient, input = RECEIPT) => {
  const error = await client.inventory.receive(input).catch((reason: unknown) => reason);
  if (!(error instanceof OutcomeUnknownError)) throw error;
  return error;
};

async function outcomeOf(service: Service, input = RECEIPT) {
  const client = clientOf(service);
  return client.inventory.findReceipt(await lost(client, input), { settleMs: 0 });
}

const others = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    newLot({ recNo: index + 1, partNo: 1 + (index % 900), received: "2026-01-01T00:00:00Z" }),
  );

describe("a receipt that was applied is never reported as not applied", () => {
  it("on a service whose lots have a date without a time, and no fixed order among equal dates", async () => {
    const today = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`;
    for (let seed = 1; seed <= 20; seed += 1) {
      const lots = others(900).map((lot) => ({ ...lot, received: today }));
      const ties = createRandom(seed);
      const { outcome } = await outcomeOf({ lots, ties, book: (lot) => ({ ...lot, received: today }) });
      expect(outcome).toBe("ambiguous");
    }
  });

  it.each<[string, (lot: Lot) => Lot]>([
    ["another spelling of the SKU", (lot) => ({ ...lot, shortID: "NÉW" })],
    ["no SKU", (lot) => ({ ...lot, shortID: null as never })],
  ])("if its lot has %s: that does not matter", async (_, book) => {
    expect(await outcomeOf({ lots: others(10), book })).toMatchObject({ outcome: "applied" });
  });

  it.each<[string, (lot: Lot) => Lot]>([
    ["a remark that was cut off", (lot) => ({ ...lot, remark: "deliv" })],
    ["other units", (lot) => ({ ...lot, units: 3 })],
    ["a date hours ago", (lot) => ({ ...lot, received: new Date(Date.now() - 14 * 3_600_000).toISOString() })],
  ])("if its lot has %s: a person must decide", async (_, book) => {
    expect(await outcomeOf({ lots: others(10), book })).toMatchObject({
      outcome: "ambiguous",
      lots: [{ partNo: PART_NO }],
    });
  });

  it("if its item cannot be found", async () => {
    expect(await outcomeOf({ lots: [] }, { ...RECEIPT, itemID: "GONE" })).toEqual({ outcome: "ambiguous", lots: [] });
  });

  it("if the lots of the item do not fit on one page, and their order changes", async () => {
    const old = Array.from({ length: 600 }, (_, index) =>
      newLot({ recNo: index + 2_000, partNo: PART_NO, received: "2026-01-01T00:00:00Z" }),
    );
    const { outcome } = await outcomeOf({ lots: [...others(900).toReversed(), ...old], book: () => undefined });
    expect(outcome).toBe("ambiguous");
  });

  it("if a number in another response happens to be that of its lot", async () => {
    const service: Service = { lots: others(10), lose: false, recNo: 10_011 };
    const client = clientOf(service);
    await client.inventory.receive({ ...RECEIPT, remark: "" });
    service.lose = true;
    const error = await lost(client, { ...RECEIPT, remark: "" });
    expect((await client.inventory.findReceipt(error, { settleMs: 0 })).outcome).toBe("ambiguous");
  });
});

describe("a receipt that was not applied is reported so", () => {
  it("if all lots of its item are older than 48 hours, on one page or in the whole list by ascending recNo", async () => {
    const old = newLot({ recNo: 9_000, partNo: PART_NO, received: "2026-01-01T00:00:00Z" });
    for (const count of [10, 900]) {
      const service = { lots: [...others(count), old], book: () => undefined };
      expect(await outcomeOf(service)).toEqual({ outcome: "not-applied", lots: [] });
    }
    const shuffled = [...others(900), old].sort((one, other) => (one.recNo % 7) - (other.recNo % 7));
    expect(await outcomeOf({ lots: shuffled, book: () => undefined, ignoresSort: true })).toMatchObject({
      outcome: "ambiguous",
    });
  });

  it("beside a receipt of this client with another remark, whose lot is known", async () => {
    const service: Service = { lots: others(10), lose: false };
    const client = clientOf(service);
    await client.inventory.receive({ ...RECEIPT, remark: "delivery 1" });
    Object.assign(service, { lose: true, book: () => undefined });
    const error = await lost(client);
    expect(await client.inventory.findReceipt(error, { settleMs: 0 })).toEqual({ outcome: "not-applied", lots: [] });
  });
});

describe("a receipt is found", () => {
  it("by its RFID tag, or by equality with a text among the fields", async () => {
    const tagged = { itemID: "NEW", units: 5, wid: 1, reasonCode: 1, rfidTag: "E200" };
    const book = (lot: Lot) => ({ ...lot, rFIDTag: "E200", spot: "moved" });
    expect(await outcomeOf({ lots: [], book }, tagged)).toMatchObject({ outcome: "applied" });
    expect(await outcomeOf({ lots: [] }, { ...RECEIPT, remark: "", serial: "S-1" })).toMatchObject({
      outcome: "applied",
    });
    // Equality alone may be chance.
    expect(await outcomeOf({ lots: [] }, { ...RECEIPT, remark: "" })).toMatchObject({ outcome: "ambiguous" });
  });

  it("by neither if two lots have the same text", async () => {
    const service: Service = { lots: [] };
    const client = clientOf(service);
    await lost(client);
    const error = await lost(client);
    const found = await client.inventory.findReceipt(error, { settleMs: 0 });
    expect(found.outcome).toBe("ambiguous");
    expect(found.lots).toHaveLength(2);
  });
});
