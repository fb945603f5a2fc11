import { pageAround } from "../lists/choose-page.js";
import { type Direction, isAscendingBy, type Probe, type SortedPage, textOrder } from "./sorted-page.js";

/** Records without any order would look sorted once in this many times. */
const LOG_OF_PROOF = Math.log(10_000);

const DIRECTIONS: readonly Direction[] = ["DESC", "ASC"];

/** Positions of a list, from `from` up to, not including, `to`. */
export interface Positions {
  from: number;
  to: number;
}

/** A part of the list that was in the order asked for. */
interface OrderedPart extends Positions {
  direction: Direction;
  /** The logarithm of how improbable that is by chance. */
  evidence: number;
  /**
   * Counts for nothing yet: this part has shown the other direction before, and there are parts that have shown none. An
   * example: an import in the order of part numbers looks ascending in an ascending page, and descending in a descending one.
   */
  isDiscounted: boolean;
}

/**
 * Only reading the whole list finds a record: its pages are not in the order asked for, or do not prove it (all records have
 * one part number), or records with the same part number change their order.
 */
export class UnsearchableListError extends Error {}

/**
 * What the pages of all searches have proved about the order of a list. It stays proved: the service sorts by this column.
 *
 * A service ignores a sort column that it does not know, and its own order may ascend by chance: lots that were received in
 * the order of part numbers. But no order both ascends and descends. So a search, which reads ascending pages, trusts them
 * only once the list is proved to obey in both directions.
 *
 * - A direction is proved once the pages requested in it were sorted, and together could hardly have been so by chance.
 * - A list in another order may contain parts that happen to be in this one, such as an import in the order of part numbers.
 *   So each direction is proved by other parts of the list than the other one: the second one that a part shows is
 *   *discounted*, unless no other part shows two part numbers.
 * - A page that is not sorted *refutes* the order for good. Two pages that contradict each other only undo the proof, since
 *   the list may have changed as a whole.
 */
export class OrderProof {
  /** A page has shown that part numbers are not sorted as text. */
  isNumeric = false;
  readonly #parts: OrderedPart[] = [];
  readonly #list: { readonly maxPageSize: number };
  #countsDiscounted = false;
  #refutation: string | undefined;

  constructor(list: { readonly maxPageSize: number }) {
    this.#list = list;
  }

  isProven(direction: Direction): boolean {
    const parts = this.#parts.filter(
      (part) => part.direction === direction && (!part.isDiscounted || this.#countsDiscounted),
    );
    return parts.reduce((sum, { evidence }) => sum + evidence, 0) >= LOG_OF_PROOF;
  }

  /** @throws UnsearchableListError if a page has refuted the order. */
  ensureNotRefuted(): void {
    if (this.#refutation !== undefined) throw new UnsearchableListError(this.#refutation);
  }

  refute(reason: string): void {
    this.#refutation = reason;
  }

  undo(): void {
    this.#parts.length = 0;
    this.#countsDiscounted = false;
    this.isNumeric = false;
  }

  /** Other parts of the list have shown nothing: from now on, discounted ones count, too. */
  countDiscounted(): void {
    this.#countsDiscounted = true;
  }

  note({ partNos, start, total, isSorted }: SortedPage<unknown>, direction: Direction): void {
    if (!isSorted) return;
    if (!this.isProven(direction)) {
      const part = { from: start, to: start + partNos.length };
      const isDiscounted = this.#shouldLookElsewhere(part, direction, total);
      this.#parts.push({ direction, ...part, evidence: logOfArrangements(partNos), isDiscounted });
    }
    this.isNumeric ||= !isAscendingBy(textOrder, partNos);
  }

  /**
   * The page that shows the next direction to prove: around a place, which this often completes, or elsewhere if that part
   * of the list has shown the other direction. `undefined` if both are proved. `total`: of the page that showed the place.
   */
  nextProbe(place: Positions, total: number): Probe | undefined {
    const direction = DIRECTIONS.find((one) => !this.isProven(one));
    if (direction === undefined) return undefined;
    const isElsewhere = this.#shouldLookElsewhere(place, direction, total);
    const { from, to } = isElsewhere ? middleOf(this.#unseenPart(total)) : place;
    const { maxPageSize } = this.#list;
    const request =
      direction === "ASC"
        ? pageAround(from, to - 1, maxPageSize)
        : pageAround(total - to, total - 1 - from, maxPageSize);
    return { request, direction };
  }

  /** Whether this part has shown another direction than this one, and a page elsewhere can show this one. */
  #shouldLookElsewhere({ from, to }: Positions, direction: Direction, total: number): boolean {
    const hasShownOther = this.#parts.some((part) => part.direction !== direction && part.from < to && from < part.to);
    const unseen = this.#unseenPart(total);
    return hasShownOther && !this.#countsDiscounted && unseen.to - unseen.from >= this.#list.maxPageSize;
  }

  /** The longest part of the list that has shown no order yet. */
  #unseenPart(total: number): Positions {
    const parts = this.#parts.toSorted((one, other) => one.from - other.from);
    let longest = { from: 0, to: 0 };
    let end = 0;
    for (const { from, to } of [...parts, { from: total, to: total }]) {
      if (from - end > longest.to - longest.from) longest = { from: end, to: from };
      end = Math.max(end, to);
    }
    return longest;
  }
}

/** The logarithm of the number of ways in which the records of a page could be arranged, if equal part numbers are not told apart. */
function logOfArrangements(partNos: readonly number[]): number {
  let log = 0;
  let equal = 0;
  for (const [index, partNo] of partNos.entries()) {
    equal = partNo === partNos[index - 1] ? equal + 1 : 1;
    log += Math.log(index + 1) - Math.log(equal);
  }
  return log;
}

function middleOf({ from, to }: Positions): Positions {
  const middle = Math.floor((from + to) / 2);
  return { from: middle, to: middle + 1 };
}
