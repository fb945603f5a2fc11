import type { ReadWith } from "../bulk/requests.js";
import { isListCheaper } from "../client/for-add-ons.js";
import type { Item } from "../service/item.js";
import type { ItemListParams } from "../service/list-params.js";
import { isNoSuchItem } from "../shared/errors/api-errors.js";
import { undefinedIf } from "../shared/unknown.js";

/**
 * Returns the items with these SKUs. Items that do not exist are left out. Reads each item, or the list of all items,
 * whichever takes fewer requests. `listed`: how many items the service lists. `keyOf`: the form in which SKUs of the
 * list are compared.
 */
export async function readItems(
  reader: ReadWith,
  skus: readonly string[],
  listed: number,
  keyOf?: (sku: string) => string,
): Promise<Map<string, Item>> {
  if (isListCheaper(skus.length, listed)) return readList(reader, skus, { includeDiscontinued: true }, keyOf);
  const items = new Map<string, Item>();
  for (const sku of skus) {
    const item = await readItem(reader, sku);
    if (item) items.set(sku, item);
  }
  return items;
}

export const readItem = ({ client, options }: ReadWith, sku: string): Promise<Item | undefined> =>
  client.items.get(sku, options).catch(undefinedIf(isNoSuchItem));

/** Returns how many items the service lists, including discontinued items. */
export const countListedItems = (reader: ReadWith): Promise<number> =>
  countItems(reader, { includeDiscontinued: true });

/** Returns the items with these SKUs that were modified since `since` (service's clock); none if a list costs more. */
export async function readModifiedItems(
  reader: ReadWith,
  skus: readonly string[],
  since: number,
): Promise<Map<string, Item>> {
  const params = { includeDiscontinued: true, modifiedSince: new Date(since) };
  const count = await countItems(reader, params);
  return isListCheaper(skus.length, count) ? readList(reader, skus, params) : new Map();
}

async function countItems({ client, options }: ReadWith, params: ItemListParams): Promise<number> {
  const { totalCount } = await client.items.list({ ...params, pageSize: 1 }, options).page();
  return totalCount;
}

async function readList(
  { client, options }: ReadWith,
  skus: readonly string[],
  params: ItemListParams,
  keyOf = (sku: string) => sku,
): Promise<Map<string, Item>> {
  const wanted = new Map(skus.map((sku) => [keyOf(sku), sku]));
  const items = new Map<string, Item>();
  for await (const item of client.items.list(params, { ...options, gapless: true })) {
    const sku = wanted.get(keyOf(item.shortID));
    if (sku !== undefined) items.set(sku, item);
  }
  return items;
}
