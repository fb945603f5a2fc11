import type { Item } from "../../service/item.js";
import { isNoSuchItem } from "../../shared/errors/api-errors.js";
import { NotFoundError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import type { RequestOptions } from "../send/request-options.js";
import { lookUntilCertain, type OutcomeSearch } from "./look-until-certain.js";
import { isRedacted, isSameSku, isStoredAs, type SentCreation } from "./sent-write.js";
import { compareWithSending, SendingTime } from "./service-time.js";

/** The outcome of a `create` whose response was lost. */
export interface FoundItem {
  /**
   * - `applied`: the item exists as it was sent, and was created after the request was sent.
   * - `not-applied`: the item was created more than 48 hours before, or `settleMs` has passed and there is no such item. You
   *   can resend it.
   * - `ambiguous`: the item exists, but it differs from what was sent, or the time of its creation is unclear. A person
   *   must decide.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /** The item with this SKU, if there is one. */
  item?: Item;
}

interface CreationSearch extends OutcomeSearch {
  sent: SentCreation;
  get(shortID: string, options: RequestOptions): Promise<Item>;
}

/** Reads the item until it exists, or the request can no longer take effect. */
export async function findCreated(search: CreationSearch): Promise<FoundItem> {
  const { sent, get } = search;
  const { shortID } = sent.body;
  // The SKU was redacted, so the item cannot be requested.
  if (isRedacted(shortID)) return { outcome: "ambiguous" };
  const time = new SendingTime(sent);
  return lookUntilCertain<FoundItem>(search, time, async (options) => {
    try {
      const item = await get(shortID, options);
      return { found: { outcome: outcomeOfCreation(item, sent.body, time.ms), item }, isFinal: true };
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      // The page of a proxy says nothing about the item.
      const outcome = isNoSuchItem(error) ? "not-applied" : "ambiguous";
      return { found: { outcome }, isFinal: false };
    }
  });
}

/** Fields that the service sets. Source: service interface, "PUT /Item (update)". */
const PRESERVED_FIELDS: readonly string[] = ["shortID", "partNo", "created", "createdBy"];

function outcomeOfCreation(item: Item, body: SentCreation["body"], sentAt: number | undefined): FoundItem["outcome"] {
  if (!isSameSku(item.shortID, body.shortID)) return "ambiguous";
  const created = compareWithSending(item.created, sentAt);
  // A SKU is unique: if an older item has it, the new one was refused.
  if (created === "before") return "not-applied";
  const isAsSent = Object.entries(body).every(
    ([field, value]) =>
      PRESERVED_FIELDS.includes(field) || (Object.hasOwn(item, field) && isStoredAs(value, fieldOf(item, field))),
  );
  return created === "after" && isAsSent ? "applied" : "ambiguous";
}
