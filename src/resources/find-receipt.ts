import * as z from "zod";
import type { RequestOptions } from "../core/request-options.js";
import type { ListOptions } from "../paging/list-options.js";
import type { Paginator } from "../paging/paginator.js";
import { lazy, optional, text } from "../schemas/field.js";
import type { Lot } from "../schemas/lot.js";
import { SendingTime } from "./moment.js";
import { sentRequest } from "./sent-request.js";

/** What became of a receipt whose answer was lost. */
export interface FoundReceipt {
  /**
   * - `applied`: there is one lot that fits, and it was received after the request was sent.
   * - `not-applied`: there is none; if the service was still at it, it may come yet.
   * - `ambiguous`: there are several, or it cannot be told whether the lot was there before.
   */
  outcome: "applied" | "not-applied" | "ambiguous";
  /** The lots that fit, newest first. */
  lots: Lot[];
}

/** What of a receipt is found again in its lot. */
const receiptSchema = /* @__PURE__ */ lazy(() =>
  z.object({
    itemID: text(),
    units: z.number(),
    wid: z.number(),
    ...optional({ spot: text(), serial: text(), serial2: text(), rfidTag: text() }),
  }),
);

type Receipt = z.infer<ReturnType<typeof receiptSchema>>;

const IN_LOT: readonly [keyof Receipt, keyof Lot][] = [
  ["itemID", "shortID"],
  ["units", "units"],
  ["wid", "wID"],
  ["spot", "spot"],
  ["serial", "serial"],
  ["serial2", "serial2"],
  ["rfidTag", "rFIDTag"],
];

/** Reads lots of a warehouse, newest first. */
type ListLots = (params: { wid: number }, options: ListOptions) => Paginator<Lot>;

/** Looks for the receipt that an error tells of among lots that are not known to be of another one. */
export async function findReceipt(
  error: unknown,
  known: ReadonlySet<number>,
  listLots: ListLots,
  options: RequestOptions,
): Promise<FoundReceipt> {
  const { body: receipt, sentAt } = sentRequest("inventory.findReceipt", error, {
    path: "/Inventory/Receive",
    what: "receive",
    schema: receiptSchema,
  });
  const search = new ReceiptSearch(receipt, sentAt, known);
  const lots = listLots({ wid: receipt.wid }, { ...search.time.watching(options), readAhead: 0 });
  for await (const { value } of lots.pages()) if (search.look(value)) break;
  return search.result;
}

/** Looks through lots, newest first, for that of a receipt; lots that are known to be of another one are passed over. */
class ReceiptSearch {
  readonly time: SendingTime;
  readonly #receipt: Receipt;
  readonly #known: ReadonlySet<number>;
  readonly #lots: Lot[] = [];
  #unclear = false;
  #last = "";
  #inOrder = true;

  constructor(receipt: Receipt, sentAt: number, known: ReadonlySet<number>) {
    this.#receipt = receipt;
    this.#known = known;
    this.time = new SendingTime(sentAt);
  }

  /** Looks at a page of lots; `true` when those behind it are older still. */
  look(lots: readonly Lot[]): boolean {
    let allBefore = lots.length > 0;
    for (const lot of lots) {
      const order = this.time.compare(lot.received);
      if (order !== "before") allBefore = false;
      if (this.#last !== "" && lot.received > this.#last) this.#inOrder = false;
      this.#last = lot.received;
      if (order === "before" || this.#known.has(lot.recNo) || !fits(lot, this.#receipt)) continue;
      this.#lots.push(lot);
      // A serial of its own that the receipt did not give, or a time that tells nothing.
      if (order === "unclear" || (this.#receipt.serial === undefined && lot.serial !== "")) this.#unclear = true;
    }
    // Newest first is what the document says; where it is not so, only the end of the list is the end.
    return allBefore && this.#inOrder;
  }

  get result(): FoundReceipt {
    const lots = this.#lots;
    if (lots.length === 0) return { outcome: "not-applied", lots };
    return { outcome: lots.length === 1 && !this.#unclear ? "applied" : "ambiguous", lots };
  }
}

/** What the receipt left out may have been filled in by the service. */
const fits = (lot: Lot, receipt: Receipt) =>
  IN_LOT.every(([given, stored]) => receipt[given] === undefined || bare(receipt[given]) === bare(lot[stored]));

const bare = (value: Lot[keyof Lot] | undefined) => String(value ?? "").trim();
