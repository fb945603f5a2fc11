import { bestOverlappingPage, leftmostPageReaching } from "../choose-page.js";
import type { PageRequest } from "../page.js";
import type { GaplessPlan } from "./plan.js";

/** Where the end of the records read so far may be now. */
export interface GapBounds {
  /** Positions before this one have been read, if that is known of any. */
  low: number | undefined;
  /** At this position begin records that have not been read. */
  high: number;
  /** The most probable position of the end. */
  expected: number;
}

/** Searches the position to which the end of the records read so far has moved, from both sides. */
export class GapSearch {
  readonly #plan: Pick<GaplessPlan, "maxPageSize" | "shifts">;
  #low: number | undefined;
  #high: number;
  #expected: number;
  /** Consecutive pages that were disjoint. */
  #disjointPages = 0;
  /** Consecutive pages that were contained in what was read, although they end at or after `high`. */
  #containedPages = 0;

  constructor({ low, high, expected }: GapBounds, plan: Pick<GaplessPlan, "maxPageSize" | "shifts">) {
    this.#low = low;
    this.#high = high;
    this.#expected = expected;
    this.#plan = plan;
  }

  /** The page to read next. */
  next(): PageRequest {
    const [low, high, expected] = [this.#low, this.#high, this.#expected];
    const { maxPageSize, shifts } = this.#plan;
    if (low !== undefined) {
      const end = high - low > maxPageSize ? Math.floor((low + high) / 2) : low;
      return bestOverlappingPage({ end, maxPageSize, shifts });
    }
    // The list may move right meanwhile: read a little further than `high`.
    const margin = Math.ceil(maxPageSize / 10);
    if (this.#disjointPages === 0)
      return leftmostPageReaching(Math.min(high, expected + Math.ceil(maxPageSize / 2)) + margin, maxPageSize);
    // First the page directly before, then twice as far back each time.
    const back = this.#disjointPages === 1 ? 0 : maxPageSize * 2 ** (this.#disjointPages - 2);
    return leftmostPageReaching(Math.max(1, high + margin - back), maxPageSize);
  }

  /** After a disjoint page that begins at `position`: the end is further left. */
  afterDisjoint(position: number): void {
    this.#low = undefined;
    this.#high = Math.min(this.#high, position);
    this.#disjointPages += 1;
    this.#containedPages = 0;
  }

  /** After a contained page that ends at `position`: the end is further right, twice as far each time. */
  afterContained(position: number, totalCount: number): void {
    this.#low = position;
    this.#disjointPages = 0;
    if (position < this.#high) return;
    this.#containedPages += 1;
    const step = this.#plan.maxPageSize * 2 ** this.#containedPages;
    this.#high = Math.max(position, Math.min(totalCount, position + step));
  }

  /** After a page that shows the end: the next page follows at this position without a search. */
  restartAt(position: number): void {
    this.#low = this.#high = this.#expected = position;
    this.#disjointPages = 0;
    this.#containedPages = 0;
  }
}
