import type { Item } from "../../service/item.js";
import { NotFoundError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import type { RequestOptions } from "../send/request-options.js";
import { isRedacted, isSameSku, isSameValue } from "./same-value.js";
import { type OutcomeSearch, type SearchStep, searchUntilCertain } from "./search-until-certain.js";
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

export interface ItemWriteSearch extends OutcomeSearch {
  operation: "create" | "update" | "discontinue";
  sent: SentCreation;
  get(shortID: string, options: RequestOptions): Promise<Item>;
}

/** What an item shows of a write. `undefined`: there is no such item. */
type Judge = (item: Item | undefined, sent: SentCreation, time: SendingTime) => SearchStep<FoundItem>;

const JUDGES: Record<ItemWriteSearch["operation"], Judge> = {
  create(item, { body }, time) {
    if (!item) return { found: { outcome: "not-applied" }, isFinal: false };
    return { found: { outcome: outcomeOfCreation(item, body, time), item }, isFinal: true };
  },
  update(item, { body }, time) {
    if (!item) return { found: { outcome: "not-applied" }, isFinal: true };
    const isAsSent = Object.keys(body).every((field) => Object.hasOwn(item, field)) && hasFieldsOf(item, body);
    // The service may store a value in another form, so a difference alone proves nothing.
    const outcome = isAsSent ? "applied" : time.isBefore(item.modified) ? "not-applied" : "ambiguous";
    return { found: { outcome, item }, isFinal: isAsSent };
  },
  discontinue(item) {
    // The service may hide an item that is discontinued.
    if (!item) return { found: { outcome: "ambiguous" }, isFinal: true };
    return { found: { outcome: item.discontinued ? "applied" : "not-applied", item }, isFinal: item.discontinued };
  },
};

/** Reads an item until it shows the write, or the request can no longer take effect. */
export async function findItemWrite(search: ItemWriteSearch): Promise<FoundItem> {
  const { operation, sent, get } = search;
  const { shortID } = sent.body;
  // The SKU is no longer known, so the item cannot be requested.
  if (isRedacted(shortID)) return { outcome: "ambiguous" };
  const time = new SendingTime(sent);
  return searchUntilCertain(search, async (requestOptions) => {
    const item = await get(shortID, time.observeClock(requestOptions)).catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error;
      return undefined;
    });
    return JUDGES[operation](item, sent, time);
  });
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
