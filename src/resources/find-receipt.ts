import { z } from "zod";
import { InputValidationError, OutcomeUnknownError } from "../errors/index.js";
import { lazy } from "../schemas/field.js";
import type { Lot } from "../schemas/lot.js";
import { SendingTime } from "./moment.js";

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

const RECEIVE_PATH = "/Inventory/Receive";
const RECEIPTS_REMEMBERED = 1_000;

const text = () => z.string().optional();

/** What of a receipt is found again in its lot. */
const receiptSchema = lazy(() =>
  z.object({
    itemID: z.string(),
    units: z.number(),
    wid: z.number(),
    spot: text(),
    serial: text(),
    serial2: text(),
    rfidTag: text(),
  }),
);

export type Receipt = z.infer<ReturnType<typeof receiptSchema>>;

/** The receipt that an error tells of; rejects any other error. */
export function receiptOf(error: unknown): { receipt: Receipt; sentAt: number } {
  if (error instanceof OutcomeUnknownError && error.request.path === RECEIVE_PATH) {
    const { data: receipt } = receiptSchema().safeParse(error.request.body);
    if (receipt) return { receipt, sentAt: error.request.sentAt };
  }
  throw new InputValidationError("inventory.findReceipt", [
    { path: ["error"], message: "must be the OutcomeUnknownError of a receive" },
  ]);
}

/** The receipts that this client knows to have been applied: a lot of theirs is not that of another one. */
export class KnownReceipts {
  readonly #recNos = new Set<number>();

  add(recNo: number | undefined): void {
    if (recNo === undefined) return;
    this.#recNos.add(recNo);
    const [oldest] = this.#recNos;
    if (this.#recNos.size > RECEIPTS_REMEMBERED && oldest !== undefined) this.#recNos.delete(oldest);
  }

  has(recNo: number): boolean {
    return this.#recNos.has(recNo);
  }
}

/** Looks through lots, newest first, for that of a receipt. */
export class ReceiptSearch {
  readonly time: SendingTime;
  readonly #receipt: Receipt;
  readonly #known: KnownReceipts;
  readonly #lots: Lot[] = [];
  #unclear = false;
  #last = "";
  #inOrder = true;

  constructor(receipt: Receipt, sentAt: number, known: KnownReceipts) {
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
      if (order === "unclear" || hasSerialOfItsOwn(lot, this.#receipt)) this.#unclear = true;
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
function fits(lot: Lot, { itemID, units, wid, spot, serial, serial2, rfidTag }: Receipt): boolean {
  return (
    lot.shortID === itemID &&
    lot.wID === wid &&
    lot.units === units &&
    isAsGiven(spot, lot.spot) &&
    isAsGiven(serial, lot.serial) &&
    isAsGiven(serial2, lot.serial2) &&
    isAsGiven(rfidTag, lot.rFIDTag)
  );
}

const isAsGiven = (given: string | undefined, stored: string | null) =>
  given === undefined || given.trim() === (stored ?? "").trim();

const hasSerialOfItsOwn = (lot: Lot, { serial }: Receipt) => serial === undefined && lot.serial !== "";
