import type { Call } from "../http/call.js";
import { pageReply } from "../http/paging.js";
import { badRequest, notFound } from "../http/refusal.js";
import { json, type Reply } from "../http/reply.js";
import { itemForm } from "./item-form.js";

/** GET /Item: one item by key, the items of a category, or a page of the active ones. */
export function readItems(call: Call): Reply {
  const { query } = call;
  if (query.has("key") || query.has("type")) return readByKey(call);
  if (query.has("Category")) return readCategory(call);
  return listItems(call, "active");
}

/** GET /Item/All: discontinued items as well. */
export function readAllItems(call: Call): Reply {
  return listItems(call, "all");
}

/** GET /Item/{partNo} */
export function readByPartNo(call: Call): Reply {
  const partNo = call.params.partNo ?? "";
  const entry = /^\d+$/.test(partNo) ? call.state.catalogue.byNumber(Number(partNo)) : undefined;
  if (!entry) throw notFound(`There is no item with part number ${partNo}.`);
  return json(200, itemForm(entry, call.settings));
}

function readByKey({ query, state, settings }: Call): Reply {
  const key = query.get("key");
  const type = query.get("type");
  if (key === null || (type !== "id" && type !== "alias")) {
    throw badRequest("An item is looked up by key together with type=id or type=alias.");
  }
  const entry = type === "id" ? state.catalogue.bySKU(key) : state.catalogue.byAlias(key);
  if (!entry) throw notFound(type === "id" ? `Item ${key} was not found.` : `Alias ${key} was not found.`);
  return json(200, itemForm(entry, settings));
}

/** A flat array, without an envelope. */
function readCategory({ query, state, settings }: Call): Reply {
  const category = query.get("Category") ?? "";
  if (!/^-?\d+$/.test(category)) throw badRequest("Category must be a whole number.");
  const items: unknown[] = [];
  for (const partNo of state.catalogue.active.ascending()) {
    const entry = state.catalogue.byNumber(partNo);
    if (entry?.item.category === Number(category)) items.push(itemForm(entry, settings));
  }
  return json(200, items);
}

function listItems({ query, state, settings }: Call, which: "active" | "all"): Reply {
  const { catalogue } = state;
  const list = {
    listing: catalogue[which],
    defaultDirection: "ASC" as const,
    honoursModifiedSince: settings.modifiedSinceOn.includes("items"),
    bytes: (partNo: number) => catalogue.bytes(partNo, (entry) => itemForm(entry, settings)),
  };
  return pageReply(list, query, settings);
}
