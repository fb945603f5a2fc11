import { comparableSku } from "../../service/key.js";
import { Notations } from "../notation.js";
import { type BookLot, type CountGroup, isInGroup, lotsByItem } from "./group.js";

/**
 * The groups of a snapshot. Finds the group that a row may have been before a spreadsheet changed the row, for example
 * item `007` for `7`, or bin `1.10` for `1.1`.
 */
export class MistakableGroups {
  readonly #byItem: ReadonlyMap<string, readonly BookLot[]>;
  readonly #skus: Column;
  readonly #spots: Column;
  readonly #serials: Column;

  constructor(lots: readonly BookLot[]) {
    this.#byItem = lotsByItem(lots);
    this.#skus = new Column(lots.map(({ shortID }) => shortID));
    this.#spots = new Column(lots.map(({ spot }) => spot));
    this.#serials = new Column(lots.map(({ serial }) => serial));
  }

  has(row: CountGroup): boolean {
    return this.#lotsOf(row.itemID).some((lot) => isInGroup(row, lot));
  }

  /** Returns a group that the row may have been. A group that another row counts cannot have been this row. */
  originalOf(row: CountGroup, isCounted: (lot: BookLot) => boolean | undefined): CountGroup | undefined {
    const skus = this.#skus.alike(row.itemID);
    const spots = row.spot === undefined ? undefined : this.#spots.alike(row.spot);
    const serials = row.serial === undefined ? undefined : this.#serials.alike(row.serial);
    if ([skus, spots, serials].every((others) => others === undefined || others.size === 0)) return undefined;
    const isOwnItem = (lot: BookLot) => comparableSku(lot.shortID) === comparableSku(row.itemID);
    const original = [row.itemID, ...skus].flatMap(this.#lotsOf).find((lot) => {
      const isAlike =
        (!spots || lot.spot === row.spot || spots.has(lot.spot)) &&
        (!serials || lot.serial === row.serial || serials.has(lot.serial));
      return isAlike && !(isOwnItem(lot) && isInGroup(row, lot)) && !isCounted(lot);
    });
    return original && { itemID: original.shortID, spot: original.spot, serial: original.serial };
  }

  readonly #lotsOf = (sku: string): readonly BookLot[] => this.#byItem.get(comparableSku(sku)) ?? [];
}

/** The values of a column. Finds the values that mean the same as a value in another notation. */
class Column {
  readonly #notations = new Notations<string>();
  readonly #found = new Map<string, ReadonlySet<string>>();

  constructor(values: readonly string[]) {
    for (const value of new Set(values)) this.#notations.add(value, value);
  }

  alike(value: string): ReadonlySet<string> {
    const found = this.#found.get(value) ?? new Set(this.#notations.alike(value).map(({ named }) => named));
    this.#found.set(value, found);
    return found;
  }
}
