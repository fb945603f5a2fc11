import * as z from "zod";
import { fieldOf } from "../errors/field-of.js";
import { lazy, text } from "../schemas/field.js";
import type { Item } from "../schemas/item.js";
import type { SendingTime } from "./moment.js";
import { sentRequest } from "./sent-request.js";

/** What became of the creation of an item whose answer was lost. */
export interface FoundItem {
  /**
   * - `applied`: the item is there as it was sent, and was created after that.
   * - `not-applied`: there is no such item, or it was there before; if the service was still at it, it may come yet.
   * - `ambiguous`: the item is there, but differs from what was sent, or it cannot be told when it was created.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /** The item with this SKU, if there is one. */
  item?: Item;
}

const creationSchema = lazy(() => z.looseObject({ shortID: text() }));

export type Creation = z.infer<ReturnType<typeof creationSchema>>;

/** The creation that an error tells of; rejects any other error. */
export const creationOf = (error: unknown) =>
  sentRequest("items.findCreated", error, { path: "/Item", what: "create", schema: creationSchema });

/** Whether an item is the one that was to be created. A SKU is given once, so an older item has kept this one out. */
export function judgeItem(item: Item, creation: Creation, time: SendingTime): FoundItem {
  const order = time.compare(item.created);
  if (order === "before") return { outcome: "not-applied", item };
  const isAsSent = Object.entries(creation).every(
    ([field, value]) => !Object.hasOwn(item, field) || fieldOf(item, field) === value,
  );
  return { outcome: order === "after" && isAsSent ? "applied" : "ambiguous", item };
}
