import { describe, expect, it } from "vitest";
import { ChangingList, type ListSettings, settle } from "./changing-list.js";

/** Creates a list whose requests wait until the test responds to them. */
function held(size: number, settings: ListSettings = {}) {
  const list = new ChangingList(size);
  list.isHeld = true;
  return { list, paginator: list.paginator({ pageSize: 10, ...settings }) };
}

const pagesOf = ({ requests }: ChangingList) => requests.map(({ page }) => page);

describe("several pages ahead", () => {
  it("waits for the first page, then keeps as many requests in flight as allowed, up to the known end", async () => {
    const { list, paginator } = held(60, { readAhead: 3 });
    const pages = paginator.pages();
    const first = pages.next();
    await settle();
    expect(pagesOf(list)).toEqual([1]);
    await list.respond(1);
    await first;
    expect(pagesOf(list)).toEqual([1, 2, 3, 4]);
    await list.respond(3);
    expect(pagesOf(list)).toEqual([1, 2, 3, 4]);
    await list.respond(2);
    await pages.next();
    expect(pagesOf(list)).toEqual([1, 2, 3, 4, 5]);
    await pages.next();
    expect(pagesOf(list)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("returns pages in order, whatever the order of the responses", async () => {
    const { list, paginator } = held(40, { readAhead: 3 });
    const pages = paginator.pages();
    const results = [pages.next(), pages.next(), pages.next(), pages.next()];
    await list.respond(1);
    await list.respond(4);
    await list.respond(3);
    await list.respond(2);
    expect((await Promise.all(results)).map(({ value }) => value?.page)).toEqual([1, 2, 3, 4]);
  });

  it("plans by the page size that the service applied", async () => {
    const { list, paginator } = held(60, { readAhead: 8, pageSize: 100 });
    const pages = paginator.pages();
    void pages.next();
    const value = Array.from({ length: 20 }, (_, index) => ({ recNo: index + 1 }));
    await list.respond(1, { value, pageSize: 20, pageCount: 3, hasMore: true });
    expect(list.held.map(({ request }) => request)).toEqual([
      { page: 1, pageSize: 100 },
      { page: 2, pageSize: 20 },
      { page: 3, pageSize: 20 },
    ]);
  });
});

describe("a page that fails", () => {
  it("surfaces its error when its turn comes", async () => {
    const { list, paginator } = held(50, { readAhead: 3 });
    const pages = paginator.pages();
    const first = pages.next();
    await list.respond(1);
    await first;
    const failure = new Error("page 3");
    await list.held[2]?.fail(failure);
    await list.respond(2);
    expect((await pages.next()).value?.page).toBe(2);
    await expect(pages.next()).rejects.toBe(failure);
    expect((await pages.next()).done).toBe(true);
  });
});

describe("an iteration that is left early", () => {
  it("aborts what is outstanding when the loop breaks", async () => {
    const { list, paginator } = held(1_000, { readAhead: 3 });
    const loop = (async () => {
      for await (const _page of paginator.pages()) break;
    })();
    await list.respond(1);
    await loop;
    expect(list.held.map(({ signal }) => signal.aborted)).toEqual([false, true, true, true]);
  });

  it.each(["pages", "records"] as const)("does not wait for %s that are pending: it aborts them", async (kind) => {
    const { list, paginator } = held(1_000);
    const iterator = kind === "pages" ? paginator.pages() : paginator[Symbol.asyncIterator]();
    const pending = iterator.next();
    await settle();
    // The source never responds and ignores the signal.
    await iterator.return?.();
    expect(list.held[0]?.signal.aborted).toBe(true);
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("leaves no rejection unhandled, neither of the aborted requests nor of those that fail later", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const { list, paginator } = held(1_000, { readAhead: 4 });
      const pages = paginator.pages();
      const first = pages.next();
      await list.respond(1);
      await first;
      await list.held[2]?.fail(new Error("while reading ahead"));
      const pending = pages.next();
      await pages.return?.();
      await pending;
      for (const open of list.held) await open.fail(new Error("late"));
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });
});
