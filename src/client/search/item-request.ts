import { type Item, itemSchema } from "../../service/item.js";
import { READS } from "../../service/operations.js";
import type { ApiRequest } from "../send/call.js";
import { createJsonReader } from "../send/response.js";

export const itemReader = /* @__PURE__ */ createJsonReader(itemSchema);

/** The request for one item. Source: service interface, "GET /Item". */
export const itemRequest = (key: string, type: "id" | "alias"): ApiRequest<Item> => ({
  method: "GET",
  path: READS.readItems.path,
  query: { key, type },
  read: itemReader,
});
