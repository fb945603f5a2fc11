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

/**
 * What earlier searches have shown of a list. Places and total only choose where to look first: they prove nothing, and are
 * useless after a mass change. What is proved of the order stays: the service sorts by this column.
 */
export class RememberedPlaces {
  /** Directions in which a page was in the order asked for. */
  readonly provenDirections = new Set<Direction>();
  /** A page has shown that the numbers are not sorted as text. */
  isNumeric = false;
  total = 0;
  maxPageSize: number;
  /** By value, the one noted last at the end. */
  readonly #places = new Map<number, Place>();

  constructor(maxPageSize: number) {
    this.maxPageSize = maxPageSize;
  }

  noteAppliedSize(request: PageRequest, pageSize: number): void {
    if (pageSize < request.pageSize) this.maxPageSize = Math.max(1, Math.min(this.maxPageSize, pageSize));
  }

  notePage({ values, start, total }: SortedPage<unknown>, direction: Direction): void {
    const first = values[0];
    const last = values.at(-1);
    this.total = total;
    if (first === undefined || last === undefined) return;
    if (first !== last) this.provenDirections.add(direction);
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
