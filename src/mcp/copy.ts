import { ConfigurationError, type Item, type StockLevel } from "../client/index.js";
import type { MirrorChange, MirrorCopy, MirrorListStatus } from "../mirror/index.js";
import { isoTime } from "./tool.js";

/** The stock of items by requested SKU. SKUs without an item are left out. */
export type Stock = Map<string, { item: Item; level: StockLevel | null }>;

/** Returns the stock levels in the copy; `undefined` if the copy lacks the lists. */
export async function stockInCopy(copy: MirrorCopy, skus: readonly string[], wID: number | undefined) {
  const list = wID === undefined ? "stockLevels" : "warehouseStockLevels";
  const isAsked = (row: MirrorListStatus) => row.list === "items" || (row.list === list && row.wID === (wID ?? null));
  const asOf = await asOfLists(copy, isAsked, 2);
  if (asOf === undefined) return undefined;
  const stock: Stock = new Map();
  for (const sku of skus) {
    const item = await firstOf(copy.items({ shortID: sku }));
    if (item) stock.set(sku, { item, level: (await firstOf(copy.stockLevels({ partNo: item.partNo, wID }))) ?? null });
  }
  return { asOf, stock };
}

/** Returns the earliest `asOf` of the requested lists; `undefined` if fewer than `count` were read completely. */
async function asOfLists(copy: MirrorCopy, isAsked: (list: MirrorListStatus) => boolean, count: number) {
  const times = (await copy.status()).filter(isAsked).flatMap(({ asOf }) => asOf ?? []);
  return times.length < count ? undefined : isoTime(Math.min(...times));
}

async function firstOf<T>(records: AsyncIterable<T>): Promise<T | undefined> {
  for await (const record of records) return record;
  return undefined;
}

/** Returns up to `atMost` items whose SKU or description contains the text, without regard to case. */
export async function itemsInCopy(copy: MirrorCopy, text: string, atMost: number, signal: AbortSignal) {
  const wanted = text.toLowerCase();
  const items: Item[] = [];
  for await (const item of copy.items()) {
    signal.throwIfAborted();
    const isFound = [item.shortID, item.description].some((field) => String(field).toLowerCase().includes(wanted));
    if (isFound && items.push(item) === atMost) break;
  }
  return { items, asOf: await asOfLists(copy, ({ list }) => list === "items", 1) };
}

/**
 * Returns changes of one item or of all items, from behind the `seq` `after`. The result's `after` continues there.
 *
 * @throws ConfigurationError if the copy has no such item, or no history.
 */
export async function changesInCopy(
  copy: MirrorCopy,
  { sku, after, limit }: { sku?: string | undefined; after?: number | undefined; limit: number },
  signal: AbortSignal,
) {
  const isOfItem = sku === undefined ? () => true : await changeFilterOf(copy, sku, signal);
  const changes: MirrorChange[] = [];
  let last = after;
  for await (const change of copy.changes({ after })) {
    signal.throwIfAborted();
    const isWanted = isOfItem(change);
    if (isWanted && changes.length === limit) return { changes, after: last, more: true };
    if (isWanted) changes.push(change);
    last = change.seq;
  }
  return { changes, after: last, more: false };
}

/** Returns the filter for changes of an item. A changed lot may not show its item: its record number is compared. */
async function changeFilterOf(copy: MirrorCopy, sku: string, signal: AbortSignal) {
  const item = await firstOf(copy.items({ shortID: sku }));
  if (!item) throw new ConfigurationError(`The copy has no item ${JSON.stringify(sku)}.`);
  const { partNo } = item;
  const lots = new Set<unknown>();
  for await (const { recNo } of copy.lots({ partNo })) lots.add(recNo);
  for await (const { key, before, after } of copy.changes({ resource: "lots" })) {
    signal.throwIfAborted();
    if (before?.partNo === partNo || after?.partNo === partNo) lots.add(key);
  }
  return ({ resource, key }: MirrorChange) =>
    resource === "lots" ? lots.has(key) : key === partNo || String(key).endsWith(`/${partNo}`);
}
