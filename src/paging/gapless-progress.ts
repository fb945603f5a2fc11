import { type Overlap, overlapOf } from "./continuity.js";
import type { Delivery } from "./delivery.js";
import type { GaplessPlan } from "./gapless-plan.js";
import type { Page } from "./page.js";
import { offsetOf, type PageRead } from "./position.js";

/** How far a list has been read without a gap. */
export class GaplessProgress<T> {
  /** Position up to which the list has been read, as far as is known: others move it all the time. */
  end = 0;
  /** Position up to which the list is known to have been read. Less than `end` where that is a guess. */
  low = 0;
  /** Records in the list when that was so. */
  totalCount = 0;
  /** Which answer told it, from 1; 0 before the first page. */
  arrivedAt = 0;

  readonly #delivery: Delivery<T>;
  readonly #plan: GaplessPlan;
  #base = 0;
  #barrenSince: number | undefined;

  constructor(delivery: Delivery<T>, plan: GaplessPlan) {
    this.#delivery = delivery;
    this.#plan = plan;
  }

  get begun(): boolean {
    return this.arrivedAt > 0;
  }

  overlapOf(page: Page<T>): Overlap {
    return overlapOf(page, this.#delivery);
  }

  /** Takes a page that is joined to what was read before, or the first one. Gives its new records. */
  accept(read: PageRead<T>, { continuity, first, last }: Overlap = this.overlapOf(read.page)): T[] {
    const { value, totalCount } = read.page;
    const offset = offsetOf(read.page);
    if (!this.begun) this.#base = offset;
    // An iteration that began further on was not asked for what may now come before its first record.
    const fresh = this.#delivery.fresh(this.#base > 0 && first > 0 ? value.slice(first) : value);
    const elapsed = read.arrivedAt - this.arrivedAt;
    if (continuity === "joined" && last >= 0 && elapsed > 0) {
      this.#plan.noteShift((this.end - (offset + last + 1)) / elapsed);
    }
    this.low = offset + value.length;
    this.end = continuity === "covered" ? Math.max(this.low, this.#grownEnd(totalCount)) : this.low;
    this.totalCount = totalCount;
    this.arrivedAt = read.arrivedAt;
    return fresh;
  }

  /**
   * Where what was read most likely ends when a page holds nothing else: the list has grown before it. If it was so for the
   * page before as well, the total does not tell how much, and the search for it begins from the other side.
   */
  #grownEnd(totalCount: number): number {
    return this.#barrenSince === undefined ? this.end + totalCount - this.totalCount : totalCount;
  }

  /** The page as the consumer gets it. */
  give(read: PageRead<T>, fresh: T[]): Page<T> {
    if (fresh.length > 0) this.#barrenSince = undefined;
    // A page that was asked for before the last one without a new record had come says no more than that one did.
    const expected = this.#barrenSince !== undefined && read.sentAt < this.#barrenSince;
    if (fresh.length === 0 && !expected) this.#barrenSince = read.arrivedAt;
    return this.#delivery.give(read.page, fresh, expected);
  }
}
