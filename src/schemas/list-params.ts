import * as z from "zod";
import { dateInput } from "./date.js";
import { flag, integer, lazy, type SameShape, text } from "./field.js";

/** Which records of a list, and in which order. Source: service interface, "Common paging parameters". */
export interface ListParams {
  /**
   * The page to begin with, from 1.
   * @default 1
   */
  page?: number | undefined;
  /**
   * Records a page, from 1. The service caps it (250 for items and inventory). Each page costs one request.
   * @default 250
   */
  pageSize?: number | undefined;
  /**
   * Column to sort by. The service does not say which columns it knows; one that it does not know is ignored.
   * @default the service's own order
   */
  sort?: string | undefined;
  /**
   * Sort direction.
   * @default "ASC"
   */
  direction?: "ASC" | "DESC" | undefined;
  /**
   * Only records modified on or after this moment. Which lists honour it is not documented; `GET /Item` does.
   * @default none: all records
   */
  modifiedSince?: Date | string | undefined;
}

/** Which items. */
export interface ItemListParams extends ListParams {
  /**
   * Lists discontinued items too.
   * @default false
   */
  includeDiscontinued?: boolean | undefined;
}

/** Which lots or stock levels. */
export interface InventoryListParams extends ListParams {
  /**
   * Only this warehouse. It must be in the client's scope.
   * @default all warehouses in scope
   */
  wid?: number | undefined;
}

const paging = () => ({
  page: integer().min(1),
  pageSize: integer().min(1),
  sort: text().min(1),
  direction: z.enum(["ASC", "DESC"]),
  modifiedSince: dateInput(),
});

export const itemListSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ ...paging(), includeDiscontinued: flag() }).partial(),
);
export const inventoryListSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ ...paging(), wid: integer() }).partial(),
);

true satisfies SameShape<ItemListParams, typeof itemListSchema>;
true satisfies SameShape<InventoryListParams, typeof inventoryListSchema>;
