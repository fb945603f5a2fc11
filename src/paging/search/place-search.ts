import { pageAround } from "../choose-page.js";
import type { PageRequest } from "../page.js";
import type { Place, RememberedPlaces } from "./remembered-places.js";
import type { SortedPage, ValueOrder } from "./sorted-page.js";

/** Probes that interpolation may waste. With fewer, even distributions need more requests; with more, all others do. */
const SPARE_PROBES = 2.25;

/** A record on one side of the place that is searched. */
interface Bound {
  position: number;
  value: number;
}

/** The records of the number that is searched, as one page shows them: from the index `from` up to, not including, `to`. */
export interface Run {
  from: number;
  to: number;
  /** The page contains what follows the run: a record of another number, or the end of the list. */
  isComplete: boolean;
}

/**
 * Searches the place of a number in a sorted list: interpolation, with bisection as a guard.
 *
 * The place begins after `low`, the last record known to precede it, and at or before `high`, the first record known not to.
 * Each page moves one of them, or contains the beginning of the place. A page that contradicts one of them shows that the
 * list has changed: then that bound is dropped. Remembered places only choose the next page.
 *
 * Every probe leaves a range that bisection can finish with the probes that remain, so a distribution that defeats the
 * interpolation costs {@link SPARE_PROBES} requests more than bisection.
 */
export class PlaceSearch {
  readonly #target: number;
  readonly #order: ValueOrder;
  readonly #places: RememberedPlaces;
  #low: Bound | undefined;
  #high: Bound | undefined;
  #probesLeft: number | undefined;
  /** Consecutive pages that begin with the number itself. */
  #stepsBack = 0;

  constructor(target: number, order: ValueOrder, places: RememberedPlaces) {
    this.#target = target;
    this.#order = order;
    this.#places = places;
  }

  /** The run that the page contains, if it contains its beginning. */
  learn({ values, start, isFirst, isLast }: SortedPage<unknown>): Run | undefined {
    const target = this.#target;
    const found = values.findIndex((value) => !this.#order.isBefore(value, target));
    const from = found < 0 ? values.length : found;
    const [first = target] = values;
    if (from === values.length && !isLast)
      this.#raiseLow({ position: start + from - 1, value: values.at(-1) ?? target });
    else if (from === 0 && !isFirst) this.#lowerHigh({ position: start, value: first });
    else {
      const next = values.findIndex((value, index) => index >= from && value !== target);
      const to = next < 0 ? values.length : next;
      return { from, to, isComplete: to < values.length || isLast };
    }
    return undefined;
  }

  /** Where reading a run may begin of which only the middle is known: shortly before its beginning, or there. */
  get longRunStart(): number | undefined {
    const [low, high] = [this.#low, this.#high];
    if (!low || high?.value !== this.#target) return undefined;
    return high.position - low.position <= 2 * this.#places.maxPageSize ? low.position + 1 : undefined;
  }

  /** The page to read next. */
  next(): PageRequest {
    const { maxPageSize, total } = this.#places;
    const low = this.#low?.position ?? -1;
    const high = this.#high?.position ?? total;
    const range = high - low;
    if (range < maxPageSize) {
      const page = pageAround(low, high, maxPageSize);
      if (contains(page, Math.max(0, low), Math.min(high, total - 1))) return page;
    }
    const expected = this.#expectedPlace(low, high);
    if (!expected) return { page: 1, pageSize: maxPageSize };
    const { position, length } = expected;
    this.#probesLeft ??= Math.log2(Math.max(1, range / maxPageSize)) + SPARE_PROBES;
    // Steps back through a long run double, so they end as fast as bisection.
    if (this.#stepsBack === 0) this.#probesLeft = Math.max(1, this.#probesLeft - 1);
    const reach = this.#stepsBack > 0 ? Infinity : Math.floor(maxPageSize * 2 ** (this.#probesLeft - 1));
    const from = Math.max(low, high - reach, Math.min(position, low + reach, high));
    return pageAround(from - 1, from + Math.min(length, maxPageSize - 2), maxPageSize);
  }

  #raiseLow(bound: Bound): void {
    this.#low = bound;
    this.#stepsBack = 0;
    if (this.#high && this.#high.position <= bound.position) this.#restart("high");
  }

  #lowerHigh(bound: Bound): void {
    this.#high = bound;
    this.#stepsBack = bound.value === this.#target ? this.#stepsBack + 1 : 0;
    if (this.#low && this.#low.position >= bound.position) this.#restart("low");
  }

  /** The list has changed: what was known of one side no longer holds. */
  #restart(side: "low" | "high"): void {
    if (side === "low") this.#low = undefined;
    else this.#high = undefined;
    this.#probesLeft = undefined;
  }

  /** The most probable place between two positions. */
  #expectedPlace(low: number, high: number): Place | undefined {
    const value = this.#target;
    const at = (position: number): Place => ({ value, position, length: 1 });
    const isInRange = ({ position }: Bound) => position > low && position < high;
    const remembered = this.#places.get(value);
    if (remembered && isInRange(remembered)) return remembered;
    if (this.#stepsBack > 0) return at(high - (this.#places.maxPageSize / 2) * (2 ** this.#stepsBack - 1));
    let below = this.#low;
    let above = this.#high;
    for (const place of this.#places) {
      if (!isInRange(place)) continue;
      const isBelow = this.#order.isBefore(place.value, value);
      if (isBelow && (!below || this.#order.isBefore(below.value, place.value))) below = place;
      if (!isBelow && (!above || this.#order.isBefore(place.value, above.value))) above = place;
    }
    if (!above) return at(high - 1);
    below ??= this.#expectedStart(above);
    if (!below) return undefined;
    const rank = this.#order.rank;
    const share = (rank(value) - rank(below.value)) / (rank(above.value) - rank(below.value));
    return at(Math.round(below.position + Math.min(1, Math.max(0, share)) * (above.position - below.position)));
  }

  /**
   * The start of the list, if its numbers begin near 0, by the distance between the lowest known place and the next one.
   * Otherwise the first page has to show it.
   */
  #expectedStart(lowest: Bound): Bound | undefined {
    let next: Place | undefined;
    for (const place of this.#places) {
      if (place.value > lowest.value && (!next || place.value < next.value)) next = place;
    }
    if (!next) return undefined;
    const density = (next.position - lowest.position) / (next.value - lowest.value);
    const start = lowest.position - density * lowest.value;
    return Math.abs(start) <= lowest.position / 2 ? { position: -1, value: 0 } : undefined;
  }
}

const contains = ({ page, pageSize }: PageRequest, from: number, to: number) =>
  (page - 1) * pageSize <= from && to < page * pageSize;
