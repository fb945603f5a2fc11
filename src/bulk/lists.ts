import type { InventoryClient, InventoryListParams, ItemListParams, ListOptions } from "../client/index.js";
import type { DocumentedList } from "../service/lists.js";

/** The list of that name. Items have no `wid`, and only they may be discontinued. */
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
