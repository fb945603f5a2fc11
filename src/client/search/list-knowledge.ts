import { type PageRequest, pageSizeWithinCap } from "../lists/page.js";
import { setNewest } from "../send/bounded-map.js";
import { OrderProof } from "./order-proof.js";
import type { Direction, SortedPage } from "./sorted-page.js";

/**
 * Where a part number stands in the list: the positions of its records. If it has none, the position at which one would
 * stand, with a length of 1.
 */
export interface Place {
  partNo: number;
  position: number;
  length: number;
}

const MAX_PLACES = 1_000;

/**
 * What earlier searches have shown of a list. Places and total only choose where to look first: they prove nothing, and are
 * useless after a mass change.
 */
export class ListKnowledge {
  readonly order = new OrderProof(this);
  total = 0;
  maxPageSize: number;
  /** By part number, the one noted last at the end. */
  readonly #places = new Map<number, Place>();

  constructor(maxPageSize: number) {
    this.maxPageSize = maxPageSize;
  }

  noteAppliedSize(request: PageRequest, pageSize: number): void {
    this.maxPageSize = pageSizeWithinCap(this.maxPageSize, request, pageSize);
  }

  notePage(page: SortedPage<unknown>, direction: Direction): void {
    const { partNos, start, total } = page;
    const [first, last] = [partNos[0], partNos.at(-1)];
    this.total = total;
    if (first === undefined || last === undefined) return;
    this.order.note(page, direction);
    this.#noteRecord(first, start);
    this.#noteRecord(last, start + partNos.length - 1);
  }

  /** One record of a place that is known as a whole shows nothing new of it. */
  #noteRecord(partNo: number, position: number): void {
    const known = this.#places.get(partNo);
    const isWithin = known && position >= known.position && position < known.position + known.length;
    this.notePlace(isWithin ? known : { partNo, position, length: 1 });
  }

  notePlace(place: Place): void {
    setNewest(this.#places, place.partNo, place, MAX_PLACES);
  }

  placeOf(partNo: number): Place | undefined {
    return this.#places.get(partNo);
  }

  get places(): Iterable<Place> {
    return this.#places.values();
  }
}
