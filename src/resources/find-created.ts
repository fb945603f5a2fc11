import { z } from "zod";
import { InputValidationError, OutcomeUnknownError } from "../errors/index.js";
import { lazy } from "../schemas/field.js";
import type { Item } from "../schemas/item.js";
import type { SendingTime } from "./moment.js";

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

const creationSchema = lazy(() => z.looseObject({ shortID: z.string() }));

export type Creation = z.infer<ReturnType<typeof creationSchema>>;

/** The creation that an error tells of; rejects any other error. */
export function creationOf(error: unknown): { creation: Creation; sentAt: number } {
  if (error instanceof OutcomeUnknownError && error.request.method === "POST" && error.request.path === "/Item") {
    const { data: creation } = creationSchema().safeParse(error.request.body);
    if (creation) return { creation, sentAt: error.request.sentAt };
  }
  throw new InputValidationError("items.findCreated", [
    { path: ["error"], message: "must be the OutcomeUnknownError of a create" },
  ]);
}

/** Whether an item is the one that was to be created. A SKU is given once, so an older item has kept this one out. */
export function judgeItem(item: Item, creation: Creation, time: SendingTime): FoundItem {
  const order = time.compare(item.created);
  if (order === "before") return { outcome: "not-applied", item };
  const stored = new Map<string, unknown>(Object.entries(item));
  const isAsSent = Object.entries(creation).every(
    ([field, value]) => !stored.has(field) || stored.get(field) === value,
  );
  return { outcome: order === "after" && isAsSent ? "applied" : "ambiguous", item };
}
