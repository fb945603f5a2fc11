import * as z from "zod";
import type { Item } from "../../schemas/item.js";
import { EMPTY_ITEM } from "../data/empty-records.js";
import type { EndpointContext } from "../http/endpoint.js";
import { integerField, readFields, requiredStringField } from "../http/fields.js";
import { pageResponse } from "../http/paging.js";
import { jsonResponse, rawJsonResponse, type SandboxResponse } from "../http/response.js";
import { badRequest, errorBody, notFound } from "../http/service-error.js";
import type { Settings } from "../options/settings.js";
import type { CatalogEntry } from "../store/item-catalog.js";
import { withoutUndefined } from "../without-undefined.js";

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
  const entry = /^\d+$/.test(partNo) ? context.state.catalog.findByPartNo(Number(partNo)) : undefined;
  if (!entry) throw notFound(`There is no item with part number ${partNo}.`);
  return jsonResponse(200, toItemBody(entry, context.settings));
}

function readByKey({ query, state, settings }: EndpointContext): SandboxResponse {
  const key = query.get("key");
  const type = query.get("type");
  if (key === null || (type !== "id" && type !== "alias")) {
    throw badRequest("An item is looked up by key together with type=id or type=alias.");
  }
  const entry = type === "id" ? state.catalog.findBySku(key) : state.catalog.findByAlias(key);
  if (!entry) throw notFound(type === "id" ? `Item ${key} was not found.` : `Alias ${key} was not found.`);
  return jsonResponse(200, toItemBody(entry, settings));
}

/** A flat array, without an envelope. */
function readCategory({ query, state, settings }: EndpointContext): SandboxResponse {
  const category = query.get("Category") ?? "";
  if (!/^-?\d+$/.test(category)) throw badRequest("Category must be an integer.");
  const items: unknown[] = [];
  for (const partNo of state.catalog.active.ascending()) {
    const entry = state.catalog.findByPartNo(partNo);
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

const itemFieldsSchema = z.object({
  shortID: requiredStringField(),
  description: z.string().optional(),
  category: integerField().optional(),
  subCategory: integerField().optional(),
  uOM: z.string().optional(),
  putUp: z.string().optional(),
  units: z.number().optional(),
  dfltOwner: integerField().optional(),
  discontinued: z.boolean().optional(),
});

/** The quick-start names beside those of the item object. */
const quickStartSchema = itemFieldsSchema.extend({
  unit: z.string().optional(),
  categoryID: integerField().optional(),
});

/** POST /Item. A new item is active, whatever is sent. */
export function createItem(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const schema = settings.alternateNames ? quickStartSchema : itemFieldsSchema;
  const sent: z.infer<typeof quickStartSchema> = readFields(schema, context.json());
  const { shortID, discontinued: _ignored, unit, categoryID, ...own } = sent;
  // Where both names are sent, that of the item object counts.
  const fields = withoutUndefined({ ...own, uOM: own.uOM ?? unit, category: own.category ?? categoryID });
  if (state.catalog.findBySku(shortID)) return duplicate(shortID, settings.duplicateStatus);

  const item = state.catalog.create({ ...EMPTY_ITEM, ...fields, shortID }, client.clientId, now);
  if (settings.createForm === "reference") return jsonResponse(201, { shortID, status: "created" });
  const form = toItemBody({ item, createdBy: client.clientId, modifiedAt: now }, settings);
  return jsonResponse(201, { ...form, active: true });
}

/** PUT /Item. Part number, SKU, creation time and creator are preserved, whatever is sent. */
export function updateItem(context: EndpointContext): SandboxResponse {
  const { shortID, ...fields } = readFields(itemFieldsSchema, context.json());
  const entry = findExisting(context, shortID);
  const { description } = entry.item;
  const changes: Partial<Item> = withoutUndefined(fields);
  context.state.catalog.update(entry, changes, context.now);
  if (entry.item.description !== description) {
    context.state.lots.setDescription(entry.item.partNo, entry.item.description);
  }
  return jsonResponse(200, { shortID, status: "updated" });
}

/** DELETE /Item/{shortID}: the item and its lots remain. */
export function discontinueItem(context: EndpointContext): SandboxResponse {
  const entry = findExisting(context, context.params.shortID ?? "");
  context.state.catalog.update(entry, { discontinued: true }, context.now);
  return jsonResponse(200, { shortID: entry.item.shortID, status: "discontinued" });
}

function findExisting({ state }: EndpointContext, shortID: string): CatalogEntry {
  const entry = state.catalog.findBySku(shortID);
  if (!entry) throw notFound(`Item ${shortID} was not found.`);
  return entry;
}

/** The document states both 400 and 409 for a SKU that exists. */
function duplicate(shortID: string, status: 400 | 409): SandboxResponse {
  const code = status === 409 ? "conflict" : "bad_request";
  return rawJsonResponse(status, errorBody(status, code, `An item with ShortID ${shortID} already exists.`));
}

/** The item as the service shows it. The type of `createdBy` is not shown in the document, so it is an option. */
function toItemBody({ item, createdBy }: CatalogEntry, settings: Settings): Item {
  if (settings.createdBy === "omit") return item;
  const index = settings.clients.findIndex(({ clientId }) => clientId === createdBy);
  return Object.assign({}, item, { createdBy: settings.createdBy === "text" ? createdBy : index + 1 });
}
