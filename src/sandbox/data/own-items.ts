import type { Item } from "../../schemas/item.js";
import { assertUnique } from "../checks/demand-unique.js";
import { isoTime } from "../clock.js";
import { withoutUndefined } from "../defined.js";
import type { SandboxItem, SandboxLot } from "../options.js";
import { FIRST_PART_NO } from "./generated-items.js";

/** The caller's items with every missing field filled in. Throws a `TypeError` when two share a SKU or part number. */
export function userItems(given: readonly SandboxItem[], now: number): Item[] {
  const partNos = new Set(given.map(({ partNo }) => partNo));
  let next = FIRST_PART_NO;
  const items = given.map((item): Item => {
    while (item.partNo === undefined && partNos.has(next)) next += 1;
    const created = item.created ?? isoTime(now);
    return {
      ...EMPTY_ITEM,
      ...withoutUndefined(item),
      partNo: item.partNo ?? next++,
      created,
      modified: item.modified ?? created,
    };
  });
  assertUnique("items", "shortID", items);
  assertUnique("items", "partNo", items);
  return items;
}

/** Items that the caller's lots name by SKU though no list of items has them. */
export function itemsNamedBy(lots: readonly SandboxLot[], known: readonly SandboxItem[]): SandboxItem[] {
  const skus = new Set(known.map(({ shortID }) => shortID));
  const named: SandboxItem[] = [];
  for (const { shortID, partNo, description } of lots) {
    if (shortID === undefined || skus.has(shortID)) continue;
    skus.add(shortID);
    named.push({ shortID, ...(partNo !== undefined && { partNo }), ...(description !== undefined && { description }) });
  }
  return named;
}

/** What an item is when nothing was said about it, with the fields in the document's order. */
export const EMPTY_ITEM: Item = {
  partNo: 0,
  shortID: "",
  description: "",
  category: 0,
  subCategory: 0,
  uOM: "EA",
  putUp: "",
  units: 1,
  dfltOwner: 0,
  created: "",
  modified: "",
  discontinued: false,
};
