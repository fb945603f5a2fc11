import { NotFoundError, PaginationError, type ResponseInfo, ResponseValidationError, TimeoutError } from "stocklot";
import { describe, expect, it } from "vitest";
import { createRandom } from "../support/random.js";
import { warningLog } from "../support/with-server.js";
import { SearchedService } from "./searched-service.js";

const NUMBERS = Array.from({ length: 5_000 }, (_, index) => 10 * (index + 1));
const PART_NO = 12_340;

/** Creates a client whose fetch function responds to a request itself if `respond` returns a response. */
function clientWith(
  service: SearchedService,
  respond: (url: URL, count: number) => Response | undefined,
  options = {},
) {
  let count = 0;
  const fetch = async (input: Request | URL | string, init?: RequestInit) => {
    const url = new URL(new Request(input, init).url);
    if (!url.pathname.endsWith("/Token")) count += 1;
    return (url.pathname.endsWith("/Token") ? undefined : respond(url, count)) ?? service.fetch(input, init);
  };
  return service.client({ ...options, fetch });
}

const errorResponse = (status: number, error: string, message: string) =>
  Response.json({ statusCode: status, error, message, details: null }, { status });

describe("A search for one item is one call of the caller's", () => {
  it("in onResponse", async () => {
    const requests: { path: string }[] = [];
    const responses: ResponseInfo[] = [];
    const service = new SearchedService(NUMBERS);
    const client = service.client({ hooks: { request: (event) => void requests.push(event) } });
    await client.inventory.listLots({ pageSize: 1 }).page();
    requests.length = 0;
    await client.inventory.getLots(`SKU-${PART_NO}`, {}, { onResponse: (response) => void responses.push(response) });
    expect(requests.map(({ path }) => path)).toEqual(["/Item", ...requests.slice(1).map(() => "/Inventory")]);
    expect(responses).toMatchObject([{ status: 200, path: "/Inventory", attempts: requests.length }]);
  });

  it("that sends one request at a time, at normal priority", async () => {
    const states: { inFlight: number; queued: number }[] = [];
    const service = new SearchedService(NUMBERS, { beforePage: () => void states.push(client.rateLimit) });
    // Requests with low priority could use only one slot.
    const client = service.client({ rateLimit: { requests: 40, reserved: 39 }, totalTimeoutMs: 10_000 });
    await client.inventory.getLots(`SKU-${PART_NO}`);
    expect(states.length).toBeGreaterThan(1);
    for (const state of states) expect(state).toMatchObject({ inFlight: 1, queued: 0 });
  });

  it("with one totalTimeoutMs, for all of its requests", async () => {
    const service = new SearchedService(NUMBERS);
    const never = new Promise<Response>(() => {});
    const client = service.client({
      fetch: (input, init) =>
        String(new Request(input, init).url).includes("DESC") ? never : service.fetch(input, init),
    });
    const error = await client.inventory.getLots("SKU-10", {}, { totalTimeoutMs: 300 }).catch((reason) => reason);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ clock: "totalTimeoutMs", message: expect.stringContaining("(300 ms)") });
  });

  it("that a signal ends at once, without a request afterwards", async () => {
    const controller = new AbortController();
    const reason = new Error("no longer wanted");
    const service = new SearchedService(NUMBERS, { beforePage: () => controller.abort(reason) });
    const { inventory } = service.client();
    await expect(inventory.getLots(`SKU-${PART_NO}`, {}, { signal: controller.signal })).rejects.toBe(reason);
    expect(service.requests).toHaveLength(2);
    await expect(inventory.getLots(`SKU-${PART_NO}`, {}, { signal: controller.signal })).rejects.toBe(reason);
    expect(service.requests).toHaveLength(2);
  });
});

