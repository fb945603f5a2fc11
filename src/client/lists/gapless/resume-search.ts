import { endOfPage, type Page, startOfPage } from "../page.js";
import type { RecordKey } from "../seen-keys.js";

/** One guess and this many halvings less one find a page of 250 records among 8 million. */
const MAX_RESUME_SEARCHES = 16;

/**
 * Searches the position at which an iteration ended, by the keys of the records that it emitted last.
 *
 * The order of the keys is only a hint where to search. A list sorted by something else may have rising keys for a while, so
 * only a record that was emitted proves that none was missed before it.
 */
export class ResumeSearch {
  readonly #keys: readonly RecordKey[];
  readonly #expected: (totalCount: number) => number;
  #searches = 0;
  #low = 0;
  #high = Infinity;

  /** `expected`: the most probable position, given the current number of records. */
  constructor(keys: readonly RecordKey[], expected: (totalCount: number) => number) {
    this.#keys = keys;
    this.#expected = expected;
  }

  /**
   * The position to search next, after a page without a record that was emitted, whose first record has the key `firstKey`.
   * `undefined` if there is none left.
   */
  nextPosition(page: Page<unknown>, firstKey: RecordKey | undefined): number | undefined {
    if (this.#low >= Math.min(this.#high, page.totalCount) || this.#searches >= MAX_RESUME_SEARCHES) return undefined;
    const side = page.value.length === 0 ? "after" : guessSideOf(firstKey, this.#keys);
    if (side === undefined && this.#searches > 0) return undefined;
    if (side === "before") this.#low = endOfPage(page);
    if (side === "after") this.#high = Math.min(this.#high, startOfPage(page));
    const limit = Math.min(this.#high, page.totalCount);
    const guess = this.#searches === 0 ? this.#expected(page.totalCount) : Math.ceil((this.#low + limit) / 2);
    this.#searches += 1;
    return Math.max(this.#low + 1, Math.min(guess, limit));
  }
}

/** On which side of its neighbours a record probably stands, if their keys rise or fall throughout. */
export function guessSideOf(
  key: RecordKey | undefined,
  neighbours: readonly RecordKey[],
): "before" | "after" | undefined {
  const [first, second] = neighbours;
  if (key === undefined || first === undefined || second === undefined) return undefined;
  const isRising = second > first;
  const isSorted = neighbours.every((other, index) => {
    const previous = neighbours[index - 1];
    return previous === undefined || (isRising ? other > previous : other < previous);
  });
  if (!isSorted) return undefined;
  return (isRising ? key < first : key > first) ? "before" : "after";
}
