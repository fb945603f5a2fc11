import type { InventoryClient, InventoryListParams, ItemListParams, ListOptions } from "../client/index.js";
import type { DocumentedList } from "../service/lists.js";

/** Returns the list with this name. A list of items ignores `wid`, the other lists ignore `includeDiscontinued`. */
export function openList(
  { items, inventory }: InventoryClient,
  name: DocumentedList["name"],
  { wid, includeDiscontinued, ...params }: InventoryListParams & ItemListParams,
  options: ListOptions,
) {
  if (name === "items") return items.list({ ...params, includeDiscontinued }, options);
  return name === "lots"
    ? inventory.listLots({ ...params, wid }, options)
    : inventory.listStockLevels({ ...params, wid }, options);
}
