import type { ListOptions } from "../../paging/list.js";
import type { Paginator } from "../../paging/paginator.js";
import type { InventoryListParams } from "../../schemas/list-params.js";
import type { Lot } from "../../schemas/lot.js";
import { RecentLots } from "./recent-lots.js";
import { isRedacted, isSameSku, isSameValue } from "./same-value.js";
import { type FindOptions, type SearchStep, searchUntilSettled, settlingMs } from "./search-until-settled.js";
import { SendingTime, type TimeOrder } from "./sending-time.js";
import type { SentReceipt } from "./sent-request.js";

/** The outcome of a `receive` whose response was lost. */
export interface FoundReceipt {
  /**
   * - `applied`: exactly one lot matches, and it was received after the request was sent.
   * - `not-applied`: `settleMs` has passed, and no lot of the item was received since, except lots that are known to
   * belong to other receipts. You can resend it.
   * - `ambiguous`: anything else. Several lots match, or a lot received since differs in some field (it may have been moved or
   *   partly issued), or times cannot be compared. A person must decide.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /**
   * The lot of the receipt, or all candidates, newest first. With an `ambiguous` outcome, candidates may differ from
   * the receipt in some field.
   */
  lots: Lot[];
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

export interface ReceiptSearch {
  sent: SentReceipt;
  options: FindOptions;
  /** Aborted when the client is closed. */
  closed: AbortSignal;
  listLots(params: InventoryListParams, options: ListOptions): Paginator<Lot>;
  /** Numbers of lots that are known to belong to other receipts. */
  knownReceipts: ReadonlySet<number>;
}

/** Searches for the lot of a receipt until it is found or the request has settled. */
export function findReceipt({
  sent,
  options,
  closed,
  listLots,
  knownReceipts: ofOthers,
}: ReceiptSearch): Promise<FoundReceipt> {
  const { body: receipt, sentAt } = sent;
  const time = new SendingTime(sentAt);
  const candidates = new LotCandidates(receipt);
  const reader = new RecentLots({ time, wid: receipt.wid, listLots, addLot: (...lot) => candidates.add(...lot) });
  const settlesInMs = settlingMs(sentAt, options);
  return searchUntilSettled(
    { method: "inventory.findReceipt", settlesInMs, closed },
    options,
    async (requestOptions) => {
      await reader.read(requestOptions);
      return candidates.conclude(ofOthers, time.isKnown && reader.isComplete);
    },
  );
}

interface LotCandidate {
  lot: Lot;
  match: "certain" | "uncertain" | "none";
}

/** The lots of the item that may have been received since the receipt was sent. Lots removed since an earlier step still count. */
class LotCandidates {
  readonly #receipt: SentReceipt["body"];
  readonly #byRecNo = new Map<number, LotCandidate>();

  constructor(receipt: SentReceipt["body"]) {
    this.#receipt = receipt;
  }

  add(lot: Lot, received: TimeOrder): void {
    if (received === "before" || !this.#isOfItem(lot)) return;
    this.#byRecNo.set(lot.recNo, { lot, match: this.#match(lot, received === "after") });
  }

  conclude(ofOthers: ReadonlySet<number>, isCertain: boolean): SearchStep<FoundReceipt> {
    const candidates = [...this.#byRecNo.values()].filter(({ lot }) => !ofOthers.has(lot.recNo)).sort(byNewest);
    const matches = candidates.filter(({ match }) => match !== "none");
    const [match] = matches;
    if (match?.match === "certain" && matches.length === 1) {
      return { found: { outcome: "applied", lots: [match.lot] }, isFinal: true };
    }
    const outcome = candidates.length === 0 && isCertain ? "not-applied" : "ambiguous";
    // A matching lot stays a candidate, so another step cannot change the outcome.
    return { found: { outcome, lots: candidates.map(({ lot }) => lot) }, isFinal: matches.length > 0 };
  }

  #isOfItem({ shortID }: Lot): boolean {
    const { itemID } = this.#receipt;
    return isRedacted(itemID) || isSameSku(itemID, shortID);
  }

  #match(lot: Lot, isAfter: boolean): LotCandidate["match"] {
    const receipt = this.#receipt;
    // The service may have filled in fields that the receipt left out.
    const isMatch = SHARED_FIELDS.every(
      ([sent, stored]) => receipt[sent] === undefined || isSameValue(receipt[sent], lot[stored]),
    );
    if (!isMatch) return "none";
    const hasForeignSerial = receipt.serial === undefined && lot.serial !== "";
    return isAfter && !hasForeignSerial && !isRedacted(receipt.itemID) ? "certain" : "uncertain";
  }
}

const byNewest = ({ lot: one }: LotCandidate, { lot: other }: LotCandidate) =>
  one.received === other.received ? 0 : one.received < other.received ? 1 : -1;
