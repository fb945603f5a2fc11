import { describe, expect, it } from "vitest";
import type { Page } from "../../src/client/lists/page.js";
import { Paginator } from "../../src/client/lists/paginator.js";
import { InputValidationError } from "../../src/shared/errors/index.js";
import { ChangingList, settle } from "./changing-list.js";

describe("a paginator", () => {
  it("requests nothing until it is used, and is not a Promise", async () => {
    const list = new ChangingList(100);
    const paginator = list.paginator();
    paginator.pages();
    paginator[Symbol.asyncIterator]();
    await settle();
    expect(list.requests).toEqual([]);
    expect("then" in paginator).toBe(false);
  });

  it("returns every record in order, and again each time it is used, unchanged", async () => {
    // The fake service freezes its responses.
    const list = new ChangingList(530, { respond: (page) => Object.freeze({ ...page, tag: "new field" }) });
    const paginator = list.paginator();
    for (let round = 0; round < 2; round += 1) expect(await paginator.toArray()).toEqual(list.lots);
    expect(list.requests.length).toBe(6);
    expect(await collect(paginator.pages())).toMatchObject([1, 2, 3].map((page) => ({ page, tag: "new field" })));
  });

  it("returns the one page of the parameters as served, with one request", async () => {
    const list = new ChangingList(1_030, {
      respond: (page) => ({ ...page, value: [...page.value, ...page.value], note: "x" }),
    });
    const page = await list.paginator({ page: 2, pageSize: 100, readAhead: 5 }).page();
    expect(page).toMatchObject({ page: 2, pageSize: 100, totalCount: 1_030, pageCount: 11, hasMore: true, note: "x" });
    expect(page.value.length).toBe(200);
    expect(list.requests).toEqual([{ page: 2, pageSize: 100 }]);
  });

  it("returns an empty list as one empty page", async () => {
    const pages = await collect(new ChangingList(0).paginator().pages());
    expect(pages).toMatchObject([{ value: [], totalCount: 0, hasMore: false }]);
    expect(await new ChangingList(0).paginator({ gapless: true }).toArray()).toEqual([]);
  });

  it("rejects invalid arguments at first use and never throws", async () => {
    const wrong = new InputValidationError("list", [{ path: ["pageSize"], message: "must be positive" }]);
    const paginator = new Paginator(() => {
      throw wrong;
    });
    await expect(paginator.page()).rejects.toBe(wrong);
    await expect(paginator.toArray()).rejects.toBe(wrong);
    await expect(paginator.toArray({ limit: 0 })).rejects.toBe(wrong);
    await expect(paginator.pages().next()).rejects.toBe(wrong);
    const records = paginator[Symbol.asyncIterator]();
    await expect(records.next()).rejects.toBe(wrong);
    expect((await records.next()).done).toBe(true);
  });

  it("returns the results of parallel next() calls in order", async () => {
    const list = new ChangingList(600);
    const records = list.paginator()[Symbol.asyncIterator]();
    const results = await Promise.all(Array.from({ length: 602 }, () => records.next()));
    expect(results.slice(0, 600).map(({ value }) => value)).toEqual(list.lots);
    expect(results.slice(600).map(({ done }) => done)).toEqual([true, true]);
  });

  it("rethrows what is thrown into it, after ending the iteration", async () => {
    const list = new ChangingList(600);
    const records = list.paginator()[Symbol.asyncIterator]();
    await records.next();
    await expect(records.throw?.(new Error("mine"))).rejects.toThrow("mine");
    expect((await records.next()).done).toBe(true);
  });
});

describe("all records as an array", () => {
  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses the limit %d", async (limit) => {
    const list = new ChangingList(10);
    await expect(list.paginator().toArray({ limit })).rejects.toThrow(InputValidationError);
    expect(list.requests).toEqual([]);
  });

  it.each([
    { limit: 0, requests: 0 },
    { limit: 1, requests: 1 },
    { limit: 251, requests: 2 },
    { limit: 2_000, requests: 4 },
  ])("of $limit needs $requests requests, whatever is read ahead", async ({ limit, requests }) => {
    for (const ahead of [{}, { readAhead: 5 }, { readAhead: 8 }]) {
      const list = new ChangingList(1_000);
      expect(await list.paginator(ahead).toArray({ limit })).toEqual(list.lots.slice(0, limit));
      expect(list.requests.length).toBe(requests);
    }
  });
});

async function collect<T>(pages: AsyncIterable<Page<T>>): Promise<Page<T>[]> {
  const all: Page<T>[] = [];
  for await (const page of pages) all.push(page);
  return all;
}
