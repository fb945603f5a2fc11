import * as z from "zod";
import { type Item, itemSchema } from "../../service/item.js";
import { comparableSku } from "../../service/key.js";
import { MAX_PAGE_SIZE } from "../../service/lists.js";
import { READS } from "../../service/operations.js";
import { lazy } from "../../shared/schema.js";
import { fieldOf } from "../../shared/unknown.js";
import { createPageReader } from "../lists/decode-page.js";
import { isListCheaper } from "../lists/effort.js";
import type { ApiRequest } from "../send/call.js";
import type { Requester } from "../send/requester.js";
import { createJsonReader, invalidResponseError } from "../send/response.js";
import type { SortedList } from "./sorted-list.js";

export const itemReader = /* @__PURE__ */ createJsonReader(itemSchema);

/** The request for one item. Source: service interface, "GET /Item". */
export const itemRequest = (key: string, type: "id" | "alias"): ApiRequest<Item> => ({
  method: "GET",
  path: READS.readItems.path,
  query: { key, type },
  read: itemReader,
});

export const pagesOf = (total: number) => Math.max(1, Math.ceil(total / MAX_PAGE_SIZE));

const anyItemPageReader = /* @__PURE__ */ createPageReader<unknown>(/* @__PURE__ */ lazy(() => z.unknown()));

/**
 * Reads part numbers from the list of items. Ends after the first page if the list has at least as many pages as there are SKUs:
 * then looking them up one by one is cheaper.
 */
export async function readPartNos(
  { group, list }: { group: Requester; list: Pick<SortedList<unknown>, "memory"> },
  shortIDs: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const partNos = new Map<string, number>();
  for (let number = 1; ; number += 1) {
    const query = { page: number, pageSize: MAX_PAGE_SIZE };
    const request = { method: "GET", path: READS.listAllItems.path, query, read: anyItemPageReader(query) };
    const page = await group.send({ ...request, priority: number === 1 ? undefined : "low" });
    // An estimate of the length of the searched list, until a page of that list shows its length.
    list.memory.total ||= page.totalCount;
    for (const item of page.value) {
      const [shortID, partNo] = [fieldOf(item, "shortID"), fieldOf(item, "partNo")];
      if (typeof shortID === "string" && shortIDs.has(shortID) && Number.isSafeInteger(partNo))
        partNos.set(shortID, Number(partNo));
    }
    // The caller looks up the other SKUs one by one. The last condition ends a list that always reports more pages.
    const isLonger = !isListCheaper(shortIDs.size, page.totalCount);
    if (partNos.size === shortIDs.size || isLonger || !page.hasMore || number > 2 * pagesOf(page.totalCount))
      return partNos;
  }
}

/**
 * Returns the request for an item's part number. The search depends on it, so it must be an integer in every validation mode. An
 * item with another SKU than requested is an error.
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
