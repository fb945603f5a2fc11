import * as z from "zod";
import { boolean, integer, lazy, type SameShape, string } from "../shared/schema.js";
import { dateInputSchema } from "./date.js";

/** Which records of a list, and in which order. Source: service interface, "Common paging parameters". */
export interface ListParams {
  /**
   * Number of the first page to read, from 1.
   * @default 1
   */
  page?: number | undefined;
  /**
   * Records per page, at least 1. The service caps it (250 for items and inventory). Each page costs one request.
   * @default 250
   */
  pageSize?: number | undefined;
  /**
   * Column to sort by. The supported columns are not documented; the service ignores an unknown one.
   * @default the service's own order
   */
  sort?: string | undefined;
  /**
   * Sort direction.
   * @default "ASC"
   */
  direction?: "ASC" | "DESC" | undefined;
  /**
   * Only records modified at or after this time. Not documented which lists support it; `GET /Item` does.
   * @default none: all records
   */
  modifiedSince?: Date | string | undefined;
}

/** Which items. */
export interface ItemListParams extends ListParams {
  /**
   * Also lists discontinued items.
   * @default false
   */
  includeDiscontinued?: boolean | undefined;
}

/** Which lots or stock levels. */
export interface InventoryListParams extends ListParams {
  /**
   * Warehouse ID: lists only this warehouse, which must be in the client's scope.
   * @default all warehouses in scope
   */
  wid?: number | undefined;
}

/** The parameters that all lists have. */
export const listParamsSchema = /* @__PURE__ */ lazy(() =>
  z
    .strictObject({
      page: integer().min(1),
      pageSize: integer().min(1),
      sort: string().min(1),
      direction: z.enum(["ASC", "DESC"]),
      modifiedSince: dateInputSchema(),
    })
    .partial(),
);
export const itemListParamsSchema = /* @__PURE__ */ lazy(() =>
  listParamsSchema().extend({ includeDiscontinued: boolean().optional() }),
);
export const inventoryListParamsSchema = /* @__PURE__ */ lazy(() =>
  listParamsSchema().extend({ wid: integer().optional() }),
);

true satisfies SameShape<ListParams, typeof listParamsSchema>;
true satisfies SameShape<ItemListParams, typeof itemListParamsSchema>;
true satisfies SameShape<InventoryListParams, typeof inventoryListParamsSchema>;
