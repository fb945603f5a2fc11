import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { ConfigurationError, type InventoryClient, type Item, type Lot } from "../client/index.js";
import { isNoSuchItem } from "../writes/refusal.js";
import { type CopiedStock, changesInCopy, itemsInCopy, stockInCopy } from "./copy.js";
import { type Room, record } from "./room.js";
import { addTool, CallError } from "./tool.js";

const annotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: true };
const MAX_LOTS = 200;
const sku = z.string().min(1).max(200).describe("SKU (shortID) of an item");
const wid = z.int().min(0).optional().describe("ID of a warehouse; default: all");
const text = z.string().min(1).max(200).optional();

export function addReading(server: McpServer, room: Room): void {
  addTool(server, room, "get_stock", {
    description:
      "Stock levels of 1 to 20 SKUs, with description and unit (uOM). SKUs that do not exist are in missing. " +
      "With asOf, it comes from a copy that has every change before then; fresh: true reads the service.",
    input: z.strictObject({ skus: z.array(sku).min(1).max(20), wid, fresh: z.boolean().optional() }),
    output: z.object({
      source: z.enum(["copy", "service"]),
      asOf: z.string().optional(),
      levels: z.array(record({ sku: z.string(), level: record({}).nullable().describe("null: not listed") })),
      missing: z.array(z.string()),
    }),
    annotations,
    async work({ skus, fresh, ...at }, { signal }) {
      const asked = [...new Set(skus)];
      const copied = fresh ? undefined : await stockFromCopy(room, asked, at.wid);
      const found = copied?.found ?? (await stockFromService(room.client(), asked, at.wid, signal));
      const levels = [...found].map(([name, { item, level }]) => {
        const { description, uOM, discontinued } = item;
        return { sku: name, description, uOM, discontinued, level };
      });
      const missing = asked.filter((name) => !found.has(name));
      return { source: copied ? "copy" : "service", asOf: copied?.asOf, levels, missing };
    },
  });
  addTool(server, room, "get_lots", {
    description: "The lots of an item that are in stock; all: true adds shipped, inactive and empty ones.",
    input: z.strictObject({ sku, wid, all: z.boolean().optional() }),
    output: z.object({ lots: z.array(record({ recNo: z.number() })), more: z.boolean() }),
    annotations,
    async work({ all, ...of }, { signal }) {
      const lots = await room.client().inventory.getLots(of.sku, { wid: of.wid }, { signal });
      const wanted = all ? lots : lots.filter(isInStock);
      return { lots: wanted.slice(0, MAX_LOTS), more: wanted.length > MAX_LOTS };
    },
  });
  addTool(server, room, "find_items", {
    description: "Items by exactly one of text (in SKU or description; needs a copy), category, partNo or alias.",
    input: z.strictObject({
      ...{ text, category: z.int().optional(), partNo: z.int().optional(), alias: text },
      limit: z.int().min(1).max(100).default(20),
    }),
    output: z.object({
      items: z.array(record({ shortID: z.string() })),
      more: z.boolean(),
      asOf: z.string().optional(),
    }),
    annotations,
    async work({ limit, ...by }, { signal }) {
      if (Object.values(by).filter((value) => value !== undefined).length !== 1)
        throw new CallError("exactly one of text, category, partNo and alias is needed.", "call it again with one.");
      const { items, asOf } =
        by.text === undefined
          ? { items: await itemsByKey(room.client(), by, signal), asOf: undefined }
          : await itemsInCopy(await copyOf(room, "text"), by.text, limit + 1, signal);
      return { items: items.slice(0, limit), more: items.length > limit, asOf };
    },
  });
  if (!room.copy) return;
  addTool(server, room, "get_changes", {
    description: "Changes in the order of seq, from a copy with a history. Pass the resulting after to continue.",
    input: z.strictObject({
      ...{ sku: sku.optional(), after: z.int().min(0).optional() },
      limit: z.int().min(1).max(200).default(50),
    }),
    output: z.object({
      changes: z.array(record({ seq: z.number() })),
      after: z.number().optional(),
      more: z.boolean(),
    }),
    annotations: { ...annotations, openWorldHint: false },
    work: async (input, { signal }) => changesInCopy(await copyOf(room, "get_changes"), input, signal),
  });
}

const isInStock = ({ active, shipped, units }: Lot) => active && !shipped && units !== 0;

/** What the copy has; `undefined` if there is none, or it has not what is asked for. */
async function stockFromCopy(room: Room, skus: readonly string[], wID: number | undefined) {
  try {
    return room.copy && (await stockInCopy(await room.copy(), skus, wID));
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

async function stockFromService(
  client: InventoryClient,
  skus: readonly string[],
  of: number | undefined,
  signal: AbortSignal,
): Promise<CopiedStock["found"]> {
  const levels = await client.inventory.getStockLevels(skus, { wid: of, onMissing: "omit" }, { signal });
  const found = [...levels].map(async ([name, level]) => {
    const item = await client.items.get(name, { signal });
    return [name, { item, level }] as const;
  });
  return new Map(await Promise.all(found));
}

type ItemKeys = { category?: number | undefined; partNo?: number | undefined; alias?: string | undefined };

async function itemsByKey(client: InventoryClient, by: ItemKeys, signal: AbortSignal): Promise<Item[]> {
  try {
    if (by.category !== undefined) return await client.items.listByCategory(by.category, { signal });
    if (by.partNo !== undefined) return [await client.items.getByPartNo(by.partNo, { signal })];
    return [await client.items.getByAlias(by.alias ?? "", { signal })];
  } catch (error) {
    if (isNoSuchItem(error)) return [];
    throw error;
  }
}

/** The copy, for what the service cannot do. */
async function copyOf({ copy }: Room, what: string) {
  if (copy) return await copy();
  const next = "tell the person to start the server with --copy and a copy that stocklot mirror keeps.";
  throw new CallError(`${what} needs a copy, and the server was started without.`, next);
}
