import type { Lot } from "../../service/lot.js";
import { undefinedIf } from "../../shared/unknown.js";
import type { Page, PageRequest } from "../lists/page.js";
import { assertRequestedPage, endOf, isCountPossible, isRefusalOfPage } from "../lists/page-end.js";
import { proveOrder } from "../search/prove-order.js";
import { readEnd, readSorted, type SortedList, unlessUnsearchable } from "../search/sorted-list.js";
import { isCandidate } from "./judge-receipt.js";

/*
 * Two views of the lots above a record number:
 *
 *   recent    in the documented order, most recent first, without `sort`: read until a page has no lot above the number
 *   numbered  by descending `recNo`: read until a page has a lot that is not above the number
 *
 * Each order alone can deceive. In `recent`, a lot with a placeholder for a date stands last. In `numbered`, a lot stands last if
 * the service sorts by another column first. There is no further lot if both views are read without a contradiction and show
 * the same lots. A lot that only `numbered` shows, with a number above all others, was created between the two readings.
 */

/** The most pages of one view. If there are more, the caller reads the whole list, or gives up. */
const MAX_VIEW_PAGES = 20;
/** How many times both views are read if the list changes between two requests. */
const MAX_TRIES = 3;

export interface LotViews {
  /** All lots on the pages that were read. */
  lots: Lot[];
  /** Whether these are all lots above the number. */
  isComplete: boolean;
}

/** The list in one order, read as far as needed. */
interface View {
  lots: Lot[];
  /** The numbers above the bound. */
  numbers: Set<number>;
  /** Whether no page contradicts itself or another page. */
  isConsistent: boolean;
}

/** A list of lots for one call: `fetch` reads it in the documented order, `numbered` by number. */
export interface LotList {
  label: string;
  pageSize: number;
  fetch(request: PageRequest): Promise<Page<Lot>>;
  numbered: SortedList<Lot>;
}

export async function readLotViews(list: LotList, above: number): Promise<LotViews> {
  const lots: Lot[] = [];
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const recent = await readRecent(list, above);
    const numbered = await readNumbered(list, above);
    lots.push(...recent.lots, ...(numbered?.lots ?? []));
    if (!numbered) break;
    if (recent.isConsistent && numbered.isConsistent && agree(recent, numbered, above)) {
      const isProven = await proveOrder(list.numbered).then(() => true, unlessUnsearchable);
      return { lots, isComplete: isProven ?? false };
    }
  }
  return { lots, isComplete: false };
}

/** Whether both views show the same lots, apart from lots that were created between the two readings. */
function agree(recent: View, numbered: View, above: number): boolean {
  const highest = Math.max(above, ...recent.numbers);
  return (
    [...recent.numbers].every((number) => numbered.numbers.has(number)) &&
    [...numbered.numbers].every((number) => recent.numbers.has(number) || number > highest)
  );
}

async function readRecent({ label, pageSize, fetch }: LotList, above: number): Promise<View> {
  const read = async (page: number) => {
    const served = await fetch({ page, pageSize });
    assertRequestedPage(label, served, { page, pageSize });
    return {
      lots: served.value,
      total: served.totalCount,
      isLast: !served.hasMore,
      isSound: isCountPossible(served) && (served.hasMore || endOf(served) === "end"),
    };
  };
  const isBehind = (lots: readonly Lot[]) => !lots.some((lot) => isCandidate(lot, above));
  return readView(read, isBehind, above);
}

/** Returns `undefined` if the service does not sort by number. */
async function readNumbered({ numbered: list }: LotList, above: number): Promise<View | undefined> {
  if (list.memory.refutation !== undefined) return undefined;
  // Pages of earlier look-ups show an older state of the list.
  list.pages = [];
  let last = Infinity;
  const seen = new Set<number>();
  const read = async (number: number) => {
    const request = { page: number, pageSize: list.memory.maxPageSize };
    const page = number === 1 ? await readEnd(list, "DESC") : await readSorted(list, request, "DESC");
    const lots = page.records.toReversed();
    const numbers = page.numbers.toReversed();
    // If new lots were added at the beginning, lots of the previous page have moved to this page.
    const further = numbers.filter((one) => !seen.has(one));
    const isDescending = further.every((one, index) => one < (further[index - 1] ?? last));
    for (const one of numbers) seen.add(one);
    last = Math.min(last, ...numbers);
    const isEmpty = lots.length === 0;
    const isSound = isDescending && page.isCounted && (!isEmpty || page.isFirst);
    return { lots, total: page.total, isLast: page.isFirst || isEmpty, isSound };
  };
  const isBehind = (lots: readonly Lot[]) => lots.some((lot) => !isCandidate(lot, above));
  return readView(read, isBehind, above).catch(unlessUnsearchable);
}

interface ViewPage {
  lots: readonly Lot[];
  total: number;
  /** Whether no page follows. */
  isLast: boolean;
  /** Whether the page contradicts neither itself nor the pages before. */
  isSound: boolean;
}

async function readView(
  read: (page: number) => Promise<ViewPage>,
  isBehind: (lots: readonly Lot[]) => boolean,
  above: number,
): Promise<View> {
  const first = await read(1);
  const view: View = { lots: [...first.lots], numbers: new Set(), isConsistent: first.isSound };
  let page = first;
  let number = 1;
  while (!page.isLast && !isBehind(page.lots) && number < MAX_VIEW_PAGES && view.isConsistent) {
    number += 1;
    page = await read(number);
    view.lots.push(...page.lots);
    // A short page in the middle lacks lots.
    view.isConsistent &&= page.isSound && (page.isLast || page.lots.length === first.lots.length);
  }
  if (!page.isLast && !isBehind(page.lots)) view.isConsistent = false;
  // Every lot so far is above the number. That no other lot follows is only known from `hasMore`, so the next page is
  // read, too.
  if (page.isLast && page.lots.length > 0 && view.lots.every((lot) => isCandidate(lot, above)))
    view.isConsistent &&= await isEnd(read, number, view);
  if (number > 1 && view.isConsistent) view.isConsistent = await hasOnlyGrown(read, first, view);
  for (const lot of view.lots) if (isCandidate(lot, above)) view.numbers.add(lot.recNo);
  return view;
}

/** Whether the page after the last page shows no further lot. A service may also refuse that page. */
async function isEnd(read: (page: number) => Promise<ViewPage>, last: number, view: View): Promise<boolean> {
  const shown = new Set(view.lots.map(({ recNo }) => recNo));
  const { lots = [] } = (await read(last + 1).catch(undefinedIf(isRefusalOfPage))) ?? {};
  view.lots.push(...lots);
  return lots.every(({ recNo }) => shown.has(recNo));
}

/**
 * Whether lots were only added at the beginning while the pages were read. If a lot was removed, another lot may have
 * moved to a page that was already read.
 */
async function hasOnlyGrown(read: (page: number) => Promise<ViewPage>, first: ViewPage, view: View): Promise<boolean> {
  const again = await read(1);
  view.lots.push(...again.lots);
  const added = again.lots.findIndex(({ recNo }) => recNo === first.lots[0]?.recNo);
  return added >= 0 && again.total - first.total === added;
}
