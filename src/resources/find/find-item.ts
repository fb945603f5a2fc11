import type { RequestOptions } from "../../core/request/options.js";
import { NotFoundError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import type { Item } from "../../service/item.js";
import { isRedacted, isSameSku, isSameValue } from "./same-value.js";
import { type FindOptions, type SearchStep, searchUntilCertain } from "./search-until-certain.js";
import { SendingTime } from "./sending-time.js";
import type { SentCreation } from "./sent-request.js";

/** The outcome of a `create` whose response was lost. */
export interface FoundItem {
  /**
   * - `applied`: the item exists as it was sent, and was created after that.
   * - `not-applied`: the item existed more than a minute before, or `settleMs` has passed and there is no such item. You
   * can resend it.
   * - `ambiguous`: the item exists, but it differs from what was sent, or the time of its creation is unclear. A person
   * must decide.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /** The item with this SKU, if there is one. */
  item?: Item;
}

export interface ItemSearch {
  /** The method that the caller knows, for messages. */
  method: string;
  /** The write, as it was sent. */
  sent: SentCreation;
  /** How long the request may still be in progress. */
  inProgressMs: number;
  options: FindOptions;
  /** Aborted when the client is closed. */
  closed: AbortSignal;
  get(shortID: string, options: RequestOptions): Promise<Item>;
}

/** Searches for an item until it is found or the request can no longer take effect. */
export const findCreated = (search: ItemSearch): Promise<FoundItem> =>
  findItem(search, (item, time) => {
    if (!item) return { found: { outcome: "not-applied" }, isFinal: false };
    return { found: { outcome: outcomeOfCreation(item, search.sent.body, time), item }, isFinal: true };
  });

/** Reads an item until it is as an update has changed it, or the request can no longer take effect. */
export const findUpdated = (search: ItemSearch): Promise<FoundItem> =>
  findItem(search, (item, time) => {
    if (!item) return { found: { outcome: "not-applied" }, isFinal: true };
    const { body } = search.sent;
    const isAsSent = Object.keys(body).every((field) => Object.hasOwn(item, field)) && hasFieldsOf(item, body);
    // The service may store a value in another form, so a difference alone proves nothing.
    const outcome = isAsSent ? "applied" : time.isBefore(item.modified) ? "not-applied" : "ambiguous";
    return { found: { outcome, item }, isFinal: isAsSent };
  });

/** Reads an item until it is discontinued, or the request can no longer take effect. */
export const findDiscontinued = (search: ItemSearch): Promise<FoundItem> =>
  findItem(search, (item) => {
    // The service may hide an item that is discontinued.
    if (!item) return { found: { outcome: "ambiguous" }, isFinal: true };
    return { found: { outcome: item.discontinued ? "applied" : "not-applied", item }, isFinal: item.discontinued };
  });

async function findItem(
  { method, sent, inProgressMs, options, closed, get }: ItemSearch,
  judge: (item: Item | undefined, time: SendingTime) => SearchStep<FoundItem>,
): Promise<FoundItem> {
  const { shortID } = sent.body;
  // The SKU is no longer known, so the item cannot be requested.
  if (isRedacted(shortID)) return { outcome: "ambiguous" };
  const time = new SendingTime(sent);
  const step = async (requestOptions: RequestOptions): Promise<SearchStep<FoundItem>> => {
    try {
      return judge(await get(shortID, time.observeClock(requestOptions)), time);
    } catch (error) {
      if (error instanceof NotFoundError) return judge(undefined, time);
      throw error;
    }
  };
  return searchUntilCertain({ method, inProgressMs, closed }, options, step);
}

/** A SKU is unique: if an older item has it, the new one was refused. */
function outcomeOfCreation(item: Item, creation: SentCreation["body"], time: SendingTime): FoundItem["outcome"] {
  if (!isSameSku(item.shortID, creation.shortID)) return "ambiguous";
  if (time.isBefore(item.created)) return "not-applied";
  return time.compare(item.created) === "after" && hasFieldsOf(item, creation) ? "applied" : "ambiguous";
}

/** Fields that the service keeps whatever is sent. Source: service interface, "PUT /Item (update)". */
const PRESERVED_FIELDS: readonly string[] = ["shortID", "partNo", "created", "createdBy"];

const hasFieldsOf = (item: Item, sent: SentCreation["body"]) =>
  Object.entries(sent).every(
    ([field, value]) =>
      PRESERVED_FIELDS.includes(field) || !Object.hasOwn(item, field) || isSameValue(value, fieldOf(item, field)),
  );
