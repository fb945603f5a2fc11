import type { Lot } from "../../service/lot.js";
import { NotFoundError, PermissionError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import type { RequestOptions } from "../send/request-options.js";
import { lookUntilCertain, type OutcomeSearch } from "./look-until-certain.js";
import { isBlank, isRedacted, isStoredAs, type SentReceipt } from "./sent-write.js";
import { compareWithSending, SendingTime } from "./service-time.js";

/** The outcome of a `receive` whose response was lost. */
export interface FoundReceipt {
  /**
   * - `applied`: exactly one lot is known to be that of the receipt.
   * - `not-applied`: `settleMs` has passed, and every lot of the item was received more than 48 hours before the request was
   *   sent, or is known to be another receipt's. You can resend it.
   * - `ambiguous`: anything else. A person must decide.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /** The lot of the receipt, or all candidates, newest first. Candidates may differ from the receipt in some field. */
  lots: Lot[];
}

/** The lots of one item, in all warehouses. */
export interface LotsOfItem {
  lots: readonly Lot[];
  /** These are certainly all of them. */
  provesAbsence: boolean;
}

/** How lots are judged by one receipt. */
interface ReceiptEvidence {
  /** Whether the lot has what only this receipt's lot can have. */
  isOwn(lot: Lot): boolean;
  /** Whether the lot is known to be another receipt's. */
  isOthers(lot: Lot): boolean;
  /** When the receipt was sent, by the service's clock, in ms since the epoch, if that is known. */
  sentAt: number | undefined;
}

/**
 * What proves that a receipt was applied, or that it was not; the outbox decides by it, too. Its own lot proves the one. The
 * other is proved by the absence of any lot that may be its own, with a string or SKU other than was sent: by lots that are
 * certainly all of the item, each of them another receipt's, or received long before. That holds once the receipt can no
 * longer take effect.
 */
export function judgeLots(
  { lots, provesAbsence }: LotsOfItem,
  { isOwn, isOthers, sentAt }: ReceiptEvidence,
): { outcome: "applied" | "absent" | "ambiguous"; lots: Lot[] } {
  const own = lots.filter(isOwn);
  if (own.length > 0) return { outcome: "applied", lots: own };
  const candidates = lots.filter((lot) => compareWithSending(lot.received, sentAt) !== "before" && !isOthers(lot));
  return { outcome: candidates.length === 0 && provesAbsence ? "absent" : "ambiguous", lots: candidates };
}

/** Receipts that this client has sent, by the number in the response. */
type KnownReceipts = ReadonlyMap<number, object>;

interface ReceiptSearch extends OutcomeSearch {
  sent: SentReceipt;
  others: KnownReceipts;
  /** Reads the lots of an item, in all warehouses or in one. Fields that the search does not use need not be valid. */
  readLots(shortID: string, wid: number | undefined, options: RequestOptions): Promise<LotsOfItem>;
}

/** Looks at the lots of the item until one is that of the receipt, or the request can no longer take effect. */
export async function findReceipt(search: ReceiptSearch): Promise<FoundReceipt> {
  const { sent, others, readLots } = search;
  const { body } = sent;
  // The SKU is no longer known, so the item cannot be found.
  if (isRedacted(body.itemID)) return { outcome: "ambiguous", lots: [] };
  const time = new SendingTime(sent);
  let mayReadAll = true;
  /** By number. Lots removed since an earlier look still count. */
  const seen = new Map<number, Lot>();

  const readAll = async (options: RequestOptions): Promise<LotsOfItem> => {
    try {
      const found = await readLots(body.itemID, mayReadAll ? undefined : body.wid, options);
      return { ...found, provesAbsence: found.provesAbsence && mayReadAll };
    } catch (error) {
      if (error instanceof NotFoundError) return { lots: [], provesAbsence: false };
      // A service may allow a request for one warehouse, but not for all warehouses together.
      const isOutOfScope = error instanceof PermissionError && error.reason === "warehouse-out-of-scope";
      if (!isOutOfScope || !mayReadAll) throw error;
      mayReadAll = false;
      return readAll(options);
    }
  };

  return lookUntilCertain<FoundReceipt>(search, time, async (options) => {
    const { lots, provesAbsence } = await readAll(options);
    for (const lot of lots) seen.set(lot.recNo, lot);
    const all = { lots: [...seen.values()].sort(byNewest), provesAbsence };
    const sentAt = time.ms;
    const isOthers = (lot: Lot) => isOtherLot(lot, body, others);
    const isOwn = (lot: Lot) =>
      compareWithSending(lot.received, sentAt) === "after" &&
      (hasOwnTag(body, lot) || (hasOwnText(body, lot) && !isOthers(lot)));
    const found = judgeLots(all, { isOwn, isOthers, sentAt });
    // If it is unclear when it was sent, so is whether it can still take effect.
    if (found.outcome === "absent" && sentAt !== undefined)
      return { found: { outcome: "not-applied", lots: [] }, isFinal: false };
    // Two lots with the same text cannot be told apart.
    const isApplied = found.outcome === "applied" && found.lots.length === 1;
    return {
      found: { outcome: isApplied ? "applied" : "ambiguous", lots: found.lots },
      isFinal: found.outcome === "applied",
    };
  });
}

/** Fields that receipts and lots share, except the item: the service may list a lot under another spelling of the SKU. */
const SHARED_FIELDS = [
  ["units", "units"],
  ["wid", "wID"],
  ["spot", "spot"],
  ["serial", "serial"],
  ["serial2", "serial2"],
  ["rfidTag", "rFIDTag"],
  ["remark", "remark"],
  ["jobid", "jobID"],
] as const satisfies readonly [keyof SentReceipt["body"], keyof Lot][];

const TEXTS = ["serial", "serial2", "remark"] as const;

const hasOwnTag = ({ rfidTag }: SentReceipt["body"], lot: Lot): boolean =>
  !isBlank(rfidTag) && isStoredAs(rfidTag, lot.rFIDTag);

/** Equality in all fields, a string among them: equality alone may be chance. */
const hasOwnText = (body: SentReceipt["body"], lot: Lot): boolean =>
  TEXTS.some((name) => !isBlank(body[name])) && isEqual(body, lot);

function isEqual(body: object, lot: Lot): boolean {
  // The service may have filled in fields that the receipt left out, but hardly a serial.
  if (isBlank(fieldOf(body, "serial")) && !isBlank(lot.serial)) return false;
  return SHARED_FIELDS.every(([name, stored]) => {
    const sent = fieldOf(body, name);
    return sent === undefined || isStoredAs(sent, lot[stored]);
  });
}

/**
 * Whether the lot is that of a receipt that this client has sent. The number in a response may not be that of the lot, so the
 * lot must also have the text of that receipt, and one that the receipt which is looked for does not have.
 */
function isOtherLot(lot: Lot, body: SentReceipt["body"], others: KnownReceipts): boolean {
  const other = others.get(lot.recNo);
  const isOnlyThere = (name: (typeof TEXTS)[number] | "rfidTag") =>
    !isBlank(fieldOf(other, name)) && !isStoredAs(fieldOf(other, name), body[name]);
  return other !== undefined && isEqual(other, lot) && [...TEXTS, "rfidTag" as const].some(isOnlyThere);
}

const byNewest = (one: Lot, other: Lot) =>
  one.received === other.received ? 0 : String(one.received) < String(other.received) ? 1 : -1;
