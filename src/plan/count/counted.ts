import * as z from "zod";
import { comparableSku, describeSkuSpaces, skuSchema } from "../../service/key.js";
import { checkInput } from "../../shared/check.js";
import { lazy, string, withCheck } from "../../shared/field.js";
import { readRows } from "../rows.js";
import type { CountGroup } from "./group.js";

/** What people counted. `null` and `undefined` are a missing field. */
export interface CountedRow {
  /** SKU of the item. */
  itemID: string;
  /**
   * Bin; an empty string is the bin without a name.
   * @default all bins of the warehouse together
   */
  spot?: string | null | undefined;
  /**
   * Serial number; an empty string means lots without one.
   * @default all serials together
   */
  serial?: string | null | undefined;
  /** Quantity, at least 0, in the item's unit of measure. */
  counted: number;
}

/** A row, checked. */
export interface CountedGroup extends CountGroup {
  counted: number;
}

const rowSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    itemID: withCheck(skuSchema(), describeSkuSpaces),
    spot: string().exactOptional(),
    serial: string().exactOptional(),
    counted: z.number().min(0),
  }),
);

/** Reads and checks all rows. Throws one `InputValidationError` that lists every wrong one. */
export async function readCountedRows(
  counted: Iterable<unknown> | AsyncIterable<unknown>,
  signal: AbortSignal | null | undefined,
): Promise<CountedGroup[]> {
  const groups: CountedGroup[] = [];
  const overlaps = new Overlaps();
  await readRows({ method: "planCount", option: "counted", signal }, counted, (given, index, issues) => {
    const row = rowSchema().parse(checkInput("planCount", rowSchema, given, [index]));
    const other = overlaps.add(row, index);
    if (other === undefined) groups.push(row);
    else issues.push({ path: [index], message: `counts the same stock as row ${other}` });
  });
  return groups;
}

/**
 * Finds rows that count the same stock. Two rows of an item overlap if their bins do and their serials do; all bins overlap
 * with every bin. So each row is stored under its own bin and under "any", and one that counts all bins is searched under "any".
 */
class Overlaps {
  /** The first row, by item, bin and serial. */
  readonly #rows = new Map<string, number>();

  /** Adds a row; returns the index of an earlier one that counts the same stock. */
  add({ itemID, spot, serial }: CountedGroup, index: number): number | undefined {
    const keysOf = (spots: readonly string[], serials: readonly string[]) =>
      spots.flatMap((one) => serials.map((other) => JSON.stringify([comparableSku(itemID), one, other])));
    const earlier = keysOf(searchedUnder(spot), searchedUnder(serial)).find((key) => this.#rows.has(key));
    for (const key of keysOf(storedUnder(spot), storedUnder(serial)))
      if (!this.#rows.has(key)) this.#rows.set(key, index);
    return earlier === undefined ? undefined : this.#rows.get(earlier);
  }
}

const ALL = "all";
const ANY = "any";
const storedUnder = (value: string | undefined) => [value === undefined ? ALL : `=${value}`, ANY];
const searchedUnder = (value: string | undefined) => (value === undefined ? [ANY] : [`=${value}`, ALL]);
