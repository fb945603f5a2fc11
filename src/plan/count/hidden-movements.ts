import { comparableSku } from "../../service/key.js";
import type { Lot } from "../../service/lot.js";
import { type BookLot, bookLotOf, type CountGroup, describeMovement, isInGroup, lotsByItem } from "./group.js";

/**
 * Movements that the stock of a group does not show any more. A lot that was modified since the snapshot concerns:
 * - the bin that it is in, also if it is not in stock any more: it may have been there while people counted;
 * - every bin, if it looks as before: it may have been anywhere, and is back.
 */
export class HiddenMovements {
  readonly #modified: ReadonlyMap<string, readonly Lot[]>;
  readonly #returned = new Map<string, Lot>();

  constructor(modified: readonly Lot[], before: readonly BookLot[]) {
    const known = new Map(before.map((lot): [number, BookLot] => [lot.recNo, lot]));
    this.#modified = lotsByItem(modified);
    for (const lot of modified) {
      const [earlier, present] = [known.get(lot.recNo), bookLotOf(lot)];
      if (earlier && present && describeMovement([earlier], [present]) === undefined)
        this.#returned.set(comparableSku(lot.shortID), lot);
    }
  }

  /** Why a group cannot be compared with its count; `undefined` if nothing is known. */
  describe(group: CountGroup): string | undefined {
    const sku = comparableSku(group.itemID);
    const returned = this.#returned.get(sku);
    if (returned) return `lot ${returned.recNo} of the item was modified, and may have been in another bin`;
    const visitor = this.#modified.get(sku)?.find((lot) => isInGroup(group, lot));
    return visitor && `lot ${visitor.recNo} was modified`;
  }
}
