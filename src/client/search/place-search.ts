import { pageAround } from "../lists/choose-page.js";
import type { PageRequest } from "../lists/page.js";
import type { ListKnowledge, Place } from "./list-knowledge.js";
import type { PartNoOrder, SortedPage } from "./sorted-page.js";

/** Probes that interpolation may waste. With fewer, even distributions need more requests; with more, all others do. */
const SPARE_PROBES = 2.25;

/** A record on one side of the place that is searched. */
interface Bound {
  position: number;
  partNo: number;
}

/** What one page shows of the run that is searched: the records from the index `from` up to, not including, `to`. */
export interface VisibleRun<T> {
  page: SortedPage<T>;
  from: number;
  to: number;
  /** The page contains what follows the run: a record of another part number, or the end of the list. */
  isComplete: boolean;
}

/**
 * Searches the place of a part number in a sorted list: interpolation, with bisection as a guard.
 *
 * The place begins after `low`, the last record known to precede it, and at or before `high`, the first record known not to.
 * Each page moves one of them, or contains the beginning of the place. A page that contradicts one of them shows that the
 * list has changed: then that bound is dropped. Remembered places only choose the next page.
 *
 * Every probe leaves a range that bisection can finish with the probes that remain, so a distribution that defeats the
 * interpolation costs {@link SPARE_PROBES} requests more than bisection.
 */
export class PlaceSearch {
  readonly #partNo: number;
  readonly #order: PartNoOrder;
  readonly #known: ListKnowledge;
  #low: Bound | undefined;
  #high: Bound | undefined;
  #probesLeft: number | undefined;
  /** Consecutive pages that begin with the part number itself. */
  #stepsBack = 0;

  constructor(partNo: number, order: PartNoOrder, known: ListKnowledge) {
    this.#partNo = partNo;
    this.#order = order;
    this.#known = known;
  }

  /** The run that the page contains, if it contains its beginning. */
  learn<T>(page: SortedPage<T>): VisibleRun<T> | undefined {
    const { partNos, start, isFirst, isLast } = page;
    const [first, last] = [partNos[0], partNos.at(-1)];
    if (first === undefined || last === undefined) {
      this.#restart();
      return undefined;
    }
    const found = partNos.findIndex((partNo) => !this.#order.isBefore(partNo, this.#partNo));
    const from = found < 0 ? partNos.length : found;
    if (from === partNos.length && !isLast) this.#raiseLow({ position: start + from - 1, partNo: last });
    else if (from === 0 && !isFirst) this.#lowerHigh({ position: start, partNo: first });
    else {
      const next = partNos.findIndex((partNo, index) => index >= from && partNo !== this.#partNo);
      const to = next < 0 ? partNos.length : next;
      return { page, from, to, isComplete: to < partNos.length || isLast };
    }
    return undefined;
  }

  /** If pages have shown only the middle of the run: a position at which it begins, or shortly before. */
  get longRunStart(): number | undefined {
    const [low, high] = [this.#low, this.#high];
    if (!low || high?.partNo !== this.#partNo) return undefined;
    return high.position - low.position <= 2 * this.#known.maxPageSize ? low.position + 1 : undefined;
  }

  /** The page to read next. */
  next(): PageRequest {
    const { maxPageSize, total } = this.#known;
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
    // Of a place that does not fit on a page, the beginning.
    return pageAround(from - 1, from + (length <= maxPageSize - 2 ? length : 1), maxPageSize);
  }

  /** A page elsewhere, which was read to prove the order, may show a bound that is known better. */
  #raiseLow(bound: Bound): void {
    if (!this.#low || this.#low.position < bound.position) this.#low = bound;
    this.#stepsBack = 0;
    if (this.#high && this.#high.position <= bound.position) this.#high = this.#probesLeft = undefined;
  }

  #lowerHigh(bound: Bound): void {
    if (!this.#high || this.#high.position > bound.position) this.#high = bound;
    this.#stepsBack = bound.partNo === this.#partNo ? this.#stepsBack + 1 : 0;
    if (this.#low && this.#low.position >= bound.position) this.#low = this.#probesLeft = undefined;
  }

  /** The list has become shorter than the page asked for: nothing is known of it now, but its total. */
  #restart(): void {
    this.#low = this.#high = this.#probesLeft = undefined;
    this.#stepsBack = 0;
  }

  /** The most probable place between two positions. */
  #expectedPlace(low: number, high: number): Place | undefined {
    const partNo = this.#partNo;
    const at = (position: number): Place => ({ partNo, position, length: 1 });
    const isInRange = ({ position }: Bound) => position > low && position < high;
    const remembered = this.#known.placeOf(partNo);
    // A page around it may have shown that the place begins further left.
    if (this.#stepsBack === 0 && remembered && isInRange(remembered)) return remembered;
    if (this.#stepsBack > 0) return at(high - (this.#known.maxPageSize / 2) * (2 ** this.#stepsBack - 1));
    let below = this.#low;
    let above = this.#high;
    for (const place of this.#known.places) {
      if (!isInRange(place)) continue;
      const isBelow = this.#order.isBefore(place.partNo, partNo);
      if (isBelow && (!below || this.#order.isBefore(below.partNo, place.partNo))) below = place;
      if (!isBelow && (!above || this.#order.isBefore(place.partNo, above.partNo))) above = place;
    }
    if (!above) return at(high - 1);
    below ??= this.#expectedStart(above);
    if (!below) return undefined;
    const rank = this.#order.rank;
    const share = (rank(partNo) - rank(below.partNo)) / (rank(above.partNo) - rank(below.partNo));
    return at(Math.round(below.position + Math.min(1, Math.max(0, share)) * (above.position - below.position)));
  }

  /**
   * The start of the list, if its part numbers begin near 0, by the distance between the lowest known place and the next one.
   * Otherwise the first page has to show it.
   */
  #expectedStart(lowest: Bound): Bound | undefined {
    let next: Place | undefined;
    for (const place of this.#known.places) {
      if (place.partNo > lowest.partNo && (!next || place.partNo < next.partNo)) next = place;
    }
    if (!next) return undefined;
    const density = (next.position - lowest.position) / (next.partNo - lowest.partNo);
    const start = lowest.position - density * lowest.partNo;
    return Math.abs(start) <= lowest.position / 2 ? { position: -1, partNo: 0 } : undefined;
  }
}

const contains = ({ page, pageSize }: PageRequest, from: number, to: number) =>
  (page - 1) * pageSize <= from && to < page * pageSize;
