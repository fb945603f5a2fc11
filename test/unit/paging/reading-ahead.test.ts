import { describe, expect, it } from "vitest";
import { paginatorOf } from "./changing-list.js";
import { ManualSource, settle } from "./manual-source.js";

describe("several pages ahead", () => {
  it("waits for the first page, then keeps as many requests in flight as allowed, up to the known end", async () => {
    const source = new ManualSource(60, { readAhead: 3 });
    const pages = paginatorOf(source).pages();
    const first = pages.next();
    await settle();
    expect(source.pages).toEqual([1]);
    await source.respond(1);
    await first;
    expect(source.pages).toEqual([1, 2, 3, 4]);
    await source.respond(3);
    expect(source.pages).toEqual([1, 2, 3, 4]);
    await source.respond(2);
    await pages.next();
    expect(source.pages).toEqual([1, 2, 3, 4, 5]);
    await pages.next();
    expect(source.pages).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("returns pages in order, whatever the order of the responses", async () => {
    const source = new ManualSource(40, { readAhead: 3 });
    const pages = paginatorOf(source).pages();
    const results = [pages.next(), pages.next(), pages.next(), pages.next()];
    await source.respond(1);
    await source.respond(4);
    await source.respond(3);
    await source.respond(2);
    expect((await Promise.all(results)).map(({ value }) => value?.page)).toEqual([1, 2, 3, 4]);
  });

  it("plans by the page size that the service applied", async () => {
    const source = new ManualSource(60, { readAhead: 8, pageSize: 100 });
    const pages = paginatorOf(source).pages();
    void pages.next();
    const value = Array.from({ length: 20 }, (_, index) => ({ recNo: index + 1 }));
    await source.respond(1, { value, pageSize: 20, pageCount: 3, hasMore: true });
    expect(source.sent.map(({ request }) => request)).toEqual([
      { page: 1, pageSize: 100 },
      { page: 2, pageSize: 20 },
      { page: 3, pageSize: 20 },
    ]);
  });
});

describe("a page that fails", () => {
  it("surfaces its error when its turn comes", async () => {
    const source = new ManualSource(50, { readAhead: 3 });
    const pages = paginatorOf(source).pages();
    const first = pages.next();
    await source.respond(1);
    await first;
    const failure = new Error("page 3");
    await source.sent[2]?.fail(failure);
    await source.respond(2);
    expect((await pages.next()).value?.page).toBe(2);
    await expect(pages.next()).rejects.toBe(failure);
    expect((await pages.next()).done).toBe(true);
  });
});

describe("an iteration that is left early", () => {
  it.each([
    { readAhead: 0 },
    { readAhead: 1 },
    { readAhead: 5 },
  ])("wastes no more requests than are read ahead: %o", async (settings) => {
    const source = new ManualSource(1_000, settings);
    const pages = paginatorOf(source).pages();
    for (let page = 1; page <= 3; page += 1) {
      const next = pages.next();
      await settle();
      for (const open of source.sent) await open.respond();
      await next;
    }
    for (let round = 0; round < 10; round += 1) for (const open of [...source.sent]) await open.respond();
    await pages.return?.();
    expect(source.sent.length - 3).toBeLessThanOrEqual(settings.readAhead);
    const count = source.sent.length;
    await settle();
    expect(source.sent.length).toBe(count);
  });

  it("aborts what is outstanding when the loop breaks", async () => {
    const source = new ManualSource(1_000, { readAhead: 3 });
    const loop = (async () => {
      for await (const _page of paginatorOf(source).pages()) break;
    })();
    await source.respond(1);
    await loop;
    expect(source.sent.map(({ signal }) => signal.aborted)).toEqual([false, true, true, true]);
  });

  it.each(["pages", "records"] as const)("does not wait for %s that are pending: it aborts them", async (kind) => {
    const source = new ManualSource(1_000);
    const paginator = paginatorOf(source);
    const iterator = kind === "pages" ? paginator.pages() : paginator[Symbol.asyncIterator]();
    const pending = iterator.next();
    await settle();
    // The source never responds and ignores the signal.
    await iterator.return?.();
    expect(source.sent[0]?.signal.aborted).toBe(true);
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("leaves no rejection unhandled, neither of the aborted requests nor of those that fail later", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const source = new ManualSource(1_000, { readAhead: 4 });
      const pages = paginatorOf(source).pages();
      const first = pages.next();
      await source.respond(1);
      await first;
      await source.sent[2]?.fail(new Error("while reading ahead"));
      const pending = pages.next();
      await pages.return?.();
      await pending;
      for (const open of source.sent) await open.fail(new Error("late"));
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });
});
