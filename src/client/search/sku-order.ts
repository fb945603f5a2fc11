import { fieldOf } from "../../shared/unknown.js";
import { textOrders } from "../lists/sorted.js";
import { type SortedList, type SortedPage, UnsearchableListError } from "./sorted-list.js";

/** An item whose records are searched. */
export interface SearchedItem {
  partNo: number;
  /** Its SKU, if that is known. */
  shortID?: string | undefined;
}

/**
 * Checks that the item also fits between its neighbours in the order of SKUs. Part numbers are often assigned in the
 * order of SKUs. In such a list, the pages do not show whether the service sorts by part number or by SKU.
 *
 * @param neighbours The records before and after the place of the part number, if there are any.
 * @throws UnsearchableListError if all pages of this call are in an order of SKUs in which the item belongs elsewhere.
 */
export function assertFitsOrderOfSkus<T>(
  { label, pages }: SortedList<T>,
  { shortID }: SearchedItem,
  neighbours: { before: T | undefined; after: T | undefined },
): void {
  if (shortID === undefined) return;
  const [before, after] = [skuOf(neighbours.before), skuOf(neighbours.after)];
  if (before === undefined && after === undefined) return;
  const skus = skusInOrder(pages);
  if (new Set(skus).size < 2) return;
  for (const order of textOrders()) {
    for (const sign of [1, -1]) {
      const compare = (one: string, next: string) => sign * order(one, next);
      const isInOrder = skus.every((sku, index) => index === 0 || compare(skus[index - 1] ?? "", sku) <= 0);
      const fits =
        (before === undefined || compare(before, shortID) <= 0) &&
        (after === undefined || compare(shortID, after) <= 0);
      if (isInOrder && !fits) throw new UnsearchableListError(`${label}: its pages are in the order of shortID, too`);
    }
  }
}

const skuOf = (record: unknown): string | undefined => {
  const sku = fieldOf(record, "shortID");
  return typeof sku === "string" ? sku : undefined;
};

/** Returns the SKUs of the pages in the order of the list. Where two pages overlap, the SKUs of the first page count. */
function skusInOrder(pages: readonly SortedPage<unknown>[]): string[] {
  const skus: string[] = [];
  let end = 0;
  for (const { records, start } of pages.toSorted((one, next) => one.start - next.start)) {
    skus.push(...records.slice(Math.max(0, end - start)).flatMap((record) => skuOf(record) ?? []));
    end = Math.max(end, start + records.length);
  }
  return skus;
}
