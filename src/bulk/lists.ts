import type {
  InventoryClient,
  InventoryListParams,
  Item,
  ItemListParams,
  ListOptions,
  Lot,
  Paginator,
  StockLevel,
} from "../client/index.js";
import type { DocumentedList } from "../service/lists.js";

/** The list of that name. Items have no `wid`, and only they may be discontinued. */
export function openList(
  { items, inventory }: InventoryClient,
  name: DocumentedList["name"],
  { wid, includeDiscontinued, ...params }: InventoryListParams & ItemListParams,
  options: ListOptions,
): Paginator<Item> | Paginator<Lot> | Paginator<StockLevel> {
  if (name === "items") return items.list({ ...params, includeDiscontinued }, options);
  return name === "lots"
    ? inventory.listLots({ ...params, wid }, options)
    : inventory.listStockLevels({ ...params, wid }, options);
}
