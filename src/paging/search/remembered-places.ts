import { setNewest } from "../../core/bounded-map.js";
import type { PageRequest } from "../page.js";
import type { Direction, SortedPage } from "./sorted-page.js";
import { isAscendingBy, textOrder } from "./sorted-page.js";

/** Where a number stands in the list: the positions of its records. */
export interface Place {
  value: number;
  position: number;
  length: number;
}

const MAX_PLACES = 1_000;

/** Records without any order would look sorted once in this many times. */
const LOG_OF_PROOF = Math.log(10_000);

/** A part of the list that was in the order asked for: the positions from `from` up to, not including, `to`. */
interface OrderedPart {
  direction: Direction;
  from: number;
  to: number;
  /** The logarithm of how improbable that is by chance. */
  evidence: number;
  /** It has shown the other direction, too. */
  isShared: boolean;
}

/** The logarithm of the number of ways in which the records of a page could be arranged, if equal numbers are not told apart. */
function logOfArrangements(values: readonly number[]): number {
  let log = 0;
  let equal = 0;
  for (const [index, value] of values.entries()) {
    equal = value === values[index - 1] ? equal + 1 : 1;
    log += Math.log(index + 1) - Math.log(equal);
  }
  return log;
}

/**
 * What earlier searches have shown of a list. Places and total only choose where to look first: they prove nothing, and are
 * useless after a mass change. What is proved of the order stays: the service sorts by this column.
 *
 * A list in another order may contain parts that happen to be in this one, such as an import in the order of numbers. So
 * each direction is proved by other parts of the list than the other direction, unless no other part shows two numbers.
 */
export class RememberedPlaces {
  readonly #ordered: OrderedPart[] = [];
  /** Other parts of the list show nothing: those that have shown one direction prove the other one, too. */
  acceptsShared = false;
  /** How a page has shown that the list is not in this order, if one has. */
  disproof: string | undefined;
  /** A page has shown that the numbers are not sorted as text. */
  isNumeric = false;
  total = 0;
  maxPageSize: number;
  /** By value, the one noted last at the end. */
  readonly #places = new Map<number, Place>();

  constructor(maxPageSize: number) {
    this.maxPageSize = maxPageSize;
  }

  /** Whether the pages have shown that the service sorts in this direction. */
  isProven(direction: Direction): boolean {
    const parts = this.#ordered.filter(
      (part) => part.direction === direction && (!part.isShared || this.acceptsShared),
    );
    return parts.reduce((sum, { evidence }) => sum + evidence, 0) >= LOG_OF_PROOF;
  }

  /** What looked like an order was chance, or the list has changed as a whole. */
  forgetOrder(): void {
    this.#ordered.length = 0;
    this.acceptsShared = false;
    this.isNumeric = false;
  }

  /** Whether these positions have shown another direction than this one, and a page elsewhere can show this one. */
  isUsedUp(direction: Direction, { from, to }: { from: number; to: number }): boolean {
    const isShared = this.#ordered.some((part) => part.direction !== direction && part.from < to && from < part.to);
    const unseen = this.unseenPart;
    return isShared && !this.acceptsShared && unseen.to - unseen.from >= this.maxPageSize;
  }

  /** The longest part of the list that has shown no order yet. */
  get unseenPart(): { from: number; to: number } {
    const parts = this.#ordered.toSorted((one, other) => one.from - other.from);
    let longest = { from: 0, to: 0 };
    let end = 0;
    for (const { from, to } of [...parts, { from: this.total, to: this.total }]) {
      if (from - end > longest.to - longest.from) longest = { from: end, to: from };
      end = Math.max(end, to);
    }
    return longest;
  }

  noteAppliedSize(request: PageRequest, pageSize: number): void {
    if (pageSize < request.pageSize) this.maxPageSize = Math.max(1, Math.min(this.maxPageSize, pageSize));
  }

  notePage({ values, start, total }: SortedPage<unknown>, direction: Direction): void {
    const first = values[0];
    const last = values.at(-1);
    this.total = total;
    if (first === undefined || last === undefined) return;
    if (!this.isProven(direction)) {
      const part = { from: start, to: start + values.length };
      const isShared = this.isUsedUp(direction, part);
      this.#ordered.push({ direction, ...part, evidence: logOfArrangements(values), isShared });
    }
    this.isNumeric ||= !isAscendingBy(textOrder, values);
    this.notePlace({ value: first, position: start, length: 1 });
    this.notePlace({ value: last, position: start + values.length - 1, length: 1 });
  }

  notePlace(place: Place): void {
    setNewest(this.#places, place.value, place, MAX_PLACES);
  }

  get(value: number): Place | undefined {
    return this.#places.get(value);
  }

  [Symbol.iterator](): IterableIterator<Place> {
    return this.#places.values();
  }
}
