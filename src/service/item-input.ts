import { lazy, objectWithOthers, optionalFields, type SameShape } from "../shared/schema.js";
import { itemSchema } from "./item.js";
import { skuInputSchema } from "./key.js";

/** The fields of an item that can be changed. */
export interface ItemChanges {
  /** Item description. */
  description?: string | undefined;
  /** Category ID. */
  category?: number | undefined;
  /** Sub-category ID. */
  subCategory?: number | undefined;
  /** Unit of measure, for example `EA`, `KG`, `M`. */
  uOM?: string | undefined;
  /** Packaging description. */
  putUp?: string | undefined;
  /** Quantity per package, in the item's unit of measure (`uOM`). */
  units?: number | undefined;
  /** Customer ID of the default owner; 0 means own stock. */
  dfltOwner?: number | undefined;
  /** True when the item is discontinued. */
  discontinued?: boolean | undefined;
}

/** A new item. Source: service interface, "POST /Item (create)". */
export interface CreateItemInput extends ItemChanges {
  /** SKU: unique, cannot be changed afterwards. */
  shortID: string;
}

/** The fields of an item, without those that never change or that the service sets. */
const itemChangesShape = () =>
  optionalFields(itemSchema().omit({ partNo: true, shortID: true, created: true, modified: true }).shape);

/** Unknown fields are passed on: the service accepts "any other Item object field". */
export const createItemInputSchema = /* @__PURE__ */ lazy(() =>
  objectWithOthers({ shortID: skuInputSchema(), ...itemChangesShape() }),
);

export const itemChangesSchema = /* @__PURE__ */ lazy(() => objectWithOthers(itemChangesShape()));

true satisfies SameShape<CreateItemInput, typeof createItemInputSchema>;
true satisfies SameShape<ItemChanges, typeof itemChangesSchema>;
