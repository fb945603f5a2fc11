import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { ConfigurationError, type InventoryClient, type Item } from "../client/index.js";
import { isInStock } from "../service/lot.js";
import { isNoSuchItem } from "../shared/errors/api-errors.js";
import { changesInCopy, itemsInCopy, type Stock, stockInCopy } from "./copy.js";
import { clientOf, type ServerParts } from "./parts.js";
import { addTool, CallError, READ_ONLY, record } from "./tool.js";

const MAX_LOTS = 200;
const skuArgument = z.string().min(1).max(200).describe("SKU (shortID) of an item");
const widSchema = z.int().min(0).optional().describe("ID of a warehouse; default: all");
const textSchema = z.string().min(1).max(200).optional();

export function addReadTools(server: McpServer, parts: ServerParts): void {
  const { copy } = parts;
  addTool(server, parts, "get_stock", {
    description:
      "Stock levels of 1 to 20 SKUs, with description and unit (uOM). SKUs that do not exist are in missing. " +
      "With asOf, it comes from a copy that has every change before then; fresh: true reads the service.",
    input: z.strictObject({
      skus: z.array(skuArgument).min(1).max(20),
      wid: widSchema,
      fresh: z.boolean().optional(),
    }),
    output: z.object({
      source: z.enum(["copy", "service"]),
      asOf: z.string().optional(),
      levels: z.array(record({ sku: z.string(), level: record({}).nullable().describe("null: not listed") })),
      missing: z.array(z.string()),
    }),
    async work({ skus, wid, fresh }, { signal }) {
      const asked = [...new Set(skus)];
      const copied = fresh ? undefined : await stockFromCopy(parts, asked, wid);
      const stock = copied?.stock ?? (await stockFromService(clientOf(parts), asked, wid, signal));
      const levels = [...stock].map(([sku, { item, level }]) => {
        const { description, uOM, discontinued } = item;
        return { sku, description, uOM, discontinued, level };
      });
      const missing = asked.filter((sku) => !stock.has(sku));
      return { source: copied ? "copy" : "service", asOf: copied?.asOf, levels, missing };
    },
  });
  addTool(server, parts, "get_lots", {
    description: "The lots of an item that are in stock; all: true adds shipped, inactive and empty ones.",
    input: z.strictObject({ sku: skuArgument, wid: widSchema, all: z.boolean().optional() }),
    output: z.object({ lots: z.array(record({ recNo: z.number() })), more: z.boolean() }),
    async work({ sku, wid, all }, { signal }) {
      const lots = await clientOf(parts).inventory.getLots(sku, { wid }, { signal });
      const wanted = all ? lots : lots.filter(isInStock);
      return { lots: wanted.slice(0, MAX_LOTS), more: wanted.length > MAX_LOTS };
    },
  });
  addTool(server, parts, "find_items", {
    description: "Items by exactly one of text (in SKU or description; needs a copy), category, partNo or alias.",
    input: z.strictObject({
      ...{ text: textSchema, category: z.int().optional(), partNo: z.int().optional(), alias: textSchema },
      limit: z.int().min(1).max(100).default(20),
    }),
    output: z.object({
      items: z.array(record({ shortID: z.string() })),
      more: z.boolean(),
      asOf: z.string().optional(),
    }),
    async work({ limit, ...by }, { signal }) {
      if (Object.values(by).filter((value) => value !== undefined).length !== 1)
        throw new CallError(
          "exactly one of text, category, partNo and alias is needed.",
          "call find_items again with one of them.",
        );
      const { items, asOf } =
        by.text === undefined
          ? { items: await itemsByKey(clientOf(parts), by, signal), asOf: undefined }
          : await itemsInCopy(await (copy ?? noCopy)(), by.text, limit + 1, signal);
      return { items: items.slice(0, limit), more: items.length > limit, asOf };
    },
  });
  if (!copy) return;
  addTool(server, parts, "get_changes", {
    description: "Changes in the order of seq, from a copy with a history. Pass the resulting after to continue.",
    input: z.strictObject({
      ...{ sku: skuArgument.optional(), after: z.int().min(0).optional() },
      limit: z.int().min(1).max(200).default(50),
    }),
    output: z.object({
      changes: z.array(record({ seq: z.number() })),
      after: z.number().optional(),
      more: z.boolean(),
    }),
    annotations: { ...READ_ONLY, openWorldHint: false },
    work: async (input, { signal }) => changesInCopy(await copy(), input, signal),
  });
}

const noCopy = () => {
  const next = "tell the person to start the server with --copy and a copy that stocklot mirror keeps.";
  throw new CallError("text needs a copy, and the server was started without a copy.", next);
};

/** Returns the stock in the copy; `undefined` if there is no copy, or if the copy lacks the lists. */
async function stockFromCopy({ copy }: ServerParts, skus: readonly string[], wid: number | undefined) {
  try {
    return copy && (await stockInCopy(await copy(), skus, wid));
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

async function stockFromService(
  { inventory, items }: InventoryClient,
  skus: readonly string[],
  wid: number | undefined,
  signal: AbortSignal,
): Promise<Stock> {
  const levels = await inventory.getStockLevels(skus, { wid, onMissing: "omit" }, { signal });
  const stock = [...levels].map(async ([sku, level]) => {
    return [sku, { item: await items.get(sku, { signal }), level }] as const;
  });
  return new Map(await Promise.all(stock));
}

type ItemKeys = { category?: number | undefined; partNo?: number | undefined; alias?: string | undefined };

async function itemsByKey(
  { items }: InventoryClient,
  { category, partNo, alias = "" }: ItemKeys,
  signal: AbortSignal,
): Promise<Item[]> {
  try {
    if (category !== undefined) return await items.listByCategory(category, { signal });
    return [await (partNo === undefined ? items.getByAlias(alias, { signal }) : items.getByPartNo(partNo, { signal }))];
  } catch (error) {
    if (isNoSuchItem(error)) return [];
    throw error;
  }
}
