import type { RequestOptions } from "../../core/request/options.js";
import type { Lot } from "../../schemas/lot.js";
import { RecentLots, type RecentLotsSettings } from "./recent-lots.js";
import { isSameSku, isSameValue } from "./same-value.js";
import { type SearchStep, searchUntilSettled } from "./search-until-settled.js";
import { SendingTime, type TimeOrder } from "./sending-time.js";
import type { SentReceipt } from "./sent-request.js";

/** A mark of an outbox, as part of a remark or a serial. */
export const RECEIPT_MARK = /\[sl:[A-Z2-7]{16}\]/i;

/** The outcome of a receipt that an outbox has stored. */
export interface FoundStoredReceipt {
  /**
   * - `applied`: one lot is known to be that of the receipt.
   * - `duplicate`: several lots have the mark of the receipt.
   * - `not-applied`: the request has settled, and there is no lot that may be that of the receipt.
   * - `ambiguous`: anything else.
   */
  outcome: "applied" | "duplicate" | "not-applied" | "ambiguous";
  /** The lots of the receipt, or those that may be. */
  lots: Lot[];
}

/** What an outbox knows of a receipt. */
export interface StoredReceiptSearch {
  sent: SentReceipt;
  /** The mark that was sent. */
  mark: string | undefined;
  /** Whether a lot with the same `serial` and `rfidTag` is that of the receipt. */
  isIdentifiedBySerial: boolean;
  /** Numbers of lots that are known to belong to other receipts. */
  knownReceipts: ReadonlySet<number>;
  /** How long the request may still be in progress. */
  settlesInMs: number;
  options: RequestOptions;
}

export interface StoredReceiptSearchDeps extends Pick<RecentLotsSettings, "listLots"> {
  /** Aborted when the client is closed. */
  closed: AbortSignal;
}

/** Searches for the lot of a receipt until it is found or the request has settled. */
export function findStoredReceipt(
  search: StoredReceiptSearch,
  { closed, listLots }: StoredReceiptSearchDeps,
): Promise<FoundStoredReceipt> {
  const { sent, settlesInMs, options } = search;
  const time = new SendingTime(sent.sentAt, sent.clockAheadMs);
  const evidence = new LotEvidence(search);
  const reader = new RecentLots({
    time,
    wid: sent.body.wid,
    listLots,
    addLot: (lot, received) => evidence.add(lot, received),
  });
  return searchUntilSettled({ method: "outbox.run", settlesInMs, closed }, options, async (requestOptions) => {
    await reader.read(requestOptions);
    return evidence.conclude(time.isKnown && reader.isComplete);
  });
}

/**
 * - `marked`: it has the mark of the receipt.
 * - `identified`: it has the serial and RFID tag of the receipt.
 * - `possible`: it may be that of the receipt. Each field may have changed: lots are moved, issued and corrected.
 */
type Evidence = "marked" | "identified" | "possible";

/** What the lots prove. Lots removed since an earlier step still count. */
class LotEvidence {
  readonly #search: StoredReceiptSearch;
  readonly #byRecNo = new Map<number, { lot: Lot; evidence: Evidence }>();

  constructor(search: StoredReceiptSearch) {
    this.#search = search;
  }

  add(lot: Lot, received: TimeOrder): void {
    const evidence = this.#evidenceOf(lot, received);
    if (evidence) this.#byRecNo.set(lot.recNo, { lot, evidence });
  }

  conclude(isCertain: boolean): SearchStep<FoundStoredReceipt> {
    const marked = this.#lotsWith("marked");
    const identified = this.#lotsWith("identified");
    const possible = this.#lotsWith("possible");
    if (marked.length > 0) {
      const outcome = isOneReceipt(marked, this.#search.sent.body.units) ? "applied" : "duplicate";
      return { found: { outcome, lots: marked }, isFinal: true };
    }
    if (identified.length > 0) {
      return { found: { outcome: identified.length === 1 ? "applied" : "ambiguous", lots: identified }, isFinal: true };
    }
    const outcome = possible.length === 0 && isCertain ? "not-applied" : "ambiguous";
    // A possible lot stays possible, so only a lot that is certain can still change the outcome.
    const isFinal = possible.length > 0 && !this.#search.mark && !this.#search.isIdentifiedBySerial;
    return { found: { outcome, lots: possible }, isFinal };
  }

  #evidenceOf(lot: Lot, received: TimeOrder): Evidence | undefined {
    const { sent, mark, isIdentifiedBySerial, knownReceipts } = this.#search;
    const { itemID, serial, rfidTag } = sent.body;
    if (mark !== undefined && (hasText(lot.remark, mark) || hasText(lot.serial, mark))) return "marked";
    if (received === "before" || !isSameSku(itemID, lot.shortID) || knownReceipts.has(lot.recNo)) return undefined;
    // A whole mark that is not the receipt's own belongs to another receipt.
    if (RECEIPT_MARK.test(lot.remark) || RECEIPT_MARK.test(lot.serial)) return undefined;
    const isSame = isBlankOrSame(serial, lot.serial) && isBlankOrSame(rfidTag, lot.rFIDTag);
    return isIdentifiedBySerial && isSame && received === "after" ? "identified" : "possible";
  }

  #lotsWith(wanted: Evidence): Lot[] {
    return [...this.#byRecNo.values()].flatMap(({ lot, evidence }) => (evidence === wanted ? lot : []));
  }
}

const hasText = (text: string | null, part: string) => (text ?? "").toLowerCase().includes(part.toLowerCase());

const isBlankOrSame = (sent: string | undefined, stored: string | null) =>
  sent === undefined || sent.trim() === "" || isSameValue(sent, stored);

/**
 * Whether lots with the same mark belong to one receipt: a move of part of a lot creates another lot, with the same
 * date of receipt.
 */
function isOneReceipt(lots: readonly Lot[], units: number): boolean {
  const sum = lots.reduce((total, lot) => total + lot.units, 0);
  return lots.length === 1 || (lots.every(({ received }) => received === lots[0]?.received) && sum <= units);
}
