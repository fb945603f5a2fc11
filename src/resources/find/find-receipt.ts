import type { RequestOptions } from "../../core/request/options.js";
import { PermissionError } from "../../errors/index.js";
import type { ListOptions } from "../../paging/list.js";
import type { Paginator } from "../../paging/paginator.js";
import type { InventoryListParams } from "../../schemas/list-params.js";
import type { Lot } from "../../schemas/lot.js";
import { isRedacted, isSameSku, isSameValue } from "./same-value.js";
import { type FindOptions, type SearchStep, searchUntilSettled } from "./search-until-settled.js";
import { SendingTime } from "./sending-time.js";
import type { SentReceipt } from "./sent-request.js";

/** The outcome of a `receive` whose response was lost. */
export interface FoundReceipt {
  /**
   * - `applied`: exactly one lot matches, and it was received after the request was sent.
   * - `not-applied`: the request has settled, and no lot of the item was received since, except those known to belong to
   *   other receipts. It can be resent.
   * - `ambiguous`: anything else. Several lots match, or a lot received since differs in some field (it may have been moved or
   *   partly issued), or times cannot be compared. A person must decide.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /** The lot of the receipt, or all candidates, newest first. With an `ambiguous` outcome they may differ in some field. */
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

/** The default order of the list. Set explicitly, since gapless reading uses another order by default. */
const NEWEST_FIRST = { sort: "received", direction: "DESC" } as const;

export interface ReceiptSearch {
  sent: SentReceipt;
  options: FindOptions;
  /** Aborted when the client is closed. */
  closed: AbortSignal;
  listLots(params: InventoryListParams, options: ListOptions): Paginator<Lot>;
  /** Numbers of lots that are known to belong to other receipts. */
  knownReceipts: ReadonlySet<number>;
}

/** Looks for the lot of a receipt until it is found or the request has settled. */
export function findReceipt({
  sent,
  options,
  closed,
  listLots,
  knownReceipts: ofOthers,
}: ReceiptSearch): Promise<FoundReceipt> {
  const { body: receipt, sentAt } = sent;
  const time = new SendingTime(sentAt);
  const candidates = new LotCandidates(receipt, time);
  /** Not all warehouses could be read. */
  let isPartial = false;

  const readLots = async (wid: number | undefined, requestOptions: RequestOptions) => {
    const options = time.observeClock(requestOptions);
    const params = { ...NEWEST_FIRST, wid };
    const first = await listLots(params, options).page();
    candidates.beginList();
    if (candidates.addPage(first.value) || !first.hasMore) return;
    // Several pages: lots removed in the meantime must not hide the one searched for.
    const lots = listLots(params, { ...options, readAhead: 0, gapless: true });
    candidates.beginList();
    for await (const { value } of lots.pages()) if (candidates.addPage(value)) return;
  };

  const step = async (requestOptions: RequestOptions): Promise<SearchStep<FoundReceipt>> => {
    try {
      await readLots(isPartial ? receipt.wid : undefined, requestOptions);
    } catch (error) {
      // A service may allow a request for one warehouse, but not for all at once.
      if (!(error instanceof PermissionError) || error.reason !== "warehouse-out-of-scope" || isPartial) throw error;
      isPartial = true;
      await readLots(receipt.wid, requestOptions);
    }
    return candidates.conclude(ofOthers, isPartial);
  };

  return searchUntilSettled({ method: "inventory.findReceipt", sentAt, closed }, options, step);
}

interface LotCandidate {
  lot: Lot;
  match: "certain" | "uncertain" | "none";
}

/** The lots of the item that may have been received since the receipt was sent. Lots removed since an earlier step still count. */
class LotCandidates {
  readonly #receipt: SentReceipt["body"];
  readonly #time: SendingTime;
  readonly #byRecNo = new Map<number, LotCandidate>();
  #isNewestFirst = true;
  #last: Lot | undefined;

  constructor(receipt: SentReceipt["body"], time: SendingTime) {
    this.#receipt = receipt;
    this.#time = time;
  }

  beginList(): void {
    this.#isNewestFirst = true;
    this.#last = undefined;
  }

  /** Adds the candidates of a page; `true` if all further pages are older than the receipt. */
  addPage(lots: readonly Lot[]): boolean {
    for (const lot of lots) {
      if (this.#last && lot.received > this.#last.received) this.#isNewestFirst = false;
      this.#last = lot;
      const order = this.#time.compare(lot.received);
      if (order === "before" || !this.#isOfItem(lot)) continue;
      this.#byRecNo.set(lot.recNo, { lot, match: this.#match(lot, order === "after") });
    }
    // If the service does not sort by this order, only the end of the list ends the search.
    return this.#isNewestFirst && this.#last !== undefined && this.#time.compare(this.#last.received) === "before";
  }

  conclude(ofOthers: ReadonlySet<number>, isPartial: boolean): SearchStep<FoundReceipt> {
    const candidates = [...this.#byRecNo.values()].filter(({ lot }) => !ofOthers.has(lot.recNo)).sort(byNewest);
    const matches = candidates.filter(({ match }) => match !== "none");
    const [match] = matches;
    if (match?.match === "certain" && matches.length === 1) {
      return { found: { outcome: "applied", lots: [match.lot] }, isFinal: true };
    }
    const isAbsent = candidates.length === 0 && this.#time.isKnown && !isPartial;
    const outcome = isAbsent ? "not-applied" : "ambiguous";
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
