import { describe, expect, it } from "vitest";
import { PaginationError } from "../../src/shared/errors/index.js";
import { ChangingList } from "./changing-list.js";

const MODES = [false, true].flatMap((gapless) => [0, 1, 10].map((readAhead) => ({ gapless, readAhead })));

/** An iteration ends after this many pages in a row without a new record. */
const FRUITLESS = 24;

describe.each(MODES)("with %o", (mode) => {
  it.each<[string, number]>([
    ["says for ever that there is more", 0],
    ["repeats itself and claims that the list grows", 250],
  ])("a service that %s ends in a PaginationError", async (_, growth) => {
    const list = new ChangingList(600, {
      respond: (page, number) => ({ ...page, totalCount: 600 + growth * number, hasMore: true }),
    });
    list.lots = Array.from({ length: 250_000 }, (_, index) => ({ recNo: index % 100 }));
    const reading = list.paginator(mode).toArray();
    await expect(reading).rejects.toThrow(PaginationError);
    await expect(reading).rejects.toThrow(/^GET \/Inventory: [^.]*, but the service reports more records\. /);
    expect(list.requests.length).toBeLessThanOrEqual(3 + FRUITLESS + 2 * mode.readAhead);
  });

  it("a service that responds to each request with the first page ends in a PaginationError", async () => {
    const list = new ChangingList(600, { serve: () => ({ page: 1, pageSize: 250 }) });
    await expect(list.paginator(mode).toArray()).rejects.toThrow(PaginationError);
    expect(list.requests.length).toBeLessThanOrEqual(3 + FRUITLESS + 2 * mode.readAhead);
  });

  it("an empty page that claims that there is more ends in a PaginationError", async () => {
    const list = new ChangingList(1_000, {
      respond: (page, number) => (number < 3 ? page : { ...page, value: [], hasMore: true }),
    });
    await expect(list.paginator(mode).toArray()).rejects.toThrow(
      /^GET \/Inventory: page \d is empty, but the service reports more records\. /,
    );
    expect(list.requests.length).toBeLessThanOrEqual(3 + Math.max(1, mode.readAhead));
  });

  it("a list that grows as fast as it is read ends in a PaginationError", async () => {
    const list = new ChangingList(600, { change: (changed) => changed.insert(changed.lots.length, 250) });
    await expect(list.paginator(mode).toArray()).rejects.toThrow("changes faster than it can be read");
    expect(list.requests.length).toBeLessThan(60);
  });

  it("nonsense in the envelope ends, one way or the other", async () => {
    for (const nonsense of [
      { page: Number.NaN },
      { pageSize: 0 },
      { pageSize: Number.NaN },
      { totalCount: -1 },
      { page: -3 },
    ]) {
      const list = new ChangingList(1_000, { respond: (page) => ({ ...page, ...nonsense }) });
      await list
        .paginator(mode)
        .toArray()
        .catch((error) => expect(error).toBeInstanceOf(PaginationError));
      expect(list.requests.length).toBeLessThan(60);
    }
  });
});

it("without keys, pages that repeat records are no reason to stop", async () => {
  const list = new ChangingList(0);
  list.lots = Array.from({ length: 2_000 }, () => ({ recNo: 1 }));
  expect((await list.paginator({ keyOf: undefined }).toArray()).length).toBe(2_000);
});

it.each([
  { gapless: true },
  { gapless: true, readAhead: 4 },
  { gapless: false },
])("a count of 0 beside records ends nothing, with %o", async (options) => {
  const list = new ChangingList(1_040, { respond: (page) => ({ ...page, totalCount: 0 }) });
  expect(await list.paginator(options).toArray()).toHaveLength(1_040);
});

it.each([
  ["responds to each request with the same page", {}],
  ["continues beyond its own total", { totalCount: 300 }],
])("without a key, a service that %s and says that there is more ends in a PaginationError", async (_, lie) => {
  const list = new ChangingList(600, {
    serve: ({ pageSize }) => ({ page: 1, pageSize }),
    respond: (page, number) => ({ ...page, page: "totalCount" in lie ? number : 1, ...lie, hasMore: true }),
  });
  const reading = list.paginator({ readAhead: 0, keyOf: undefined }).toArray();
  await expect(reading).rejects.toThrow(PaginationError);
  expect(list.requests.length).toBeLessThan(30);
});