describe("A search for one item", () => {
  it("remembers part numbers, but not that there is no such item", async () => {
    const service = new SearchedService(NUMBERS);
    let isMissing = true;
    const client = clientWith(service, (url) =>
      url.pathname.endsWith("/Item") && isMissing
        ? errorResponse(404, "not_found", "Item SKU-10 was not found.")
        : undefined,
    );
    await expect(client.inventory.getLots("SKU-10")).rejects.toBeInstanceOf(NotFoundError);
    isMissing = false;
    expect(await client.inventory.getLots("SKU-10")).toHaveLength(1);
    await client.inventory.getStockLevel("SKU-10");
    expect(service.requests.filter(({ pathname }) => pathname.endsWith("/Item"))).toHaveLength(1);
  });

  it.each([
    "omit",
    "error",
  ] as const)("takes no item for missing because a proxy answers 404 (%s)", async (onMissing) => {
    let isUp = false;
    const client = clientWith(new SearchedService(NUMBERS), ({ pathname }) =>
      pathname.endsWith("/Item") && !isUp ? new Response("<html>no such route</html>", { status: 404 }) : undefined,
    );
    const skus = ["SKU-10", "SKU-20"];
    const options = { onMissing, maxAgeMs: 60_000 };
    const error = await client.inventory.getStockLevels(skus, options).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 404, serviceMessage: expect.stringContaining("no such route") });
    isUp = true;
    expect([...(await client.inventory.getStockLevels(skus, options)).keys()]).toEqual(skus);
  });

  it("refuses an item without an integer part number, however strictly responses are validated", async () => {
    for (const responseValidation of ["error", "warn", "off"] as const) {
      const client = clientWith(
        new SearchedService(NUMBERS),
        (url) => (url.pathname.endsWith("/Item") ? Response.json({ shortID: "SKU-10", partNo: "10" }) : undefined),
        { responseValidation },
      );
      await expect(client.inventory.getLots("SKU-10")).rejects.toBeInstanceOf(ResponseValidationError);
    }
  });

  it("returns a lot once that a page lists twice", async () => {
    const service = new SearchedService([1, 2, 2, 3]);
    const { value } = await service.client().inventory.listLots().page();
    const twice = value.flatMap((lot) => [lot, lot]);
    const client = clientWith(service, ({ pathname }) =>
      pathname.endsWith("/Inventory")
        ? Response.json({ value: twice, totalCount: 8, page: 1, pageSize: 250, pageCount: 1, hasMore: false })
        : undefined,
    );
    const lots = await client.inventory.getLots("SKU-2");
    expect(lots.map(({ recNo }) => recNo).sort()).toEqual([2, 3]);
  });

  it("refuses two levels of one part number", async () => {
    const { inventory } = new SearchedService([10, 20, 20, 30]).client();
    await expect(inventory.getStockLevel("SKU-20")).rejects.toMatchObject({
      name: "ResponseValidationError",
      message: expect.stringContaining("partNo 20 is listed twice"),
    });
    expect(await inventory.getStockLevel("SKU-30")).toMatchObject({ partNo: 30 });
  });

  it("of an unsorted list reads all of it, with one warning per list, or rejects with ifUnsorted: error", async () => {
    const { warnings, logger } = warningLog();
    const random = createRandom(1);
    const service = new SearchedService(
      [...NUMBERS].sort(() => random() - 0.5),
      { sorting: "partNo-ignored" },
    );
    const { inventory } = service.client({ logger });
    for (const partNo of [10, 20]) {
      expect(await inventory.getLots(`SKU-${partNo}`)).toMatchObject([{ partNo }]);
      expect(await inventory.getStockLevel(`SKU-${partNo}`)).toMatchObject({ partNo });
      expect(await inventory.getStockLevel(`SKU-${partNo}`, { wid: 1 })).toMatchObject({ partNo });
      expect(service.requests.at(-1)?.pathname).toMatch(/\/Inventory\/StockLevels\/1$/);
    }
    expect(warnings).toEqual([
      expect.stringContaining("GET /Inventory: "),
      expect.stringContaining("GET /Inventory/StockLevels: "),
    ]);
    service.requests.length = 0;
    await expect(inventory.getLots("SKU-10", {}, { ifUnsorted: "error" })).rejects.toBeInstanceOf(PaginationError);
    expect(service.requests.length).toBeLessThan(3);
  });

  it("does not trust a response that is another page than was requested", async () => {
    const service = new SearchedService(NUMBERS);
    const client = service.client({
      fetch: async (input, init) => {
        const body = Object(await (await service.fetch(input, init)).json());
        return Response.json(body.value ? { ...body, page: 1 } : body);
      },
    });
    await expect(client.inventory.getLots(`SKU-${PART_NO}`)).rejects.toBeInstanceOf(PaginationError);
  });
});
