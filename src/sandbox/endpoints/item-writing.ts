import type { Item } from "../../schemas/item.js";
import { EMPTY_ITEM } from "../data/own-items.js";
import { withoutUndefined } from "../defined.js";
import type { EndpointContext } from "../http/call.js";
import { type Model, readModel } from "../http/model.js";
import { errorBody, notFound } from "../http/refusal.js";
import { jsonResponse, rawJsonResponse, type SandboxResponse } from "../http/reply.js";
import type { CatalogEntry } from "../store/catalogue.js";
import { toItemBody } from "./item-form.js";

const ITEM = {
  shortID: { kind: "text", required: true },
  description: { kind: "text" },
  category: { kind: "integer" },
  subCategory: { kind: "integer" },
  uOM: { kind: "text" },
  putUp: { kind: "text" },
  units: { kind: "decimal" },
  dfltOwner: { kind: "integer" },
  discontinued: { kind: "boolean" },
} as const satisfies Model;

/** The quick-start names beside those of the item object. */
const ITEM_OR_QUICK_START = {
  ...ITEM,
  uOM: { ...ITEM.uOM, alias: "unit" },
  category: { ...ITEM.category, alias: "categoryID" },
} as const satisfies Model;

/** POST /Item. A new item is active, whatever is sent. */
export function createItem(context: EndpointContext): SandboxResponse {
  const { state, settings, now, client } = context;
  const { shortID, ...sent } = readModel(context.json(), settings.alternateNames ? ITEM_OR_QUICK_START : ITEM);
  const { discontinued: _ignored, ...fields } = withoutUndefined(sent);
  if (state.catalog.bySKU(shortID)) return duplicate(shortID, settings.duplicateStatus);

  const item = state.catalog.create({ ...EMPTY_ITEM, ...fields, shortID }, client.clientId, now);
  if (settings.createForm === "reference") return jsonResponse(201, { shortID, status: "created" });
  const form = toItemBody({ item, createdBy: client.clientId, modifiedAt: now }, settings);
  return jsonResponse(201, { ...form, active: true });
}

/** PUT /Item. Part number, SKU, creation time and creator stay as they are, whatever is sent. */
export function updateItem(context: EndpointContext): SandboxResponse {
  const { shortID, ...fields } = readModel(context.json(), ITEM);
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
  const entry = state.catalog.bySKU(shortID);
  if (!entry) throw notFound(`Item ${shortID} was not found.`);
  return entry;
}

/** The document states both 400 and 409 for a SKU that exists. */
function duplicate(shortID: string, status: 400 | 409): SandboxResponse {
  const code = status === 409 ? "conflict" : "bad_request";
  return rawJsonResponse(status, errorBody(status, code, `An item with ShortID ${shortID} already exists.`));
}
