import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { isServiceError } from "../client/for-add-ons.js";
import { ConfigurationError, type InventoryClient, type Item, type Lot, NotFoundError } from "../client/index.js";
import type { MirrorListStatus } from "../mirror/index.js";
import type { MirrorCopy } from "../mirror/open-copy.js";
import { addTool, CallError } from "./call.js";
import type { Room } from "./room.js";
import { itemSchema, levelSchema, limitSchema, skuSchema, widSchema } from "./schemas.js";

const annotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: true };

/** Those that need no copy. */
export function addReading(server: McpServer, room: Room): void {
  addTool(server, room, "get_stock", {
    title: "Stock of items",
    description:
      "Stock levels of 1 to 20 SKUs, with description and unit. SKUs that do not exist are in missing. With asOf, it comes from a copy of that age; fresh: true reads the service.",
    input: z.strictObject({ skus: z.array(skuSchema).min(1).max(20), wid: widSchema, fresh: z.boolean().optional() }),
    output: z.object({
      source: z.enum(["copy", "service"]),
      asOf: z.string().optional().describe("the copy has every change dated before this"),
      levels: z.array(levelSchema),
      missing: z.array(z.string()).describe("SKUs that do not exist"),
    }),
    annotations,
    async work({ skus, wid, fresh }, { signal }) {
      const asked = [...new Set(skus)];
      const copied = fresh ? undefined : await withCopy(room, (copy) => stockFromCopy(copy, asked, wid));
      if (copied) return { source: "copy", ...copied };
      const client = room.client();
      const found = await client.inventory.getStockLevels(asked, { wid, onMissing: "omit" }, { signal });
      const items = await Promise.all([...found.keys()].map((sku) => client.items.get(sku, { signal })));
      const levels = [...found].map(([sku, level], index) => shownLevel(sku, items[index], level));
      return { source: "service", levels, missing: asked.filter((sku) => !found.has(sku)) };
    },
  });
  addTool(server, room, "get_lots", {
    title: "Lots of an item",
    description: "The lots of an item that are in stock; all: true adds shipped, inactive and empty ones.",
    input: z.strictObject({ sku: skuSchema, wid: widSchema, all: z.boolean().optional() }),
    output: z.object({ lots: z.array(z.looseObject({ recNo: z.number() })), more: z.boolean() }),
    annotations,
    async work({ sku, wid, all }, { signal }) {
      const lots = await room.client().inventory.getLots(sku, { wid }, { signal });
      const wanted = all ? lots : lots.filter(isInStock);
      return { lots: wanted.slice(0, MAX_LOTS), more: wanted.length > MAX_LOTS };
    },
  });
  addTool(server, room, "find_items", {
    title: "Find items",
    description:
      "Items by exactly one of text (a part of SKU or description; needs a copy), category, partNo or alias.",
    input: z.strictObject({
      text: z.string().min(1).max(200).optional(),
      category: z.int().optional(),
      partNo: z.int().optional(),
      alias: z.string().min(1).max(200).optional(),
      limit: limitSchema(100, 20),
    }),
    output: z.object({ items: z.array(itemSchema), more: z.boolean(), asOf: z.string().optional() }),
    annotations,
    async work({ limit, ...by }, { signal }) {
      if (Object.values(by).filter((value) => value !== undefined).length !== 1)
        throw new CallError("exactly one of text, category, partNo and alias is needed.", "call it again with one.");
      const { text, ...keys } = by;
      const found =
        text === undefined
          ? await itemsByKey(room.client(), keys, signal)
          : await itemsByText(room, text, limit, signal);
      const { items, asOf } = found;
      return { items: items.slice(0, limit).map(shownItem), more: items.length > limit, asOf };
    },
  });
}

const MAX_LOTS = 200;

const isInStock = ({ active, shipped, units }: Lot) => active && !shipped && units !== 0;

const shownLevel = (sku: string, item: Item | undefined, level: object | null) => ({
  sku,
  description: item?.description,
  uOM: item?.uOM,
  discontinued: item?.discontinued,
  level,
});

const shownItem = ({ shortID, partNo, description, category, uOM, discontinued }: Item) => ({
  ...{ shortID, partNo, description, category, uOM, discontinued },
});

