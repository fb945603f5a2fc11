import type { ReadWith } from "../bulk/requests.js";
import { type ItemScope, NotFoundError } from "../client/index.js";
import type { Item } from "../service/item.js";
import type { StockLevel } from "../service/stock-level.js";

const LEVEL_QUANTITIES = ["inStock", "onOrder", "onHold", "committed", "packed", "aSN"] as const;

/** Returns the quantities of an item that are not 0, in words; an empty string if all are 0. */
export const describeQuantities = (level: StockLevel | undefined): string =>
  LEVEL_QUANTITIES.flatMap((name) => (level && level[name] !== 0 ? [`${name} ${level[name]}`] : [])).join(", ");

/**
 * Returns the stock levels of items, by part number. Levels that the service does not list are left out. The items
 * share one search, which reads the whole list at most once.
 */
export async function readStockLevels(
  reader: ReadWith,
  items: readonly Item[],
  scope: ItemScope,
): Promise<Map<number, StockLevel>> {
  const partNos = new Map(items.map(({ shortID, partNo }) => [shortID, partNo]));
  const levels = new Map<number, StockLevel>();
  try {
    const found = await reader.client.inventory.getStockLevels([...partNos.keys()], scope, reader.options);
    for (const [shortID, level] of found) {
      const partNo = partNos.get(shortID);
      if (level && partNo !== undefined) levels.set(partNo, level);
    }
    return levels;
  } catch (error) {
    // The service may list an item, but not find the item by its SKU.
    if (!(error instanceof NotFoundError)) throw error;
    return await listStockLevels(reader, new Set(partNos.values()), scope);
  }
}

async function listStockLevels(
  { client, options }: ReadWith,
  partNos: ReadonlySet<number>,
  scope: ItemScope,
): Promise<Map<number, StockLevel>> {
  const levels = new Map<number, StockLevel>();
  for await (const level of client.inventory.listStockLevels(scope, { ...options, gapless: true }))
    if (partNos.has(level.partNo)) levels.set(level.partNo, level);
  return levels;
}
