import type { Lot } from "../../service/lot.js";
import { createLotReader, type ListLots } from "./recent-lots.js";
import { isBlank, isRedacted, isSameSku, isSameValue } from "./same-value.js";
import { type OutcomeSearch, type SearchStep, searchUntilCertain } from "./search-until-certain.js";
import { SendingTime } from "./sending-time.js";
import type { SentReceipt } from "./sent-request.js";

/** The outcome of a `receive` whose response was lost. */
export interface FoundReceipt {
  /**
   * - `applied`: exactly one lot is known to be that of the receipt.
   * - `not-applied`: `settleMs` has passed, and no lot of the item was received since a minute before the request was
   * sent, except lots that are known to belong to other receipts. You can resend it.
   * - `ambiguous`: anything else. Several lots match, or a lot received since differs in some field (it may have been moved or
   *   partly issued), or times cannot be compared. A person must decide.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /**
   * The lot of the receipt, or all candidates, newest first, as the service lists them: fields that the search does not
   * use are not validated. With an `ambiguous` outcome, candidates may differ from the receipt in some field.
   */
  lots: Lot[];
}

/** What a search reports: `duplicate` if several lots have the mark of the receipt. */
export interface ReceiptSearchResult {
  outcome: FoundReceipt["outcome"] | "duplicate";
  lots: Lot[];
}

/** What is known about the other receipts of the item. */
export interface OtherReceipts {
  /**
   * Their lots. The value is the earliest time at which the service can have applied the receipt, by its clock, in ms;
   * `undefined` if that is unknown.
   */
  recNos: ReadonlyMap<number, number | undefined>;
  /** Their marks. */
  marks: readonly string[];
  /** Whether one whose lot is not known has the same serial or RFID tag. */
  withSameSerial: boolean;
}

export interface ReceiptSearch extends OutcomeSearch {
  sent: SentReceipt;
  mark: string | undefined;
  others: OtherReceipts;
  /**
   * What a lot without the mark must have to count as that of the receipt: its `identity` (serial or RFID tag, with item,
   * warehouse and units), or `equality` in all fields. A second receipt can be equal by chance, so only a caller who
   * knows the receipts of the item can rely on that.
   */
  accepts: "identity" | "equality";
  listLots: ListLots;
}

/** Searches for the lot of a receipt until it is found or the request can no longer take effect. */
export function findReceipt(search: ReceiptSearch): Promise<ReceiptSearchResult> {
  const { sent, listLots, others } = search;
  const time = new SendingTime(sent);
  const evidence = new LotEvidence(search, time);
  const readLots = createLotReader({
    time,
    wid: sent.body.wid,
    listLots,
    addLot: (lot) => {
      const appliedAfter = others.recNos.get(lot.recNo);
      if (appliedAfter !== undefined) time.observeLag(appliedAfter, lot.received);
      evidence.add(lot);
    },
  });
  return searchUntilCertain(search, async (requestOptions) => {
    const isComplete = await readLots(requestOptions);
    return evidence.conclude(time.isKnown && isComplete);
  });
}

/** Fields that receipts and lots share, except the item. */
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

/**
 * What a lot is to the receipt.
 * - `marked`: it has the mark of the receipt, and is of its item.
 * - `identified`: it has the serial and RFID tag of the receipt, is of its item and in its warehouse, has not more units,
 *   and was received after that was sent.
 * - `equal`: it is the same in all fields of the receipt, and was received after that was sent.
 * - `maybe-equal`: the same, but it may have been received before, or has a serial of its own.
 * - `possible`: it may be that of the receipt. Each field may have changed: lots are moved, issued and corrected.
 */
type Evidence = "marked" | "identified" | "equal" | "maybe-equal" | "possible";

/** What the lots prove. Lots removed since an earlier step still count. */
class LotEvidence {
  readonly #search: ReceiptSearch;
  readonly #time: SendingTime;
  readonly #lots = new Map<number, Lot>();
  /** Whether the receipt has a serial or an RFID tag that counts. */
  readonly #hasSerial: boolean;

  constructor(search: ReceiptSearch, time: SendingTime) {
    this.#search = search;
    this.#time = time;
    const { serial, rfidTag } = search.sent.body;
    this.#hasSerial = search.accepts === "identity" && (!isBlank(serial) || !isBlank(rfidTag));
  }

