import { MAX_PAGE_SIZE } from "../../service/lists.js";
import type { Lot } from "../../service/lot.js";
import type { InventoryList } from "../lists/inventory-lists.js";
import { openReader } from "../lists/list.js";
import type { Requester } from "../send/requester.js";

/** The longest list, in pages, that is read to look up a receipt. */
const MAX_WHOLE_LIST_PAGES = 100;

/** The lots of a whole list, and whether they are all. */
export interface WholeList {
  lots: Lot[];
  /**
   * - `complete`: the numbers ascended and are as many as the service counts, or two readings show the same lots
   * - `short`: two readings show the same lots, but fewer than the service counts. A client with a scope may always see that
   * - `unclear`: two readings differ
   */
  extent: "complete" | "short" | "unclear";
}

/**
 * Reads all lots, or those of a warehouse, by ascending number, so that new lots come last. Returns `undefined` if the list is
 * too long.
 */
export async function readWholeList(
  group: Requester,
  list: InventoryList<Lot>,
  params: { wid?: number } = {},
): Promise<WholeList | undefined> {
  const first = await readOnce(group, list, params);
  if (!first) return undefined;
  if (first.hasAscended && first.isCounted) return { lots: first.lots, extent: "complete" };
  const second = await readOnce(group, list, params);
  if (!second) return undefined;
  const numbers = new Set(first.lots.map(({ recNo }) => recNo));
  const isSame = second.lots.length === first.lots.length && second.lots.every(({ recNo }) => numbers.has(recNo));
  const isShort = !first.isCounted || !second.isCounted;
  return { lots: [...first.lots, ...second.lots], extent: isSame ? (isShort ? "short" : "complete") : "unclear" };
}

/** `isCounted`: whether there are as many lots as the service counts. */
async function readOnce(group: Requester, list: InventoryList<Lot>, params: { wid?: number }) {
  const reader = openReader(group, list(params, { gapless: true, readAhead: 0 }), { provesEnd: true });
  const lots: Lot[] = [];
  let last = -Infinity;
  let hasAscended = true;
  for await (const { value, totalCount, pageSize } of reader.pages()) {
    if (totalCount > MAX_WHOLE_LIST_PAGES * Math.min(pageSize, MAX_PAGE_SIZE)) return undefined;
    for (const lot of value) {
      hasAscended &&= lot.recNo > last;
      last = lot.recNo;
      lots.push(lot);
    }
  }
  return { lots, hasAscended, isCounted: reader.isComplete };
}
