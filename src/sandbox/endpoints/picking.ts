import { Big } from "big.js";
import type { Item } from "../../service/item.js";
import type { Lot } from "../../service/lot.js";
import { badRequestError, conflictError, notFoundError } from "../http/messages.js";
import { matchesDateFilter } from "../time.js";
import type { EndpointContext } from "./endpoint.js";

/** The filters of a move or an issue. */
export interface LotSelection {
  readonly partNo: number;
  readonly wid: number;
  readonly units: number;
  readonly spot?: string | undefined;
  readonly serial?: string | undefined;
  readonly serial2?: string | undefined;
  readonly rfidTag?: string | undefined;
  readonly recno?: number | undefined;
  /** Receipt date, or its beginning. */
  readonly received?: string | undefined;
}

/** A lot, and how much of it is taken. */
export interface PickedLot {
  readonly lot: Lot;
  readonly taken: Big;
  readonly left: Big;
}

/** Takes the quantity from the matching lots, oldest first. Throws if there is not enough. */
export function pickLots({ state, settings }: EndpointContext, selection: LotSelection): [PickedLot, ...PickedLot[]] {
  const wanted = new Big(selection.units);
  const picks: PickedLot[] = [];
  let found = new Big(0);
  const shelf = state.lots.openLots(selection.partNo, selection.wid);
  for (const lot of shelf) {
    if (!matchesSelection(lot, selection) || (lot.hold && settings.heldLots === "refuse")) continue;
    const units = new Big(lot.units);
    const taken = smallerOf(units, wanted.minus(found));
    picks.push({ lot, taken, left: units.minus(taken) });
    found = found.plus(taken);
    if (found.gte(wanted)) break;
  }
  const [first, ...others] = picks;
  if (!first || found.lt(wanted)) {
    // Every matching lot was picked, so a filter or a hold has excluded the other open lots.
    const reason = shelf.length > picks.length ? "match" : "are in stock";
    throw conflictError(settings.shortageStatus, `Only ${found.toNumber()} of ${selection.units} units ${reason}.`);
  }
  return [first, ...others];
}

export function findTransactionItem({ state, settings }: EndpointContext, itemID: string): Item {
  const stored = state.catalog.findBySku(itemID);
  if (stored) return stored.item;
  const message = `Item ${itemID} does not exist.`;
  throw settings.unknownItemStatus === 404 ? notFoundError(message) : badRequestError(message);
}

function matchesSelection(lot: Lot, { recno, spot, serial, serial2, rfidTag, received }: LotSelection): boolean {
  return (
    (recno === undefined || lot.recNo === recno) &&
    (spot === undefined || lot.spot === spot) &&
    (serial === undefined || lot.serial === serial) &&
    (serial2 === undefined || lot.serial2 === serial2) &&
    (rfidTag === undefined || lot.rFIDTag === rfidTag) &&
    (received === undefined || matchesDateFilter(lot.received, received))
  );
}

function smallerOf(a: Big, b: Big): Big {
  return a.lt(b) ? a : b;
}
