import { type ClientOptions, InventoryClient, PaginationError, ResponseValidationError } from "stocklot";
import { describe, expect, it } from "vitest";
import { assertRequestedPage, endOf, isCountPossible } from "../../src/client/lists/page-end.js";
import { createRandom } from "../support/random.js";
import { newLot } from "../support/records.js";
import { runs } from "../support/runs.js";
import { warningLog } from "../support/with-server.js";
import { ChangingList, type ListSettings } from "./changing-list.js";

const page = (fields: { records: number; page: number; pageSize: number; totalCount: number; hasMore: boolean }) => ({
  ...fields,
  value: Array.from({ length: fields.records }, (_, index) => index),
  pageCount: 1,
});

describe("the end of a page", () => {
  it.each<[string, Parameters<typeof page>[0], ReturnType<typeof endOf>]>([
    ["a page that others follow", { records: 2, page: 1, pageSize: 2, totalCount: 4, hasMore: true }, "more"],
    [
      "a page that others follow, counted too low",
      { records: 2, page: 2, pageSize: 2, totalCount: 1, hasMore: true },
      "more",
    ],
    ["the last page", { records: 1, page: 3, pageSize: 2, totalCount: 5, hasMore: false }, "end"],
    ["an empty list", { records: 0, page: 1, pageSize: 2, totalCount: 0, hasMore: false }, "end"],
    ["an empty page behind the end", { records: 0, page: 4, pageSize: 2, totalCount: 5, hasMore: false }, "end"],
    ["a last page with a larger count", { records: 2, page: 1, pageSize: 2, totalCount: 3, hasMore: false }, "short"],
    ["an empty page with a larger count", { records: 0, page: 1, pageSize: 2, totalCount: 1, hasMore: false }, "short"],
    [
      "a last page with a smaller count",
      { records: 2, page: 2, pageSize: 2, totalCount: 3, hasMore: false },
      "uncounted",
    ],
    ["a last page with the count 0", { records: 1, page: 2, pageSize: 2, totalCount: 0, hasMore: false }, "uncounted"],
    ["a page of one record", { records: 1, page: 7, pageSize: 1, totalCount: 7, hasMore: false }, "end"],
  ])("of %s", (_, fields, expected) => {
    expect(endOf(page(fields))).toBe(expected);
  });

  it("agrees with its definition for every combination", () => {
    for (const pageSize of [1, 2, 3, 8, 249, 250])
      for (const number of [1, 2, 5])
        for (const records of [0, 1, pageSize])
          for (const offset of [-300, -1, 0, 1, 300])
            for (const hasMore of [true, false]) {
              const position = (number - 1) * pageSize + records;
              const served = page({ records, page: number, pageSize, totalCount: position + offset, hasMore });
              const isImpossible = records > 0 ? offset < 0 : position + offset < 0;
              expect(isCountPossible(served)).toBe(!isImpossible);
              const last = isImpossible ? "uncounted" : offset > 0 ? "short" : "end";
              expect(endOf(served)).toBe(hasMore ? "more" : last);
            }
  });

  it("names a page that was not requested", () => {
    const served = page({ records: 1, page: 1, pageSize: 1, totalCount: 9, hasMore: true });
    expect(() => assertRequestedPage("GET /Item", served, { page: 1, pageSize: 250 })).not.toThrow();
    expect(() => assertRequestedPage("GET /Item", served, { page: 2, pageSize: 1 })).toThrow(
      /^GET \/Item: the response to a request for page 2 says that it is page 1\./,
    );
  });
});

const MODES: ListSettings[] = [false, true].flatMap((gapless) =>
  [0, 1, 4].map((readAhead) => ({ gapless, readAhead })),
);

