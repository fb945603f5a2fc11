import type { Item } from "../../schemas/item.js";
import { EMPTY_ITEM } from "../data/own-items.js";
import { defined } from "../defined.js";
import type { Call } from "../http/call.js";
import { type Model, readModel } from "../http/model.js";
import { errorBody, notFound } from "../http/refusal.js";
import { json, jsonText, type Reply } from "../http/reply.js";
import type { CatalogueEntry } from "../store/catalogue.js";
import { itemForm } from "./item-form.js";

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
export function createItem(call: Call): Reply {
  const { state, settings, now, client } = call;
  const { shortID, ...sent } = readModel(call.json(), settings.alternateNames ? ITEM_OR_QUICK_START : ITEM);
  const { discontinued: _ignored, ...fields } = defined(sent);
  if (state.catalogue.bySKU(shortID)) return duplicate(shortID, settings.duplicateStatus);

  const item = state.catalogue.create({ ...EMPTY_ITEM, ...fields, shortID }, client.clientId, now);
  if (settings.createForm === "reference") return json(201, { shortID, status: "created" });
  const form = itemForm({ item, createdBy: client.clientId, modifiedAt: now }, settings);
  return json(201, { ...form, active: true });
}

/** PUT /Item. Part number, SKU, creation time and creator stay as they are, whatever is sent. */
export function updateItem(call: Call): Reply {
  const { shortID, ...fields } = readModel(call.json(), ITEM);
  const entry = existing(call, shortID);
  const { description } = entry.item;
  const changes: Partial<Item> = defined(fields);
  call.state.catalogue.update(entry, changes, call.now);
  if (entry.item.description !== description) {
    call.state.ledger.redescribe(entry.item.partNo, entry.item.description);
  }
  return json(200, { shortID, status: "updated" });
}

/** DELETE /Item/{shortID}: the item and its lots remain. */
export function discontinueItem(call: Call): Reply {
  const entry = existing(call, call.params.shortID ?? "");
  call.state.catalogue.update(entry, { discontinued: true }, call.now);
  return json(200, { shortID: entry.item.shortID, status: "discontinued" });
}

function existing({ state }: Call, shortID: string): CatalogueEntry {
  const entry = state.catalogue.bySKU(shortID);
  if (!entry) throw notFound(`Item ${shortID} was not found.`);
  return entry;
}

/** The document states both 400 and 409 for a SKU that exists. */
function duplicate(shortID: string, status: 400 | 409): Reply {
  const code = status === 409 ? "conflict" : "bad_request";
  return jsonText(status, errorBody(status, code, `An item with ShortID ${shortID} already exists.`));
}
