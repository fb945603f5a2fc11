import { SeenKeys } from "../../paging/seen-keys.js";
import type { ListState } from "../copy/state.js";

/** More unseen records than this are not saved with each page: the full pass starts again if it is interrupted. */
const MAX_SAVED_UNSEEN_NUMBERS = 1_000;

type InterruptedPass = NonNullable<ListState["pass"]>;

/**
 * The records that a full pass has listed, compared with those of the copy: which of these were not listed, and what that
 * proves. removals.ts has the rule.
 */
export class ListedRecords {
  /** False if a part of the list was read before an interruption. */
  readonly isWhole: boolean;
  /** False if the part before an interruption is unknown, so that records which were not seen may have been listed there. */
  isConclusive: boolean;
  #records: number;
  #lastNumber: number;
  #isInOrder = true;
  #lastTotal = 0;
  #largestTotal = 0;
  readonly #seen = new SeenKeys();
  /** The copy's numbers in ascending order, those after the checkpoint if the pass was resumed. */
  readonly #numbers: Float64Array;
  /** Those of the first `#compared` numbers, and of the part before the checkpoint, that were not seen. */
  readonly #unseen: number[];
  #compared = 0;

  constructor(numbersInCopy: readonly number[], interrupted?: InterruptedPass) {
    const listed = interrupted?.listed;
    this.isWhole = interrupted === undefined;
    this.isConclusive = this.isWhole || listed !== undefined;
    this.#records = listed?.records ?? 0;
    this.#lastNumber = listed?.lastNumber ?? Number.NEGATIVE_INFINITY;
    const unseen = new Set(listed?.unseen);
    // The process may have removed some of them before it was killed.
    this.#unseen = numbersInCopy.filter((number) => unseen.has(number));
    this.#numbers = Float64Array.from(numbersInCopy.filter((number) => number > this.#lastNumber)).sort();
  }

  add(numbers: readonly number[], totalCount: number): void {
    this.#records += numbers.length;
    this.#lastTotal = totalCount;
    this.#largestTotal = Math.max(this.#largestTotal, totalCount);
    for (const number of numbers) {
      this.#isInOrder &&= number > this.#lastNumber;
      this.#lastNumber = number;
      this.#seen.add(number);
    }
    if (this.#isInOrder) this.#compareUntil(this.#lastNumber);
    // The checkpoint was in the order of the numbers, and this part of the list is not.
    else if (!this.isWhole) this.isConclusive = false;
  }

  /** True if records were listed, in the order of their numbers. */
  get isInOrder(): boolean {
    return this.#isInOrder && this.#records > 0;
  }

  /**
   * True if as many records were listed as the service counts. In order, as many as it counted last: records that were
   * removed earlier can hide no other. If the order may change, as many as it counted at any time.
   *
   * @param unlisted Records that the service counts, but does not list.
   */
  isComplete(unlisted: number): boolean {
    return this.isInOrder ? this.#records + unlisted >= this.#lastTotal : this.#records >= this.#largestTotal;
  }

  /** How many records the service reported last. */
  get total(): number {
    return this.#lastTotal;
  }

  /** Number of records that were not listed, by the service's count, if records were listed in order. */
  get shortage(): number {
    return this.isInOrder ? Math.max(0, this.#lastTotal - this.#records) : 0;
  }

  /** The result to save with the checkpoint. `undefined` if a resumed pass could conclude nothing from it. */
  get progress(): InterruptedPass["listed"] {
    if (!this.isInOrder || !this.isConclusive || this.#unseen.length > MAX_SAVED_UNSEEN_NUMBERS) return undefined;
    return { records: this.#records, lastNumber: this.#lastNumber, unseen: [...this.#unseen] };
  }

  /** Records of the copy that were not listed, once the end of the list is reached. */
  unseen(): number[] {
    if (!this.isConclusive) return [];
    this.#compareUntil(Number.POSITIVE_INFINITY);
    return this.#unseen.filter((number) => !this.#seen.has(number));
  }

  #compareUntil(last: number): void {
    for (let number = this.#numbers[this.#compared]; number !== undefined && number <= last; ) {
      if (!this.#seen.has(number)) this.#unseen.push(number);
      this.#compared += 1;
      number = this.#numbers[this.#compared];
    }
  }
}
