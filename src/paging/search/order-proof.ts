import { pageAround } from "../choose-page.js";
import { type Direction, isAscendingBy, numericOrder, type Probe, type SortedPage, textOrder } from "./sorted-page.js";

/** Records without any order would look sorted once in this many times. */
const LOG_OF_PROOF = Math.log(10_000);

/** Pages that one search reads for a proof: the first half in parts of the list that have shown none. */
const MAX_PROOF_PAGES = 4;
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
  /** Counts for nothing yet: the other direction was shown here, and another part of the list could show this one. */
  isDiscounted: boolean;
}

/** The list is not in the order asked for: only reading the whole list finds a record. */
export class UnsortedListError extends Error {}

/**
 * What the pages of all searches have proved about the order of a list. It stays proved: the service sorts by this column.
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
  /** Other parts of the list show nothing: discounted ones count, too. */
  #countsDiscounted = false;
  #refutation: string | undefined;

  isProven(direction: Direction): boolean {
    const parts = this.#parts.filter(
      (part) => part.direction === direction && (!part.isDiscounted || this.#countsDiscounted),
    );
    return parts.reduce((sum, { evidence }) => sum + evidence, 0) >= LOG_OF_PROOF;
  }

  /** @throws UnsortedListError if a page has refuted the order. */
  ensureNotRefuted(): void {
    if (this.#refutation !== undefined) throw new UnsortedListError(this.#refutation);
  }

  /** Returns the error for the caller to throw. */
  refute(reason: string): UnsortedListError {
    this.#refutation = reason;
    return new UnsortedListError(reason);
  }

  /** Returns the error for the caller to throw. */
  undo(reason: string): UnsortedListError {
    this.#parts.length = 0;
    this.#countsDiscounted = false;
    this.isNumeric = false;
    return new UnsortedListError(reason);
  }

  note({ partNos, start, total }: SortedPage<unknown>, direction: Direction, pageSize: number): void {
    // A page that contains the whole list may have any order.
    if (!isAscendingBy(numericOrder, partNos)) return;
    if (!this.isProven(direction)) {
      const part = { from: start, to: start + partNos.length };
      const isDiscounted = this.#shouldLookElsewhere(part, direction, { total, pageSize });
      this.#parts.push({ direction, ...part, evidence: logOfArrangements(partNos), isDiscounted });
    }
    this.isNumeric ||= !isAscendingBy(textOrder, partNos);
  }

  /**
   * The page that shows the next direction to prove: around a place, which this often completes, or elsewhere if that part
   * of the list has proved the other direction. `undefined` if both are proved. `pagesRead`: by this search, for a proof.
   *
   * @throws UnsortedListError if the list seems to have one part number only.
   */
  nextPage(
    place: Positions,
    { pagesRead, total, pageSize, label }: { pagesRead: number; total: number; pageSize: number; label: string },
  ): Probe | undefined {
    if (pagesRead >= MAX_PROOF_PAGES / 2) this.#countsDiscounted = true;
    const direction = DIRECTIONS.find((one) => !this.isProven(one));
    if (direction === undefined) return undefined;
    if (pagesRead === MAX_PROOF_PAGES) throw this.undo(`${label}: all records have one partNo`);
    const isElsewhere = this.#shouldLookElsewhere(place, direction, { total, pageSize });
    const { from, to } = isElsewhere ? middleOf(this.#unseenPart(total)) : place;
    const request =
      direction === "ASC" ? pageAround(from, to - 1, pageSize) : pageAround(total - to, total - 1 - from, pageSize);
    return { request, direction };
  }

  /** Whether this part has shown another direction than this one, and a page elsewhere can show this one. */
  #shouldLookElsewhere(
    { from, to }: Positions,
    direction: Direction,
    { total, pageSize }: { total: number; pageSize: number },
  ): boolean {
    const hasShownOther = this.#parts.some((part) => part.direction !== direction && part.from < to && from < part.to);
    const unseen = this.#unseenPart(total);
    return hasShownOther && !this.#countsDiscounted && unseen.to - unseen.from >= pageSize;
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
