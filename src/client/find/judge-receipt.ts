import type { Lot } from "../../service/lot.js";
import { isSameSku } from "./sent-write.js";

/** What is known of the receipt whose outcome is not. */
export interface JudgedReceipt {
  itemID: string;
  /** The item's part number; `undefined` if the item cannot be found by its SKU. */
  partNo: number | undefined;
  /**
   * The highest record number that was seen when the receipt was sent: its lot has a higher one. `undefined` if none was seen.
   */
  lastRecNo: number | undefined;
  /** Whether a candidate has what only the lot of this receipt can have. */
  isOwn(lot: Lot, isOfItem: boolean): boolean;
  /**
   * Whether a text of the lot contains what only this receipt has: other lots may have been merged with its lot. `isOfItem`:
   * whether it is a lot of the receipt's item.
   */
  showsOwn(lot: Lot, isOfItem: boolean): boolean;
  /** Whether the lot is known to be that of another receipt. */
  isOthers(lot: Lot): boolean;
  /** Whether a candidate of another item may be the lot of this receipt. */
  mayBeOwnOfOtherItem(lot: Lot): boolean;
  /** Whether a candidate of the item that is nobody's may be the lot of this receipt. */
  mayBeOwn(lot: Lot): boolean;
}

/**
 * - `applied`: `lots` are the receipt's own
 * - `ambiguous`: `lots` may be its own
 * - `none`: none of the lots can be its own. Whether the receipt was applied depends on whether these are all lots
 */
export interface Judgement {
  outcome: "applied" | "ambiguous" | "none";
  lots: Lot[];
}

/** Whether the lot came after the receipt was sent, as far as is known. */
export const isCandidate = ({ recNo }: Lot, lastRecNo: number | undefined) =>
  lastRecNo === undefined || !Number.isSafeInteger(recNo) || recNo > lastRecNo;

/**
 * Judges the lots that any page has shown, whatever item they are listed under. What speaks for a lot (a mark, a tag, an equal
 * text) counts before anything that speaks against it.
 */
export function judgeReceipt(lots: Iterable<Lot>, receipt: JudgedReceipt): Judgement {
  const { itemID, partNo, lastRecNo } = receipt;
  const own: Lot[] = [];
  const possible: Lot[] = [];
  for (const lot of lots) {
    const isOfItem = lot.partNo === partNo || isSameSku(lot.shortID, itemID);
    if (!isCandidate(lot, lastRecNo)) {
      if (receipt.showsOwn(lot, isOfItem)) possible.push(lot);
    } else if (receipt.isOwn(lot, isOfItem)) own.push(lot);
    else if (receipt.showsOwn(lot, isOfItem)) possible.push(lot);
    else if (isOfItem ? !receipt.isOthers(lot) && receipt.mayBeOwn(lot) : receipt.mayBeOwnOfOtherItem(lot))
      possible.push(lot);
  }
  if (own.length > 0) return { outcome: "applied", lots: own };
  return { outcome: possible.length > 0 ? "ambiguous" : "none", lots: possible };
}
