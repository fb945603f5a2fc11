import * as z from "zod";
import { skuSchema } from "../../service/key.js";
import { nonNegativeMsSchema } from "../../shared/option.js";
import { integer, lazy, optionalFields } from "../../shared/schema.js";
import { type RequestOptions, requestOptionsShape } from "../send/request-options.js";

/** Where the records of an item are searched. */
export interface ItemScope {
  /**
   * Warehouse ID, which must be in the client's scope.
   * @default all warehouses in scope
   * @example
   * await client.inventory.getStockLevel("BOLT-M8", { wid: 3 });
   */
  wid?: number | undefined;
}

/** Where a stock level is searched, and how old it may be. */
export interface StockLevelScope extends ItemScope {
  /**
   * How old the result may be, in ms. An earlier result of this client is returned without a request if the oldest
   * request of its search was sent at most this long ago, and if this client has not written to the item since. For a
   * web endpoint, use 10_000 to
   * 60_000.
   * @default 0: the stock level is searched
   * @example
   * // Many visitors ask for the same SKU: a level of the last 30 seconds is good
   * // enough.
   * await client.inventory.getStockLevel("BOLT-M8", { maxAgeMs: 30_000 });
   */
  maxAgeMs?: number | undefined;
}

/** Where stock levels are searched, how old they may be, and what happens to SKUs that do not exist. */
export interface StockLevelsScope extends StockLevelScope {
  /**
   * `"error"`: one `NotFoundError` names all SKUs that do not exist. `"omit"`: the result lacks them.
   * @default "error"
   * @example
   * // Some SKUs of the shopping cart may be gone.
   * await client.inventory.getStockLevels(["BOLT-M8", "GONE"], { onMissing: "omit" });
   */
  onMissing?: "error" | "omit" | undefined;
}

/** Options of `getStockLevel`, `getStockLevels` and `getLots`. They apply to the whole call, which sends several requests. */
export interface ItemSearchOptions extends RequestOptions {
  /**
   * What happens if the list cannot be searched. `"read"`: the whole list is read, and a warning is logged once. `"error"`: the
   * call rejects with a `PaginationError`.
   * @default "read"
   * @example
   * // Rather an error than 400 requests for one SKU.
   * await client.inventory.getStockLevel("BOLT-M8", {}, { ifUnsorted: "error" });
   */
  ifUnsorted?: "read" | "error" | undefined;
}

export const skusSchema = /* @__PURE__ */ lazy(() => z.array(skuSchema()));
export const lotScopeSchema = /* @__PURE__ */ lazy(() => z.strictObject(optionalFields({ wid: integer() })));
export const levelScopeSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject(optionalFields({ wid: integer(), maxAgeMs: nonNegativeMsSchema() })),
);
export const levelsScopeSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ ...levelScopeSchema().shape, ...optionalFields({ onMissing: z.enum(["error", "omit"]) }) }),
);
export const itemSearchOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({ ...requestOptionsShape(), ...optionalFields({ ifUnsorted: z.enum(["read", "error"]) }) }),
);
