import { ConfigurationError, type Item } from "../client/index.js";
import type { MirrorChange, MirrorCopy, MirrorListStatus } from "../mirror/index.js";

/** Stock of items, by the SKUs that were asked for; those without an item are absent. */
export interface CopiedStock {
  /** The copy has every change that the service dated before this: ISO 8601. */
  asOf: string;
  found: Map<string, { item: Item; level: object | null }>;
}

/** What the copy has; `undefined` if it has not the lists. */
export async function stockInCopy(
  copy: MirrorCopy,
  skus: readonly string[],
  wID: number | undefined,
): Promise<CopiedStock | undefined> {
  const name = wID === undefined ? "stockLevels" : "warehouseStockLevels";
  const isAsked = (row: MirrorListStatus) => row.list === "items" || (row.list === name && row.wID === (wID ?? null));
  const asOf = await asOfLists(copy, isAsked, 2);
  if (asOf === undefined) return undefined;
  const found: CopiedStock["found"] = new Map();
  for (const sku of skus) {
    const item = await firstOf(copy.items({ shortID: sku }));
    if (!item) continue;
    const { partNo } = item;
    const levels = wID === undefined ? copy.stockLevels({ partNo }) : copy.stockLevels({ partNo, wID });
    found.set(sku, { item, level: (await firstOf<object>(levels)) ?? null });
  }
  return { asOf, found };
}

/** The age of these lists; `undefined` if not so many were read completely. */
async function asOfLists(copy: MirrorCopy, isAsked: (list: MirrorListStatus) => boolean, count: number) {
  const times = (await copy.status()).filter(isAsked).flatMap(({ asOf }) => asOf ?? []);
  return times.length < count ? undefined : new Date(Math.min(...times)).toISOString();
}

async function firstOf<T>(records: AsyncIterable<T>): Promise<T | undefined> {
  for await (const record of records) return record;
  return undefined;
}

/** Items whose SKU or description contains a text, without regard to case; not more than asked for. */
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
 * Changes behind a place, of one item or of all. `after` is the place to continue from.
 *
 * @throws ConfigurationError if the copy has no such item, or no history.
 */
export async function changesInCopy(
  copy: MirrorCopy,
  { sku, after, limit }: { sku?: string | undefined; after?: number | undefined; limit: number },
  signal: AbortSignal,
) {
  const isOfItem = sku === undefined ? () => true : await concerns(copy, sku, signal);
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

/** Which changes concern an item. The changed fields of a lot do not name it: its record number does. */
async function concerns(
  copy: MirrorCopy,
  sku: string,
  signal: AbortSignal,
): Promise<(change: MirrorChange) => boolean> {
  const item = await firstOf(copy.items({ shortID: sku }));
  if (!item) throw new ConfigurationError(`The copy has no item ${JSON.stringify(sku)}.`);
  const { partNo } = item;
  const lots = new Set<unknown>();
  for await (const { recNo } of copy.lots({ partNo })) lots.add(recNo);
  for await (const { key, before, after } of copy.changes({ resource: "lots" })) {
    signal.throwIfAborted();
    if (before?.partNo === partNo || after?.partNo === partNo) lots.add(key);
  }
  return ({ resource, key }) =>
    resource === "lots" ? lots.has(key) : key === partNo || String(key).endsWith(`/${partNo}`);
}
