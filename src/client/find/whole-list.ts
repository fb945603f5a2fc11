import { MAX_PAGE_SIZE } from "../../service/lists.js";
import type { Lot } from "../../service/lot.js";
import { openReader } from "../lists/list.js";
import type { InventoryList } from "../resources/inventory-lists.js";
import type { Sender } from "../send/send.js";

/** A longer list is not read to look up one receipt. */
const MAX_PAGES = 100;

/**
 * Reads all lots by ascending number, which later lots do not disturb. They are complete if the numbers have ascended and are
 * as many as the service counts, or if two readings show the same ones. Returns `undefined` if the list is too long.
 */
export async function readWholeList(
  series: Sender,
  list: InventoryList<Lot>,
): Promise<{ lots: Lot[]; isComplete: boolean } | undefined> {
  const first = await readOnce(series, list);
  if (!first) return undefined;
  if (first.isProven) return { lots: first.lots, isComplete: true };
  const second = await readOnce(series, list);
  if (!second) return undefined;
  const numbers = new Set(first.lots.map(({ recNo }) => recNo));
  const isSame = second.lots.length === first.lots.length && second.lots.every(({ recNo }) => numbers.has(recNo));
  return { lots: [...first.lots, ...second.lots], isComplete: isSame };
}

async function readOnce(
  series: Sender,
  list: InventoryList<Lot>,
): Promise<{ lots: Lot[]; isProven: boolean } | undefined> {
  const reader = openReader(series, list({}, { gapless: true, readAhead: 0 }));
  const lots: Lot[] = [];
  let last = -Infinity;
  let hasAscended = true;
  for await (const { value, totalCount, pageSize } of reader.pages()) {
    if (totalCount > MAX_PAGES * Math.min(pageSize, MAX_PAGE_SIZE)) return undefined;
    for (const lot of value) {
      hasAscended &&= lot.recNo > last;
      last = lot.recNo;
      lots.push(lot);
    }
  }
  return { lots, isProven: hasAscended && reader.isComplete };
}
