/**
 * Searches the end of the part of a list that was read, after records have moved. Positions only choose the next page;
 * they prove nothing. While one bound is known, steps double; between two bounds, the search bisects.
 */
export class EndSearch {
  /** The end is at or after this position. */
  #low: number | undefined;
  /** The end is before this position. */
  #high: number | undefined;
  #step = 0;

  /** The end is before `high`. Returns the next position: at first `expected`, then further left. */
  left(high: number, expected: number, pageSize: number): number {
    const isFirst = this.#high === undefined;
    this.#high = Math.min(high, this.#high ?? Infinity);
    if (this.#low !== undefined && this.#low < this.#high) return middle(this.#low, this.#high);
    this.#low = undefined;
    const step = isFirst ? 0 : this.#nextStep(pageSize);
    return Math.max(0, Math.min(this.#high, expected) - step);
  }

  /** The end is at or after `low`. Returns the next position, up to `totalCount`: at first `expected`, then further right. */
  right(low: number, expected: number, pageSize: number, totalCount: number): number {
    const isFirst = this.#low === undefined;
    this.#low = low;
    if (this.#high !== undefined && low < this.#high) return middle(low, this.#high);
    this.#high = undefined;
    return isFirst ? Math.max(low, expected) : Math.min(totalCount, low + this.#nextStep(pageSize));
  }

  /** Returns the next step, in records. Each step is twice as long as the step before. */
  #nextStep(pageSize: number): number {
    this.#step = this.#step * 2 || pageSize;
    return this.#step;
  }
}

const middle = (low: number, high: number) => Math.floor((low + high) / 2);
