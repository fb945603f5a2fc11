import type { Lot } from "../../schemas/lot.js";
import { fitsDateFilter } from "../date-filter.js";
import { compare, type Decimal, decimalOf, minus, plus, smaller, toNumber, ZERO } from "../decimal.js";
import type { Call } from "../http/call.js";
import { badRequest, notFound, Refusal } from "../http/refusal.js";

/** What a move or an issue says about the lots it means. */
export interface Selection {
  readonly partNo: number;
  readonly wid: number;
  readonly units: number;
  readonly spot: string | undefined;
  readonly serial: string | undefined;
  readonly serial2: string | undefined;
  readonly rfidTag: string | undefined;
  readonly recno: number | undefined;
  /** Receipt date, or its beginning. */
  readonly received?: string | undefined;
}

/** A lot, and how much of it is taken. */
export interface Picked {
  readonly lot: Lot;
  readonly taken: Decimal;
  readonly left: Decimal;
}

/** Takes the quantity from the lots that fit, oldest first. Throws a refusal when there is not enough. */
export function pickLots({ state, settings }: Call, selection: Selection): [Picked, ...Picked[]] {
  const wanted = decimalOf(selection.units);
  const picks: Picked[] = [];
  let found = ZERO;
  const shelf = state.book.shelf(selection.partNo, selection.wid);
  for (const recNo of candidates(shelf, selection.recno)) {
    const lot = state.ledger.get(recNo);
    if (!fits(lot, selection) || (lot.hold && settings.heldLots === "refuse")) continue;
    const units = decimalOf(lot.units);
    const taken = smaller(units, minus(wanted, found));
    picks.push({ lot, taken, left: minus(units, taken) });
    found = plus(found, taken);
    if (compare(found, wanted) >= 0) break;
  }
  const [first, ...others] = picks;
  if (!first || compare(found, wanted) < 0) {
    // All that fits was picked, so whatever else is on the shelf was left out by a filter or a hold.
    const reason = shelf.length > picks.length ? "match" : "are in stock";
    throw shortage(`Only ${toNumber(found)} of ${selection.units} units ${reason}.`, settings.shortageStatus);
  }
  return [first, ...others];
}

/** The item that a transaction names. */
export function itemNamed(
  { state, settings }: Call,
  itemID: string,
): { partNo: number; shortID: string; description: string } {
  const entry = state.catalogue.bySKU(itemID);
  if (entry) return entry.item;
  const message = `Item ${itemID} does not exist.`;
  throw settings.unknownItemStatus === 404 ? notFound(message) : badRequest(message);
}

function candidates(shelf: readonly number[], recno: number | undefined): readonly number[] {
  if (recno === undefined) return shelf;
  return shelf.includes(recno) ? [recno] : [];
}

function fits(lot: Lot, { spot, serial, serial2, rfidTag, received }: Selection): boolean {
  return (
    (spot === undefined || lot.spot === spot) &&
    (serial === undefined || lot.serial === serial) &&
    (serial2 === undefined || lot.serial2 === serial2) &&
    (rfidTag === undefined || lot.rFIDTag === rfidTag) &&
    (received === undefined || fitsDateFilter(lot.received, received))
  );
}

function shortage(message: string, status: 400 | 409): Refusal {
  return status === 409 ? new Refusal("conflict", message) : badRequest(message);
}
