import type { RequestOptions } from "../../core/request/options.js";
import { NotFoundError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import type { Item } from "../../schemas/item.js";
import { isRedacted, isSameSku, isSameValue } from "./same-value.js";
import { type FindOptions, type SearchStep, searchUntilSettled } from "./search-until-settled.js";
import { SendingTime } from "./sending-time.js";
import type { SentCreation } from "./sent-request.js";

/** The outcome of a `create` whose response was lost. */
export interface FoundItem {
  /**
   * - `applied`: the item exists as it was sent, and was created after that.
   * - `not-applied`: the item existed before, or `settleMs` has passed and there is no such item. You can resend it.
   * - `ambiguous`: the item exists, but it differs from what was sent, or the time of its creation is unclear. A person
   * must decide.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /** The item with this SKU, if there is one. */
  item?: Item;
}

export interface CreationSearch {
  sent: SentCreation;
  /** How long the request may still be in progress. */
  settlesInMs: number;
  options: FindOptions;
  /** Aborted when the client is closed. */
  closed: AbortSignal;
  get(shortID: string, options: RequestOptions): Promise<Item>;
}

/** Searches for an item until it is found or the request has settled. */
export async function findCreated({ sent, settlesInMs, options, closed, get }: CreationSearch): Promise<FoundItem> {
  const { body: creation, sentAt, clockAheadMs } = sent;
  // The SKU is no longer known, so the item cannot be requested.
  if (isRedacted(creation.shortID)) return { outcome: "ambiguous" };
  const time = new SendingTime(sentAt, clockAheadMs);
  const step = async (requestOptions: RequestOptions): Promise<SearchStep<FoundItem>> => {
    try {
      const item = await get(creation.shortID, time.observeClock(requestOptions));
      return { found: { outcome: outcomeOf(item, creation, time), item }, isFinal: true };
    } catch (error) {
      if (error instanceof NotFoundError) return { found: { outcome: "not-applied" }, isFinal: false };
      throw error;
    }
  };
  return searchUntilSettled({ method: "items.findCreated", settlesInMs, closed }, options, step);
}

/** A SKU is unique: if an older item has it, the new one was refused. */
function outcomeOf(item: Item, creation: SentCreation["body"], time: SendingTime): FoundItem["outcome"] {
  if (!isSameSku(item.shortID, creation.shortID)) return "ambiguous";
  const order = time.compare(item.created);
  if (order === "before" && time.isKnown) return "not-applied";
  const isAsSent = Object.entries(creation).every(
    ([field, value]) => field === "shortID" || !Object.hasOwn(item, field) || isSameValue(value, fieldOf(item, field)),
  );
  return order === "after" && isAsSent ? "applied" : "ambiguous";
}
