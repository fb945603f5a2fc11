import * as z from "zod";
import { pathOf } from "../core/request/path.js";
import { fieldOf } from "../errors/unknown-value.js";
import { createPageReader } from "../paging/decode-page.js";
import { type ListDefinition, type ListOptions, pagingOf } from "../paging/list.js";
import { type LazySchema, lazy } from "../schemas/field.js";
import { type InventoryListParams, inventoryListParamsSchema } from "../service/list-params.js";
import { LISTS } from "../service/lists.js";
import { type Lot, lotSchema } from "../service/lot.js";
import { READS } from "../service/operations.js";
import { type StockLevel, stockLevelSchema } from "../service/stock-level.js";

/** A list of the inventory with these parameters. */
export type InventoryList<T> = (
  params: InventoryListParams,
  options: ListOptions,
) => ListDefinition<T, InventoryListParams>;

/** What differs between the lists of the inventory. */
interface ListParts<T> {
  name: "listLots" | "listStockLevels";
  record: LazySchema<z.ZodType<T>>;
  list: "lots" | "stockLevels";
  /** The method that finds the records of one item. */
  finder: "getLots" | "getStockLevel";
}

/** A list of all warehouses, or of one. */
/* @__NO_SIDE_EFFECTS__ */
function inventoryList<T>({ name, record, list, finder }: ListParts<T>): InventoryList<T> {
  const pageReader = createPageReader(record);
  return (params, options) => ({
    name: `inventory.${name}`,
    params,
    schema: inventoryListParamsSchema,
    explainParameter: (parameter) =>
      ITEM_NAMES.includes(parameter)
        ? `the service cannot filter this list by item. Use client.inventory.${finder}(shortID), which finds one item in a few requests`
        : undefined,
    request: ({ wid, ...query }) => ({
      path: wid === undefined ? READS[name].path : pathOf(READS[`${name}OfWarehouse`], wid),
      query,
    }),
    options,
    pageReader,
    ...pagingOf(LISTS[list]),
  });
}

/** What a caller may filter by who looks for one item. */
const ITEM_NAMES = ["shortID", "itemID", "partNo"];

export const lotList = /* @__PURE__ */ inventoryList<Lot>({
  name: "listLots",
  record: lotSchema,
  list: "lots",
  finder: "getLots",
});

/** Of lots that are only searched through, the other fields need not be valid. */
export const recNoOnlyLotList = /* @__PURE__ */ inventoryList<Lot>({
  name: "listLots",
  record: /* @__PURE__ */ lazy(() =>
    z.custom<Lot>((lot) => Number.isSafeInteger(fieldOf(lot, "recNo")), "expected an integer recNo"),
  ),
  list: "lots",
  finder: "getLots",
});

export const stockLevelList = /* @__PURE__ */ inventoryList<StockLevel>({
  name: "listStockLevels",
  record: stockLevelSchema,
  list: "stockLevels",
  finder: "getStockLevel",
});
