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
 */
export class RememberedPlaces {
  /** By direction, how improbable it is that the pages were in the order asked for by chance. */
  readonly #evidence = new Map<Direction, number>();
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
    return (this.#evidence.get(direction) ?? 0) >= LOG_OF_PROOF;
  }

  /** A page was not in the order asked for: what looked like an order was chance, or has ended. */
  disproveOrder(): void {
    this.#evidence.clear();
    this.isNumeric = false;
  }

  noteAppliedSize(request: PageRequest, pageSize: number): void {
    if (pageSize < request.pageSize) this.maxPageSize = Math.max(1, Math.min(this.maxPageSize, pageSize));
  }

  notePage({ values, start, total }: SortedPage<unknown>, direction: Direction): void {
    const first = values[0];
    const last = values.at(-1);
    this.total = total;
    if (first === undefined || last === undefined) return;
    this.#evidence.set(direction, (this.#evidence.get(direction) ?? 0) + logOfArrangements(values));
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
