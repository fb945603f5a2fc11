import type { Item } from "../../schemas/item.js";
import type { Settings } from "../settings.js";
import type { CatalogEntry } from "../store/catalogue.js";

/** The item as the service shows it. The type of `createdBy` is not shown in the document, so it is an option. */
export function toItemBody({ item, createdBy }: CatalogEntry, settings: Settings): Item {
  if (settings.createdBy === "omit") return item;
  const index = settings.clients.findIndex(({ clientId }) => clientId === createdBy);
  return Object.assign({}, item, { createdBy: settings.createdBy === "text" ? createdBy : index + 1 });
}