describe.each(MODES)("a service that contradicts itself, with %o", (mode) => {
  const read = async (list: ChangingList) => (await list.paginator(mode).toArray()).length;

  it("says `hasMore: false` on every page: the list is read to what it counts", async () => {
    const list = new ChangingList(1_000, { respond: (served) => ({ ...served, hasMore: false }) });
    expect(await read(list)).toBe(1_000);
    expect(list.warnings).toEqual([]);
  });

  it.each([
    "an empty page",
    "a page that repeats the last record",
  ])("counts more than it lists, and shows %s behind the end: short, with one warning", async (behind) => {
    const list = new ChangingList(600, {
      respond: (served) => {
        const value = served.value.length === 0 && behind !== "an empty page" ? [{ recNo: 600 }] : served.value;
        return { ...served, value, totalCount: 1_000 };
      },
    });
    expect(await read(list)).toBe(600);
    expect(list.warnings).toEqual([
      "GET /Inventory: the service counts 1000 records, but lists only 600. The client may not be allowed to see all records.",
    ]);
    expect(list.requests.length).toBeLessThan(12);
  });

  it("counts only on page 1", async () => {
    const list = new ChangingList(1_100, {
      respond: (served) => ({ ...served, totalCount: served.page === 1 ? served.totalCount : 0 }),
    });
    expect(await read(list)).toBe(1_100);
    expect(list.requests.length).toBeLessThan(12);
  });

  it("counts 0 on its last page", async () => {
    const list = new ChangingList(1_000, {
      respond: (served) => ({ ...served, totalCount: served.hasMore ? served.totalCount : 0 }),
    });
    expect(await read(list)).toBe(1_000);
    expect(list.requests.length).toBeLessThan(12);
  });

  it("ignores the page that is asked for: an error that says so", async () => {
    const list = new ChangingList(1_000);
    const first = list.lots.slice(0, 250);
    const lying = new ChangingList(1_000, {
      respond: (served) => ({ ...served, value: first.slice(0, served.pageSize) }),
    });
    await expect(read(lying)).rejects.toThrow(PaginationError);
    expect(lying.requests.length).toBeLessThan(60);
  });

  it.each<[string, (number: number) => { recNo: number }[]]>([
    ["one new record", (number) => [{ recNo: 1_000_000 + number }]],
    ["250 new records", (number) => Array.from({ length: 250 }, (_, index) => ({ recNo: number * 1_000 + index }))],
    ["now and then a new record", (number) => [{ recNo: number % 20 === 0 ? 1_000_000 + number : 1 }]],
  ])("never ends, with %s on each page: an error", async (_, recordsOf) => {
    const list = new ChangingList(1_000, {
      respond: (served, number) => ({ ...served, hasMore: true, totalCount: 1_000, value: recordsOf(number) }),
    });
    await expect(read(list)).rejects.toThrow(PaginationError);
    expect(list.requests.length).toBeLessThan(80);
  });

  it.each([1, 2, 3, 4, 5, 7, 8])("caps pages at %i records", async (cap) => {
    const list = new ChangingList(500, { cap });
    expect(await read(list)).toBe(500);
  });
});

it("pages of a few records lose none while others are removed, or added", async () => {
  for (let seed = 1; seed <= runs(60); seed += 1) {
    const random = createRandom(seed);
    const cap = 2 + Math.floor(random() * 7);
    const list = new ChangingList(60 + Math.floor(random() * 200), {
      cap,
      change: (changing) => {
        if (random() > 0.1) return;
        if (seed % 2 === 0) changing.remove(Math.floor(random() * changing.lots.length));
        else changing.insert(Math.floor(random() * (changing.lots.length + 1)));
      },
    });
    const read = await list
      .paginator({ gapless: true })
      .toArray()
      .catch((error: unknown) => {
        expect(error).toBeInstanceOf(PaginationError);
      });
    if (!read) continue;
    const missing = [...list.constant].filter((lot) => !read.includes(lot));
    expect(missing, `seed ${seed}, cap ${cap}`).toEqual([]);
    expect(new Set(read).size).toBe(read.length);
  }
});

