import * as z from "zod";
import type { RequestOptions } from "../core/request-options.js";
import { fieldOf } from "../errors/field-of.js";
import { NotFoundError } from "../errors/index.js";
import { lazy, text } from "../schemas/field.js";
import type { Item } from "../schemas/item.js";
import { SendingTime } from "./moment.js";
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

const creationSchema = /* @__PURE__ */ lazy(() => z.looseObject({ shortID: text() }));

type Creation = z.infer<ReturnType<typeof creationSchema>>;

/** Looks for the item that the creation which an error tells of may have made. */
export async function findCreated(
  error: unknown,
  get: (shortID: string, options: RequestOptions) => Promise<Item>,
  options: RequestOptions,
): Promise<FoundItem> {
  const { body: creation, sentAt } = sentRequest("items.findCreated", error, {
    path: "/Item",
    what: "create",
    schema: creationSchema,
  });
  const time = new SendingTime(sentAt);
  try {
    return judgeItem(await get(creation.shortID, time.watching(options)), creation, time);
  } catch (failure) {
    if (failure instanceof NotFoundError) return { outcome: "not-applied" };
    throw failure;
  }
}

/** Whether an item is the one that was to be created. A SKU is given once, so an older item has kept this one out. */
function judgeItem(item: Item, creation: Creation, time: SendingTime): FoundItem {
  const order = time.compare(item.created);
  if (order === "before") return { outcome: "not-applied", item };
  const isAsSent = Object.entries(creation).every(
    ([field, value]) => !Object.hasOwn(item, field) || fieldOf(item, field) === value,
  );
  return { outcome: order === "after" && isAsSent ? "applied" : "ambiguous", item };
}
