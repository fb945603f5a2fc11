import { requestsForList } from "../client/for-add-ons.js";
import type { ItemScope } from "../client/index.js";
import type { Item } from "../service/item.js";
import type { StockLevel } from "../service/stock-level.js";
import type { PlanReader } from "./reader.js";

/** Searching one item in a list of the inventory usually costs at most this many requests. */
export const REQUESTS_PER_SEARCH = 5;

const QUANTITIES = ["inStock", "onOrder", "onHold", "committed", "packed", "aSN"] as const;

/** The quantities that an item has; an empty string if there are none. */
export const describeQuantities = (level: StockLevel | undefined): string =>
  QUANTITIES.flatMap((name) => (level && level[name] !== 0 ? [`${name} ${level[name]}`] : [])).join(", ");

/**
 * The stock levels of items by part number; one that the service does not list is missing. `listed`: how many items the
 * service lists. Either they are searched singly or the list is read, whichever takes fewer requests.
 */
export async function readStockLevels(
  { client, options }: PlanReader,
  items: readonly Item[],
  { listed, scope }: { listed: number; scope: ItemScope },
): Promise<Map<number, StockLevel>> {
  const levels = new Map<number, StockLevel>();
  if (items.length * REQUESTS_PER_SEARCH < requestsForList(listed)) {
    for (const { shortID, partNo } of items) {
      const level = await client.inventory.getStockLevel(shortID, scope, options);
      if (level) levels.set(partNo, level);
    }
    return levels;
  }
  const wanted = new Set(items.map(({ partNo }) => partNo));
  for await (const level of client.inventory.listStockLevels(scope, { ...options, gapless: true })) {
    if (wanted.has(level.partNo)) levels.set(level.partNo, level);
  }
  return levels;
}
