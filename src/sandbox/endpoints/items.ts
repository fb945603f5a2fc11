import * as z from "zod";
import type { Item } from "../../service/item.js";
import { createItemInputSchema } from "../../service/item-input.js";
import { integer } from "../../shared/schema.js";
import { parseBodyFields, requiredString } from "../http/body.js";
import { badRequestError, conflictError, jsonResponse, notFoundError, type SandboxResponse } from "../http/messages.js";
import { withoutUndefined } from "../options/settings.js";
import { DEFAULT_ITEM_FIELDS } from "../state.js";
import type { StoredItem } from "../store/item-catalog.js";
import type { EndpointContext } from "./endpoint.js";
import { listPageResponse } from "./lists.js";

/** GET /Item: one item by key, the items of a category, or a page of the active ones. */
export function handleGetItems(context: EndpointContext): SandboxResponse {
  const { query } = context;
  if (query.has("key") || query.has("type")) return handleGetItemByKey(context);
  if (query.has("Category")) return handleListItemsOfCategory(context);
  return itemPageResponse(context, "active");
}

/** GET /Item/All: discontinued items as well. */
export function handleListAllItems(context: EndpointContext): SandboxResponse {
  return itemPageResponse(context, "all");
}

export function handleGetItemByPartNo(context: EndpointContext): SandboxResponse {
  const partNo = context.param ?? "";
  const stored = /^\d+$/.test(partNo) ? context.state.catalog.findByPartNo(Number(partNo)) : undefined;
  if (!stored) throw notFoundError(`There is no item with part number ${partNo}.`);
  return jsonResponse(200, stored.item);
}

function handleGetItemByKey({ query, state }: EndpointContext): SandboxResponse {
  const key = query.get("key");
  const type = query.get("type");
  if (key === null || (type !== "id" && type !== "alias")) {
    throw badRequestError("An item is looked up by key together with type=id or type=alias.");
  }
  const stored = type === "id" ? state.catalog.findBySku(key) : state.catalog.findByAlias(key);
  if (!stored) throw notFoundError(type === "id" ? `Item ${key} was not found.` : `Alias ${key} was not found.`);
  return jsonResponse(200, stored.item);
}

/** A flat array, without an envelope. */
function handleListItemsOfCategory({ query, state }: EndpointContext): SandboxResponse {
  const category = query.get("Category") ?? "";
  if (!/^-?\d+$/.test(category)) throw badRequestError("Category must be an integer.");
  const found = state.catalog.records
    .ascending()
    .filter(({ item }) => !item.discontinued && item.category === Number(category));
  return jsonResponse(
    200,
    found.map(({ item }) => item),
  );
}

function itemPageResponse(context: EndpointContext, which: "active" | "all"): SandboxResponse {
  const { state } = context;
  return listPageResponse<StoredItem, keyof Item>(context, {
    name: "items",
    records: state.catalog.records,
    defaultDirection: "ASC",
    shows: ({ item }) => which === "all" || !item.discontinued,
    modifiedAt: ({ modifiedAt }) => modifiedAt,
    toBody: ({ item }) => item,
  });
}

/** The fields of a create and an update. Some have another name in the quick start, which a create takes, too. */
const itemRequestSchema = z.object({ ...createItemInputSchema().shape, shortID: requiredString() });

const quickStartItemRequestSchema = itemRequestSchema.extend({
  unit: z.string().optional(),
  categoryID: integer().optional(),
});

/** POST /Item. A new item is active, whatever is sent. */
export function handleCreateItem(context: EndpointContext): SandboxResponse {
  const { state, settings, now } = context;
  const sent = parseBodyFields(quickStartItemRequestSchema, context.json());
  const { shortID, discontinued: _ignored, unit, categoryID, ...own } = sent;
  // If both names are sent, the name in the item object takes precedence.
  const fields = withoutUndefined({ ...own, uOM: own.uOM ?? unit, category: own.category ?? categoryID });
  // The document states both 400 and 409 for a SKU that exists.
  if (state.catalog.findBySku(shortID)) throw conflictError(`An item with ShortID ${shortID} already exists.`);

  const stored = state.catalog.create({ ...DEFAULT_ITEM_FIELDS, ...fields, shortID }, now);
  if (settings.createForm === "reference") return jsonResponse(201, { shortID, status: "created" });
  return jsonResponse(201, { ...stored.item, active: true });
}

/** PUT /Item. Part number, SKU, creation time and creator are preserved, whatever is sent. */
export function handleUpdateItem(context: EndpointContext): SandboxResponse {
  const { shortID, ...fields } = parseBodyFields(itemRequestSchema, context.json());
  const stored = findExistingItem(context, shortID);
  const { description } = stored.item;
  const changes: Partial<Item> = withoutUndefined(fields);
  context.state.catalog.update(stored, changes, context.now);
  if (stored.item.description !== description) {
    context.state.lots.setDescription(stored.item.partNo, stored.item.description);
  }
  return jsonResponse(200, { shortID, status: "updated" });
}

/** DELETE /Item/{shortID}: the item and its lots remain. */
export function handleDiscontinueItem(context: EndpointContext): SandboxResponse {
  const stored = findExistingItem(context, context.param ?? "");
  context.state.catalog.update(stored, { discontinued: true }, context.now);
  return jsonResponse(200, { shortID: stored.item.shortID, status: "discontinued" });
}

function findExistingItem({ state }: EndpointContext, shortID: string): StoredItem {
  const stored = state.catalog.findBySku(shortID);
  if (!stored) throw notFoundError(`Item ${shortID} was not found.`);
  return stored;
}