/** What the copy has; `undefined` if there is none, or it has not what is asked for. */
async function withCopy<T>(room: Room, read: (copy: MirrorCopy) => Promise<T | undefined>): Promise<T | undefined> {
  if (!room.copy) return undefined;
  try {
    return await read(await room.copy());
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/** The age of these lists of a copy; `undefined` if one was never read completely. */
async function asOfLists(copy: MirrorCopy, isAsked: (list: MirrorListStatus) => boolean, count: number) {
  const asked = (await copy.status()).filter(isAsked);
  const times = asked.flatMap(({ asOf }) => asOf ?? []);
  return times.length < count ? undefined : new Date(Math.min(...times)).toISOString();
}

async function stockFromCopy(copy: MirrorCopy, skus: readonly string[], wid: number | undefined) {
  const name = wid === undefined ? "stockLevels" : "warehouseStockLevels";
  const isAsked = ({ list, wID }: MirrorListStatus) => list === "items" || (list === name && wID === (wid ?? null));
  const asOf = await asOfLists(copy, isAsked, 2);
  if (asOf === undefined) return undefined;
  const levels = [];
  const missing: string[] = [];
  for (const sku of skus) {
    const [item] = await taken(copy.items({ shortID: sku }), 1);
    if (!item) missing.push(sku);
    else {
      const { partNo } = item;
      const listed = wid === undefined ? copy.stockLevels({ partNo }) : copy.stockLevels({ partNo, wID: wid });
      const [level = null] = await taken<object>(listed, 1);
      levels.push(shownLevel(sku, item, level));
    }
  }
  return { asOf, levels, missing };
}

/** The first records. */
async function taken<T>(records: AsyncIterable<T>, count: number): Promise<T[]> {
  const first: T[] = [];
  for await (const record of records) if (first.push(record) === count) break;
  return first;
}

interface FoundItems {
  items: Item[];
  asOf?: string;
}

async function itemsByKey(
  client: InventoryClient,
  {
    category,
    partNo,
    alias,
  }: { category?: number | undefined; partNo?: number | undefined; alias?: string | undefined },
  signal: AbortSignal,
): Promise<FoundItems> {
  try {
    if (category !== undefined) return { items: await client.items.listByCategory(category, { signal }) };
    if (partNo !== undefined) return { items: [await client.items.getByPartNo(partNo, { signal })] };
    return { items: [await client.items.getByAlias(alias ?? "", { signal })] };
  } catch (error) {
    // A 404 of a proxy says nothing.
    if (error instanceof NotFoundError && isServiceError(error)) return { items: [] };
    throw error;
  }
}

const NEEDS_COPY = "tell the person to start the server with --copy and a copy that stocklot mirror keeps.";

/** The copy, for what the service cannot do. */
async function copyFor(what: string, room: Room): Promise<MirrorCopy> {
  if (!room.copy) throw new CallError(`${what} needs a copy, and the server was started without.`, NEEDS_COPY);
  return await room.copy();
}

/** One more than the limit, if there are as many. */
async function itemsByText(room: Room, text: string, limit: number, signal: AbortSignal): Promise<FoundItems> {
  const copy = await copyFor("text", room);
  const asOf = await asOfLists(copy, ({ list }) => list === "items", 1);
  const wanted = text.toLowerCase();
  const items: Item[] = [];
  for await (const item of copy.items()) {
    signal.throwIfAborted();
    const isFound = [item.shortID, item.description].some((field) => String(field).toLowerCase().includes(wanted));
    if (isFound && items.push(item) > limit) break;
  }
  return { items, ...(asOf !== undefined && { asOf }) };
}

/** The history of a copy. */
export function addChanges(server: McpServer, room: Room): void {
  addTool(server, room, "get_changes", {
    title: "What has changed",
    description: "Changes in the order of seq, from a copy with a history. Continue with the seq of after.",
    input: z.strictObject({ sku: skuSchema.optional(), after: z.int().min(0).optional(), limit: limitSchema(200, 50) }),
    output: z.object({
      changes: z.array(z.looseObject({ seq: z.number(), at: z.string(), resource: z.string(), type: z.string() })),
      after: z.number().optional().describe("pass it to read what follows"),
      more: z.boolean(),
    }),
    annotations: { ...annotations, openWorldHint: false },
    async work({ sku, after, limit }, { signal }) {
      const copy = await copyFor("get_changes", room);
      const isOfItem = sku === undefined ? () => true : await changesOf(copy, sku, signal);
      const changes = [];
      let last = after;
      for await (const change of copy.changes({ after })) {
        signal.throwIfAborted();
        if (!isOfItem(change)) last = change.seq;
        else if (changes.length === limit) return { changes, after: last, more: true };
        else {
          changes.push(change);
          last = change.seq;
        }
      }
      return { changes, after: last, more: false };
    },
  });
}

interface Change {
  resource: string;
  key: number | string;
  before: Readonly<Record<string, unknown>> | null;
  after: Readonly<Record<string, unknown>> | null;
}

/** Which changes concern an item. Changed fields of a lot do not name it: its record number does. */
async function changesOf(copy: MirrorCopy, sku: string, signal: AbortSignal): Promise<(change: Change) => boolean> {
  const [item] = await taken(copy.items({ shortID: sku }), 1);
  if (!item) throw new CallError(`the copy has no item ${JSON.stringify(sku)}.`, "check the SKU, with find_items.");
  const { partNo } = item;
  const names = ({ before, after }: Change) => after?.partNo === partNo || before?.partNo === partNo;
  const lots = new Set<unknown>();
  for await (const { recNo } of copy.lots({ partNo })) lots.add(recNo);
  for await (const change of copy.changes({ resource: "lots" })) {
    signal.throwIfAborted();
    if (names(change)) lots.add(change.key);
  }
  return ({ resource, key }) =>
    resource === "lots" ? lots.has(key) : key === partNo || String(key).endsWith(`/${partNo}`);
}
