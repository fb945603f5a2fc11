import type { InventoryClient } from "../../client.js";
import type { Item } from "../../service/item.js";
import { MAX_PAGE_SIZE } from "../../service/lists.js";
import type { StockLevel } from "../../service/stock-level.js";

const QUANTITIES = ["inStock", "onOrder", "onHold", "committed", "packed", "aSN"] as const;

/** Searching one stock level costs at most this many requests. */
const REQUESTS_PER_SEARCH = 5;

/** The stock and open quantities of items that have any, in words, by part number. */
export async function readStock(
  client: InventoryClient,
  items: readonly Item[],
  allItems: number,
  signal: AbortSignal | null | undefined,
): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const wanted = new Set(items.map(({ partNo }) => partNo));
  const add = (level: StockLevel) => {
    const text = describeQuantities(level);
    if (text !== "" && wanted.has(level.partNo)) found.set(level.partNo, text);
  };
  if (items.length * REQUESTS_PER_SEARCH < allItems / MAX_PAGE_SIZE) {
    for (const { shortID } of items) {
      const level = await client.inventory.getStockLevel(shortID, {}, { signal });
      if (level) add(level);
    }
  } else {
    for await (const level of client.inventory.listStockLevels({}, { gapless: true, signal })) add(level);
  }
  return found;
}

const describeQuantities = (level: StockLevel): string =>
  QUANTITIES.filter((name) => level[name] !== 0)
    .map((name) => `${name} ${level[name]}`)
    .join(", ");