it("whatever an envelope claims, a list is complete, or warned of, or an error", async () => {
  for (let seed = 1; seed <= runs(400); seed += 1) {
    const random = createRandom(seed);
    const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T;
    const size = pick([0, 1, 7, 250, 600, 1_000]);
    const lies = {
      hasMore: pick<(served: boolean) => boolean>([
        (is) => is,
        (is) => is,
        () => false,
        () => true,
        (is) => (random() < 0.3 ? !is : is),
      ]),
      totalCount: pick<(served: number) => number>([
        (is) => is,
        (is) => is,
        () => 0,
        () => 1_000,
        () => 20,
        (is) => (random() < 0.3 ? 0 : is),
      ]),
      pageCount: pick<(served: number) => number>([(is) => is, () => 0, () => 1]),
    };
    const list = new ChangingList(size, {
      cap: pick([250, 250, 100, 25, 7, 3, 2, 1]),
      respond: (served) => ({
        ...served,
        hasMore: lies.hasMore(served.hasMore),
        totalCount: lies.totalCount(served.totalCount),
        pageCount: lies.pageCount(served.pageCount),
      }),
    });
    const mode = pick(MODES);
    const read = await list
      .paginator(mode)
      .toArray()
      .catch((error: unknown) => {
        expect(error).toBeInstanceOf(PaginationError);
      });
    expect(list.requests.length).toBeLessThan(4 * size + 200);
    if (!read) continue;
    expect(new Set(read.map(({ recNo }) => recNo)).size, `seed ${seed}`).toBe(read.length);
    // The list may be short without a warning only if the service neither counted nor announced the missing records.
    const isAnnounced = lies.hasMore(true) && lies.totalCount(size) >= size && lies.hasMore(false) === false;
    if (isAnnounced && list.warnings.length === 0 && lies.totalCount(size) === size)
      expect(read.length, `seed ${seed}`).toBe(size);
  }
});

/** Creates a client of a service that answers each request except that for a token with `respond`. */
const clientOf = (respond: (page: string | null) => Response, options: ClientOptions = {}) =>
  new InventoryClient({
    baseUrl: "https://service.test/api/v1",
    clientId: "id",
    clientSecret: "the-secret",
    rateLimit: false,
    retry: false,
    fetch: async (input) => {
      if (String(input).endsWith("/Token"))
        return Response.json({ access_token: "token-0123456789", token_type: "bearer", expires_in: 3600 });
      return respond(new URL(String(input)).searchParams.get("page"));
    },
    ...options,
  });

describe.each(["error", "warn", "off"] as const)("with responseValidation %s", (responseValidation) => {
  const client = (envelope: object) =>
    clientOf(
      () =>
        Response.json({
          value: [newLot({ recNo: 1 })],
          totalCount: 2,
          page: 1,
          pageSize: 250,
          pageCount: 1,
          ...envelope,
        }),
      { responseValidation, logger: warningLog().logger },
    );

  it.each([{}, { hasMore: "true" }, { hasMore: 1 }, { hasMore: null }])("%o is no envelope", async (envelope) => {
    await expect(client(envelope).inventory.listLots().toArray()).rejects.toThrow(ResponseValidationError);
    await expect(client(envelope).inventory.listLots().page()).rejects.toThrow(ResponseValidationError);
    await expect(client(envelope).paginate({ path: "/Orders" }).toArray()).rejects.toThrow(ResponseValidationError);
  });
});

describe("a page that says that it is the last one, although more records are counted", () => {
  const client = (respond: () => Response) =>
    clientOf((page) => {
      if (page !== "1") return respond();
      const value = [newLot({ recNo: 1 }), newLot({ recNo: 2 })];
      return Response.json({ value, totalCount: 3, page: 1, pageSize: 2, pageCount: 1, hasMore: false });
    });

  it("is the end if the service refuses the page after it", async () => {
    const refusal = { statusCode: 404, error: "not_found", message: "There is no page 2.", details: null };
    const { inventory } = client(() => Response.json(refusal, { status: 404 }));
    const lots = await inventory.listLots().toArray();
    expect(lots).toHaveLength(2);
  });

  it.each([400, 403, 404])("is no proved end if a proxy answers the next request with %d", async (status) => {
    const { inventory } = client(() => new Response("<html>blocked</html>", { status }));
    await expect(inventory.listLots().toArray()).rejects.toMatchObject({ status });
  });
});
