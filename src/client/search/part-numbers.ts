import * as z from "zod";
import type { Item } from "../../service/item.js";
import { comparableSku } from "../../service/key.js";
import { MAX_PAGE_SIZE } from "../../service/lists.js";
import { READS } from "../../service/operations.js";
import { lazy } from "../../shared/schema.js";
import { fieldOf } from "../../shared/unknown.js";
import { createPageReader } from "../lists/decode-page.js";
import { isListCheaper } from "../lists/effort.js";
import type { ApiRequest } from "../send/call.js";
import type { Requester } from "../send/requester.js";
import { invalidResponseError } from "../send/response.js";
import { itemRequest } from "./item-request.js";
import type { SortedList } from "./sorted-list.js";

export const pagesOf = (total: number) => Math.max(1, Math.ceil(total / MAX_PAGE_SIZE));

const anyItemPageReader = /* @__PURE__ */ createPageReader<unknown>(/* @__PURE__ */ lazy(() => z.unknown()));

/** The part numbers of items by the list of items, unless its first page shows that it is longer than they are many. */
export async function readPartNos(
  { group, list }: { group: Requester; list: Pick<SortedList<unknown>, "memory"> },
  shortIDs: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const partNos = new Map<string, number>();
  for (let number = 1; ; number += 1) {
    const query = { page: number, pageSize: MAX_PAGE_SIZE };
    const request = { method: "GET", path: READS.listAllItems.path, query, read: anyItemPageReader(query) };
    const page = await group.send({ ...request, priority: number === 1 ? undefined : "low" });
    // Until a page of the list itself has been read.
    list.memory.total ||= page.totalCount;
    for (const item of page.value) {
      const [shortID, partNo] = [fieldOf(item, "shortID"), fieldOf(item, "partNo")];
      if (typeof shortID === "string" && shortIDs.has(shortID) && Number.isSafeInteger(partNo))
        partNos.set(shortID, Number(partNo));
    }
    // The rest is looked up one by one, also if the list never ends.
    const isLonger = !isListCheaper(shortIDs.size, page.totalCount);
    if (partNos.size === shortIDs.size || isLonger || !page.hasMore || number > 2 * pagesOf(page.totalCount))
      return partNos;
  }
}

/**
 * Requests the item's part number, which must be an integer however strictly responses are validated: the search is based on
 * it. An item with another SKU says nothing about the one that was asked for.
 */
export function partNoRequest(shortID: string): ApiRequest<number> {
  const request = itemRequest(shortID, "id");
  return {
    ...request,
    async read(context) {
      const { partNo, shortID: served }: Partial<Item> = await request.read(context);
      if (served !== undefined && comparableSku(String(served)) !== comparableSku(shortID))
        throw invalidResponseError(context, [{ path: ["shortID"], message: `expected "${shortID}"` }]);
      if (partNo !== undefined && Number.isSafeInteger(partNo)) return partNo;
      throw invalidResponseError(context, [{ path: ["partNo"], message: "expected an integer" }]);
    },
  };
}
