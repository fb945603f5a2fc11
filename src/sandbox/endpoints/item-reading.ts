import type { EndpointContext } from "../http/call.js";
import { pageResponse } from "../http/paging.js";
import { badRequest, notFound } from "../http/refusal.js";
import { jsonResponse, type SandboxResponse } from "../http/reply.js";
import { toItemBody } from "./item-form.js";

/** GET /Item: one item by key, the items of a category, or a page of the active ones. */
export function readItems(context: EndpointContext): SandboxResponse {
  const { query } = context;
  if (query.has("key") || query.has("type")) return readByKey(context);
  if (query.has("Category")) return readCategory(context);
  return listItems(context, "active");
}

/** GET /Item/All: discontinued items as well. */
export function readAllItems(context: EndpointContext): SandboxResponse {
  return listItems(context, "all");
}

/** GET /Item/{partNo} */
export function readByPartNo(context: EndpointContext): SandboxResponse {
  const partNo = context.params.partNo ?? "";
  const entry = /^\d+$/.test(partNo) ? context.state.catalog.byNumber(Number(partNo)) : undefined;
  if (!entry) throw notFound(`There is no item with part number ${partNo}.`);
  return jsonResponse(200, toItemBody(entry, context.settings));
}

function readByKey({ query, state, settings }: EndpointContext): SandboxResponse {
  const key = query.get("key");
  const type = query.get("type");
  if (key === null || (type !== "id" && type !== "alias")) {
    throw badRequest("An item is looked up by key together with type=id or type=alias.");
  }
  const entry = type === "id" ? state.catalog.bySKU(key) : state.catalog.byAlias(key);
  if (!entry) throw notFound(type === "id" ? `Item ${key} was not found.` : `Alias ${key} was not found.`);
  return jsonResponse(200, toItemBody(entry, settings));
}

/** A flat array, without an envelope. */
function readCategory({ query, state, settings }: EndpointContext): SandboxResponse {
  const category = query.get("Category") ?? "";
  if (!/^-?\d+$/.test(category)) throw badRequest("Category must be a whole number.");
  const items: unknown[] = [];
  for (const partNo of state.catalog.active.ascending()) {
    const entry = state.catalog.byNumber(partNo);
    if (entry?.item.category === Number(category)) items.push(toItemBody(entry, settings));
  }
  return jsonResponse(200, items);
}

function listItems({ query, state, settings }: EndpointContext, which: "active" | "all"): SandboxResponse {
  const { catalog } = state;
  const list = {
    index: catalog[which],
    defaultDirection: "ASC" as const,
    supportsModifiedSince: settings.modifiedSinceOn.includes("items"),
    toJson: (partNo: number) => catalog.toJson(partNo, (entry) => toItemBody(entry, settings)),
  };
  return pageResponse(list, query, settings);
}
