import { type Lot, NotFoundError } from "stocklot";
import { describe, expect, it } from "vitest";
import { judgeReceipt } from "../../src/client/find/judge-receipt.js";
import { type LotViews, readLotViews } from "../../src/client/find/lot-views.js";
import { createListMemory, type SortedList } from "../../src/client/search/sorted-list.js";
import { newLot, pageOf } from "../support/records.js";

type Order = (one: Lot, next: Lot) => number;

const byRecNo: Order = (one, next) => one.recNo - next.recNo;
const mostRecentFirst: Order = (one, next) => (one.received < next.received ? 1 : -1) || byRecNo(next, one);

interface Given {
  lots: Lot[];
  /** The order without `sort`. */
  own?: Order;
  /** The order with `sort=recNo&direction=ASC`. */
  numbered?: Order;
  /** Changes the lots before a page is cut. */
  change?: (lots: Lot[], page: number) => void;
  envelope?: object;
  /** The error for a page beyond the last one. */
  beyond?: Error;
}

const PAGE_SIZE = 10;

/** Reads both views of these lots above a number. Returns what they show, and the number of pages. */
async function decodedTextsOf(
  { lots, own = mostRecentFirst, numbered = byRecNo, change, envelope, beyond }: Given,
  above: number,
) {
  let pages = 0;
  const cut = (order: Order, { page, pageSize }: { page: number; pageSize: number }) => {
    pages += 1;
    change?.(lots, pages);
    if (beyond && page > 1 && (page - 1) * pageSize >= lots.length) throw beyond;
    const query = new URLSearchParams({ page: String(page), pageSize: String(pageSize) });
    return { ...pageOf(lots.toSorted(order), query, PAGE_SIZE), ...envelope };
  };
  const list: SortedList<Lot> = {
    label: "GET /Inventory",
    column: "recNo",
    isUnique: true,
    memory: createListMemory(PAGE_SIZE),
    pages: [],
    shown: [],
    unsorted: [],
    numberOf: ({ recNo }) => recNo,
    keyOf: ({ recNo }) => recNo,
    fetch: async (request, direction) =>
      cut(direction === "DESC" ? (one, next) => numbered(next, one) : numbered, request),
  };
  const fetch = async (request: { page: number; pageSize: number }) => cut(own, request);
  const views = await readLotViews({ label: "GET /Inventory", pageSize: PAGE_SIZE, fetch, numbered: list }, above);
  return { ...views, pages };
}

const dated = (recNo: number, fields: Partial<Lot> = {}) =>
  newLot({ recNo, received: new Date(1_700_000_000_000 + recNo * 1_000).toISOString(), ...fields });
const manyLots = (count: number) => Array.from({ length: count }, (_, index) => dated(index + 1));
const shownAbove = ({ lots }: LotViews, above: number) =>
  [...new Set(lots.map(({ recNo }) => recNo).filter((recNo) => recNo > above))].sort((one, next) => one - next);

