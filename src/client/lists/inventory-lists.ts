import * as z from "zod";
import { type InventoryListParams, inventoryListParamsSchema } from "../../service/list-params.js";
import { LISTS } from "../../service/lists.js";
import { type Lot, lotSchema } from "../../service/lot.js";
import { READS } from "../../service/operations.js";
import { type StockLevel, stockLevelSchema } from "../../service/stock-level.js";
import { type LazySchema, lazy } from "../../shared/schema.js";
import { fieldOf } from "../../shared/unknown.js";
import type { ResponseReader } from "../send/call.js";
import { pathOf } from "../send/payload.js";
import { createPageReader } from "./decode-page.js";
import { type ListDefinition, type ListOptions, readingOf } from "./list.js";
import type { Page, PageRequest } from "./page.js";

/** Creates the definition of a list of the inventory with these parameters. */
export type InventoryList<T> = (
  params: InventoryListParams,
  options: ListOptions,
) => ListDefinition<T, InventoryListParams>;

/**
 * The lists in which an item can be searched: the method that lists, the method that finds one item, and the
 * operations.
 */
const METHODS = {
  lots: { list: "listLots", find: "getLots", read: READS.listLots, readOfWarehouse: READS.listLotsOfWarehouse },
  stockLevels: {
    list: "listStockLevels",
    find: "getStockLevel",
    read: READS.listStockLevels,
    readOfWarehouse: READS.listStockLevelsOfWarehouse,
  },
} as const;

/** Creates a list of all warehouses, or of one warehouse if `wid` is given. */
/* @__NO_SIDE_EFFECTS__ */
function inventoryList<T>(list: keyof typeof METHODS, record: LazySchema<z.ZodType<T>>): InventoryList<T> {
  const method = METHODS[list];
  const pageReader = createPageReader(record);
  return (params, options) => ({
    name: `inventory.${method.list}`,
    params,
    schema: inventoryListParamsSchema,
    explainParameter: (parameter) =>
      ITEM_NAMES.includes(parameter)
        ? `the service cannot filter this list by item. Use client.inventory.${method.find}(shortID), which finds one item in a few requests`
        : undefined,
    request: ({ wid, ...query }) => ({
      path: wid === undefined ? method.read.path : pathOf(method.readOfWarehouse, wid),
      query,
    }),
    reading: () => readingOf(LISTS[list], pageReader),
    options,
  });
}

/**
 * The highest record number of all lots that a client has seen in lists. The number in the response to a transaction does not count:
 * it may not be the number of a lot.
 */
export class RecordNumbers {
  highest: number | undefined;

  /** Returns a list that notes the record numbers on each of its pages. */
  observe<T>(list: InventoryList<T>): InventoryList<T> {
    const note = (lots: readonly T[]) => {
      for (const lot of lots) {
        const recNo = Number(fieldOf(lot, "recNo"));
        if (Number.isSafeInteger(recNo)) this.highest = Math.max(this.highest ?? recNo, recNo);
      }
    };
    return (params, options) => {
      const definition = list(params, options);
      return {
        ...definition,
        reading: (checked) => {
          const { pageReader, ...reading } = definition.reading(checked);
          const observed = (request: PageRequest): ResponseReader<Page<T>> => {
            const read = pageReader(request);
            return async (context) => {
              const page = await read(context);
              note(page.value);
              return page;
            };
          };
          return { ...reading, pageReader: observed };
        },
      };
    };
  }
}

/** Parameters by which callers try to filter a list for one item. */
const ITEM_NAMES = ["shortID", "itemID", "partNo"];

export const lotList = /* @__PURE__ */ inventoryList<Lot>("lots", lotSchema);

/** The list of lots for searches, in which only `recNo` must be valid. */
export const recNoOnlyLotList = /* @__PURE__ */ inventoryList<Lot>(
  "lots",
  /* @__PURE__ */ lazy(() =>
    z.custom<Lot>((lot) => Number.isSafeInteger(fieldOf(lot, "recNo")), "expected an integer recNo"),
  ),
);

export const stockLevelList = /* @__PURE__ */ inventoryList<StockLevel>("stockLevels", stockLevelSchema);