  add(lot: Lot): void {
    // A lot of another item can only be confused with that of the receipt if nothing but the serial identifies it.
    const isConfusing = this.#search.mark === undefined && this.#hasSerial && this.#hasSameSerial(lot);
    if (this.#isOfItem(lot) || isConfusing) this.#lots.set(lot.recNo, lot);
  }

  conclude(isCertain: boolean): SearchStep<ReceiptSearchResult> {
    const { mark, accepts, sent } = this.#search;
    const found: Record<Evidence, Lot[]> = { marked: [], identified: [], equal: [], "maybe-equal": [], possible: [] };
    for (const lot of [...this.#lots.values()].sort(byNewest)) {
      const evidence = this.#evidenceOf(lot);
      if (evidence) found[evidence].push(lot);
    }
    const { marked, identified, equal, "maybe-equal": maybeEqual } = found;
    if (marked.length > 0) {
      return {
        found: { outcome: isOneReceipt(marked, sent.body.units) ? "applied" : "duplicate", lots: marked },
        isFinal: true,
      };
    }
    if (identified.length > 0) {
      return { found: { outcome: identified.length === 1 ? "applied" : "ambiguous", lots: identified }, isFinal: true };
    }
    if (equal.length === 1 && maybeEqual.length === 0)
      return { found: { outcome: "applied", lots: equal }, isFinal: true };
    const lots = [...equal, ...maybeEqual, ...found.possible].sort(byNewest);
    const outcome = lots.length === 0 && isCertain ? "not-applied" : "ambiguous";
    // A lot stays what it is, so only better evidence can still change the outcome.
    const mayFindBetter =
      mark !== undefined || this.#hasSerial || (accepts === "equality" && equal.length + maybeEqual.length === 0);
    return { found: { outcome, lots }, isFinal: lots.length > 0 && !mayFindBetter };
  }

  #evidenceOf(lot: Lot): Evidence | undefined {
    const { sent, mark, accepts, others } = this.#search;
    const received = this.#time.compare(lot.received);
    const isOfItem = this.#isOfItem(lot);
    if (mark !== undefined && isOfItem && hasText(lot, mark)) return "marked";
    if (received === "before" || this.#isOfOther(lot)) return undefined;
    if (this.#hasSerial && !others.withSameSerial && received === "after" && this.#isIdentified(lot))
      return "identified";
    if (
      accepts === "identity" ||
      !isOfItem ||
      !SHARED_FIELDS.every(([name, stored]) => isLeftOutOrSame(sent.body[name], lot[stored]))
    )
      return "possible";
    return received === "after" && !this.#hasSerialOfItsOwn(lot) && !isRedacted(sent.body.itemID)
      ? "equal"
      : "maybe-equal";
  }

  #isOfItem({ shortID }: Lot): boolean {
    const { itemID } = this.#search.sent.body;
    return isRedacted(itemID) || isSameSku(itemID, shortID);
  }

  #hasSameSerial(lot: Lot): boolean {
    const { serial, rfidTag } = this.#search.sent.body;
    return (
      (!isBlank(serial) && isSameValue(serial, lot.serial)) || (!isBlank(rfidTag) && isSameValue(rfidTag, lot.rFIDTag))
    );
  }

  #isIdentified(lot: Lot): boolean {
    const { itemID, serial, rfidTag, wid, units } = this.#search.sent.body;
    const hasBoth = [
      [serial, lot.serial],
      [rfidTag, lot.rFIDTag],
    ].every(([sent, stored]) => isBlank(sent) || isSameValue(sent, stored));
    return hasBoth && isSameSku(itemID, lot.shortID) && lot.wID === wid && Number(lot.units) <= units;
  }

  /**
   * Whether the lot is known to belong to another receipt. A mark proves that only if it is one of the same store, and
   * not part of what was sent: anybody can copy the text of a lot.
   */
  #isOfOther(lot: Lot): boolean {
    const { sent, others } = this.#search;
    const { remark, serial } = sent.body;
    return (
      others.recNos.has(lot.recNo) ||
      others.marks.some((mark) => hasText(lot, mark) && !hasText({ remark, serial }, mark))
    );
  }

  /** The service may have filled in fields that the receipt left out, but hardly a serial. */
  #hasSerialOfItsOwn(lot: Lot): boolean {
    return this.#search.sent.body.serial === undefined && !isBlank(lot.serial);
  }
}

const isLeftOutOrSame = (sent: unknown, stored: unknown) => sent === undefined || isSameValue(sent, stored);

function hasText({ remark, serial }: { remark?: unknown; serial?: unknown }, part: string): boolean {
  return [remark, serial].some((text) =>
    String(text ?? "")
      .toLowerCase()
      .includes(part.toLowerCase()),
  );
}

/**
 * Whether lots with the same mark belong to one receipt: a move of part of a lot creates another lot, with the same
 * date of receipt.
 */
function isOneReceipt(lots: readonly Lot[], units: number): boolean {
  const sum = lots.reduce((total, lot) => total + Number(lot.units), 0);
  return lots.length === 1 || (lots.every(({ received }) => received === lots[0]?.received) && sum <= units);
}

const byNewest = (one: Lot, other: Lot) =>
  one.received === other.received ? 0 : String(one.received) < String(other.received) ? 1 : -1;