describe("two views of the lots above a number", () => {
  it("are one request each if there are none, once the order by number is proved", async () => {
    const views = await decodedTextsOf({ lots: manyLots(200) }, 200);
    expect(views).toMatchObject({ isComplete: true });
    // Proving the order takes five more pages.
    expect(views.pages).toBe(7);
  });

  it("show all of them, on as many pages as needed", async () => {
    const views = await decodedTextsOf({ lots: manyLots(200) }, 165);
    expect(views.isComplete).toBe(true);
    expect(shownAbove(views, 165)).toHaveLength(35);
  });

  it("end where the service refuses a further page, but not where a proxy does", async () => {
    const refusal = { status: 404, code: "not_found", message: "No.", method: "GET", path: "/Inventory" };
    const refusedBy = (isFromService: boolean) =>
      new NotFoundError({ ...refusal, headers: {}, attempts: 1, isFromService });
    const lots = manyLots(8);
    const views = await decodedTextsOf({ lots, beyond: refusedBy(true) }, 0);
    expect(views.isComplete).toBe(true);
    await expect(decodedTextsOf({ lots, beyond: refusedBy(false) }, 0)).rejects.toThrow(NotFoundError);
  });

  const group = (lots: Lot[], isInGroup: (lot: Lot) => boolean): Order => {
    const members = new Set(lots.filter(isInGroup));
    return (one, next) => Number(members.has(one)) - Number(members.has(next)) || byRecNo(one, next);
  };

  it.each<[string, (lots: Lot[]) => Partial<Given>]>([
    [
      "a placeholder puts a new lot last in the first view",
      (lots) => {
        Object.assign(lots.at(-1) ?? {}, { received: "0001-01-01T00:00:00" });
        return {};
      },
    ],
    [
      "the second view begins with lots on hold",
      (lots) => {
        for (const lot of lots) lot.hold = lot.recNo % 20 === 0;
        return { numbered: group(lots, ({ hold }) => hold) };
      },
    ],
    [
      "both views begin with lots on hold",
      (lots) => {
        for (const lot of lots) lot.hold = lot.recNo % 20 === 0;
        const order = group(lots, ({ hold }) => hold);
        return { numbered: order, own: (one, next) => order(next, one) };
      },
    ],
    [
      "both views begin with a few neighbours on hold",
      (lots) => {
        for (const lot of lots) lot.hold = lot.recNo > 120 && lot.recNo < 150;
        const order = group(lots, ({ hold }) => hold);
        return { numbered: order, own: (one, next) => order(next, one) };
      },
    ],
    ["the direction is ignored", () => ({ numbered: () => 0 })],
    ["the service says that no page follows", () => ({ envelope: { hasMore: false } })],
    ["the count is too small", () => ({ envelope: { totalCount: 3 } })],
  ])("are not complete without the new lot if %s", async (_, form) => {
    const lots = manyLots(200);
    const given = { lots, ...form(lots) };
    const views = await decodedTextsOf(given, 199);
    if (views.isComplete) expect(shownAbove(views, 199)).toEqual([200]);
  });

  it("are not complete if each says that its first page is the whole list, and shows only later lots", async () => {
    const lots = manyLots(200);
    const lost = lots.find(({ recNo }) => recNo === 151);
    expect(lost).toBeDefined();
    const views = await decodedTextsOf(
      { lots, envelope: { hasMore: false, totalCount: PAGE_SIZE, pageCount: 1 } },
      150,
    );
    expect(views.isComplete).toBe(false);
  });

  it("are complete although new lots come with each page", async () => {
    let next = 200;
    const change = (lots: Lot[]) => {
      next += 1;
      lots.push(dated(next));
    };
    const views = await decodedTextsOf({ lots: manyLots(200), change }, 180);
    expect(views.isComplete).toBe(true);
    expect(shownAbove(views, 180).slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => 181 + index));
  });

  it("lose no lot that moves to a page before when another one is removed", async () => {
    for (let at = 1; at <= 8; at += 1) {
      const change = (lots: Lot[], page: number) => {
        if (page === at) lots.splice(lots.length - 2, 1);
      };
      const views = await decodedTextsOf({ lots: manyLots(200), change }, 170);
      if (views.isComplete) expect(shownAbove(views, 170).length, `before page ${at}`).toBeGreaterThanOrEqual(29);
    }
  });
});

describe("the lots that were shown", () => {
  const judge = (lot: Partial<Lot>, given: Partial<Parameters<typeof judgeReceipt>[1]> = {}) =>
    judgeReceipt([newLot({ recNo: 11, partNo: 7, shortID: "BOLT", remark: "", ...lot })], {
      itemID: "BOLT",
      partNo: 7,
      lastRecNo: 10,
      isOwn: ({ remark }) => remark === "own",
      showsOwn: ({ remark }) => remark.includes("own"),
      isOthers: ({ remark }) => remark.startsWith("other"),
      mayBeOwn: () => true,
      mayBeOwnOfOtherItem: ({ serial }) => serial === "S",
      ...given,
    }).outcome;

  it.each<[string, Partial<Lot>, string]>([
    ["a later lot of its own", { remark: "own" }, "applied"],
    ["a later lot of its own, listed under another item", { remark: "own", partNo: 9, shortID: "NUT" }, "applied"],
    ["a later lot of its own, without a part number", { remark: "own", partNo: 0 }, "applied"],
    ["an earlier lot that shows its own text", { remark: "own", recNo: 10 }, "ambiguous"],
    ["a later lot that shows its own text behind another one", { remark: "other; own" }, "ambiguous"],
    ["an earlier lot", { recNo: 10 }, "none"],
    ["a later lot of another receipt", { remark: "other" }, "none"],
    ["a later lot that is nobody's", {}, "ambiguous"],
    ["the same in another spelling of the SKU", { partNo: 9, shortID: " bolt" }, "ambiguous"],
    ["a later lot of another item", { partNo: 9, shortID: "NUT" }, "none"],
    ["a later lot of another item with an equal text", { partNo: 9, shortID: "NUT", serial: "S" }, "ambiguous"],
  ])("are judged: %s", (_, lot, outcome) => {
    expect(judge(lot)).toBe(outcome);
  });

  it("are all candidates if no number was seen", () => {
    expect(judge({ recNo: 1, remark: "own" }, { lastRecNo: undefined })).toBe("applied");
    expect(judge({ recNo: 1 }, { lastRecNo: undefined, mayBeOwn: () => false })).toBe("none");
  });
});
