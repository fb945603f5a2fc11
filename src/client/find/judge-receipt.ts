import type { Lot } from "../../service/lot.js";
import { isSameSku } from "./sent-write.js";

/** A receipt whose outcome is not known, and how lots are compared with it. */
export interface JudgedReceipt {
  itemID: string;
  /** The item's part number; `undefined` if the item cannot be found by its SKU. */
  partNo: number | undefined;
  /**
   * The highest record number that was seen when the receipt was sent. The receipt's lot has a higher one. `undefined` if no
   * number was seen.
   */
  lastRecNo: number | undefined;
  /** Whether a candidate shows something that only the lot of this receipt can show. */
  isOwn(lot: Lot, isOfItem: boolean): boolean;
  /**
   * Whether a text of the lot contains a text of this receipt: the receipt's lot may have been merged with other lots.
   * `isOfItem`: whether the lot is listed under the receipt's item.
   */
  showsOwn(lot: Lot, isOfItem: boolean): boolean;
  /** Whether the lot certainly belongs to another receipt. */
  isOthers(lot: Lot): boolean;
  /** Whether a candidate of another item may be the lot of this receipt. */
  mayBeOwnOfOtherItem(lot: Lot): boolean;
  /** Whether a candidate of the item that belongs to no other receipt may be the lot of this receipt. */
  mayBeOwn(lot: Lot): boolean;
}

/**
 * - `applied`: `lots` are the receipt's own lots
 * - `ambiguous`: each of `lots` may be the receipt's own lot
 * - `none`: no judged lot can be the receipt's own. If all lots of the service were judged, the receipt was not applied
 */
export interface Judgement {
  outcome: "applied" | "ambiguous" | "none";
  lots: Lot[];
}

/** Whether the lot may have been created after the receipt was sent. */
export const isCandidate = ({ recNo }: Lot, lastRecNo: number | undefined) =>
  lastRecNo === undefined || !Number.isSafeInteger(recNo) || recNo > lastRecNo;

/**
 * Judges all lots that any page has shown, whatever item they are listed under. Evidence for a lot (a mark, a tag, an equal
 * text) is weighed before any evidence against it.
 */
export function judgeReceipt(lots: Iterable<Lot>, receipt: JudgedReceipt): Judgement {
  const { itemID, partNo, lastRecNo } = receipt;
  const own: Lot[] = [];
  const possible: Lot[] = [];
  for (const lot of lots) {
    const isOfItem = lot.partNo === partNo || isSameSku(lot.shortID, itemID);
    const mayBe = () => (isOfItem ? !receipt.isOthers(lot) && receipt.mayBeOwn(lot) : receipt.mayBeOwnOfOtherItem(lot));
    const isNew = isCandidate(lot, lastRecNo);
    if (isNew && receipt.isOwn(lot, isOfItem)) own.push(lot);
    else if (receipt.showsOwn(lot, isOfItem) || (isNew && mayBe())) possible.push(lot);
  }
  if (own.length > 0) return { outcome: "applied", lots: own };
  return { outcome: possible.length > 0 ? "ambiguous" : "none", lots: possible };
}
