import type { Lot } from "../../service/lot.js";
import { NotFoundError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { lookUntilCertain, type OutcomeSearch } from "./look-until-certain.js";
import type { LookedUpReceipt, LookUp, ReceiptLookup } from "./receipt-lookup.js";
import { isBlankText, isRedacted, isSameSku, isStoredAs, type SentReceipt, showsText } from "./sent-write.js";
import { SendingTime, wasWrittenAfter } from "./service-time.js";

/** The outcome of a `receive` whose response was lost. */
export interface FoundReceipt {
  /**
   * - `applied`: exactly one lot is certainly the receipt's own.
   * - `not-applied`: `settleMs` has passed, and no lot can be the receipt's own. You can resend the receipt.
   * - `ambiguous`: anything else. A person must decide.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /**
   * The receipt's lot, or every lot that may be the receipt's, newest first. A lot may differ from the receipt in some
   * fields.
   */
  lots: Lot[];
}

/** Receipts that this client has sent, by the record number in their response. */
type KnownReceipts = ReadonlyMap<number, object>;

interface ReceiptSearch extends OutcomeSearch {
  sent: SentReceipt;
  others: KnownReceipts;
  lookup: ReceiptLookup;
}

/** Looks at the lots until one is the receipt's own, or the request can no longer take effect. */
export async function findReceipt(search: ReceiptSearch): Promise<FoundReceipt> {
  const { sent, others, lookup } = search;
  // The SKU was redacted, so the item cannot be found.
  if (isRedacted(sent.body.itemID)) return { outcome: "ambiguous", lots: [] };
  const time = new SendingTime(sent);
  const receipt = receiptToLookUp(sent, others, time);
  return lookUntilCertain<FoundReceipt>(search, time, async (options, concludes) => {
    const { outcome, lots } = await lookup.look(receipt, { options, concludes }).catch(unlessNotFound);
    const isApplied = outcome === "applied" && lots.length === 1;
    const found = isApplied ? outcome : outcome === "absent" ? "not-applied" : "ambiguous";
    return {
      found: { outcome: found, lots: lots.sort(byNewest) },
      // Two lots with the same text cannot be told apart, however often they are read.
      isFinal: outcome === "applied",
    };
  });
}

/** Turns a 404 into an ambiguous outcome, because the item cannot be found. A proxy may have sent the 404. */
function unlessNotFound(error: unknown): LookUp {
  if (error instanceof NotFoundError) return { outcome: "ambiguous", lots: [], reason: "the item cannot be found" };
  throw error;
}

/** Returns how lots are judged for a receipt that this client has sent: by the receipt's fields. */
function receiptToLookUp({ body, lastRecNo }: SentReceipt, others: KnownReceipts, time: SendingTime): LookedUpReceipt {
  const hasText = OWN_TEXTS.some(([name]) => !isBlankText(body[name]));
  const texts = receiptTexts(body);
  return {
    itemID: body.itemID,
    wid: body.wid,
    lastRecNo,
    seen: new Map(),
    isOwn: (lot, isOfItem) =>
      isOfItem &&
      !others.has(lot.recNo) &&
      (lastRecNo !== undefined || wasWrittenAfter(lot.received, time.ms)) &&
      (hasOwnTag(body, lot) || hasOwnText(body, lot)),
    showsOwn: (lot, isOfItem) => isOfItem && texts.areShownBy(lot) && !isOtherLot(lot, body, others),
    isOthers: (lot) => isOtherLot(lot, body, others),
    // Without `lastRecNo`, every lot of the item is a candidate.
    mayBeOwn: (lot) => lastRecNo !== undefined || !hasText || texts.areShownBy(lot),
    // Without `lastRecNo`, old lots of other items are candidates, too. They may have the same remark, but hardly the same tag.
    mayBeOwnOfOtherItem: (lot) =>
      !isOtherLot(lot, body, others) && (lastRecNo === undefined ? hasOwnTag(body, lot) : texts.equal(lot)),
  };
}

/** Texts that can identify a receipt, and the fields of its lot that show them. */
const OWN_TEXTS = [
  ["rfidTag", "rFIDTag"],
  ["serial", "serial"],
  ["serial2", "serial2"],
  ["remark", "remark"],
] as const satisfies readonly [keyof SentReceipt["body"], keyof Lot][];

/** Fields that receipts and lots share. The item is left out: the service may list a lot under another spelling of the SKU. */
const SHARED_FIELDS = [
  ["units", "units"],
  ["wid", "wID"],
  ["spot", "spot"],
  ["jobid", "jobID"],
  ...OWN_TEXTS,
] as const satisfies readonly [keyof SentReceipt["body"], keyof Lot][];

const TEXTS = ["serial", "serial2", "remark"] as const;

const isSameText = (sent: unknown, stored: unknown) => !isBlankText(sent) && isStoredAs(sent, stored);

const hasOwnTag = ({ rfidTag }: SentReceipt["body"], lot: Lot): boolean => isSameText(rfidTag, lot.rFIDTag);

/** Compares the texts of a receipt with those of lots. */
export const receiptTexts = (input: object) => ({
  /** Whether the lot shows one of the texts, perhaps merged with others or cut off. */
  areShownBy: (lot: Lot) => OWN_TEXTS.some(([name, stored]) => showsText(fieldOf(input, name), lot[stored])),
  /** Whether the lot has the same tag, serial or remark. */
  equal: (lot: Lot) => OWN_TEXTS.some(([name, stored]) => isSameText(fieldOf(input, name), lot[stored])),
});

/** Whether all fields are equal and one of them is a text. Equal numbers alone may be chance. */
const hasOwnText = (body: SentReceipt["body"], lot: Lot): boolean =>
  TEXTS.some((name) => !isBlankText(body[name])) && isEqual(body, lot);

function isEqual(body: object, lot: Lot): boolean {
  // The service may have filled in fields that the receipt left out, but hardly a serial.
  if (isBlankText(fieldOf(body, "serial")) && !isBlankText(lot.serial)) return false;
  return SHARED_FIELDS.every(([name, stored]) => {
    const sent = fieldOf(body, name);
    return sent === undefined || isStoredAs(sent, lot[stored]);
  });
}

/**
 * Whether the lot belongs to another receipt that this client has sent. The number in a response need not be the lot's, so two
 * things are required besides: the lot shows the fields of that other receipt, and it has an item or a text that the receipt
 * being looked up does not have.
 */
function isOtherLot(lot: Lot, body: SentReceipt["body"], others: KnownReceipts): boolean {
  const other = others.get(lot.recNo);
  const isOnlyThere = (name: (typeof TEXTS)[number] | "rfidTag") =>
    !isBlankText(fieldOf(other, name)) && !isStoredAs(fieldOf(other, name), body[name]);
  if (other === undefined || !isEqual(other, lot)) return false;
  const itemID = fieldOf(other, "itemID");
  const isOfOtherItem = isSameSku(itemID, lot.shortID) && !isSameSku(itemID, body.itemID);
  return isOfOtherItem || [...TEXTS, "rfidTag" as const].some(isOnlyThere);
}

const byNewest = (one: Lot, other: Lot) =>
  one.received === other.received ? 0 : String(one.received) < String(other.received) ? 1 : -1;
