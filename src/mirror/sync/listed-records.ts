import { SeenKeys } from "../../paging/seen-keys.js";
import type { ListState } from "../copy/state.js";

/** More unseen records than this are not saved with each page: the full pass starts again if it is interrupted. */
const MAX_SAVED_UNSEEN_NUMBERS = 1_000;

type InterruptedPass = NonNullable<ListState["pass"]>;

/**
 * The records that a full pass has listed, compared with those of the copy: which of these were not listed. What that proves
 * is in removals.ts.
 */
export class ListedRecords {
  /** False if a part of the list was read before an interruption. */
  readonly readFromStart: boolean;
  /** False if the part before an interruption is unknown, so that records which were not seen may have been listed there. */
  isConclusive: boolean;
  /** How many records were listed. */
  records: number;
  /** How many records the service counted last. */
  total = 0;
  /** How many it counted at most. */
  largestTotal = 0;
  #lastNumber: number;
  #isInOrder = true;
  readonly #seen = new SeenKeys();
  /** The copy's numbers in ascending order, those after the checkpoint if the pass was resumed. */
  readonly #numbers: Float64Array;
  /** Those of the first `#compared` numbers, and of the part before the checkpoint, that were not seen. */
  readonly #unseen: number[];
  #compared = 0;

  constructor(numbersInCopy: readonly number[], interrupted?: InterruptedPass) {
    const listed = interrupted?.listed;
    this.readFromStart = interrupted === undefined;
    this.isConclusive = this.readFromStart || listed !== undefined;
    this.records = listed?.records ?? 0;
    this.#lastNumber = listed?.lastNumber ?? Number.NEGATIVE_INFINITY;
    const unseen = new Set(listed?.unseen);
    // The process may have removed some of them before it was killed.
    this.#unseen = numbersInCopy.filter((number) => unseen.has(number));
    this.#numbers = Float64Array.from(numbersInCopy.filter((number) => number > this.#lastNumber)).sort();
  }

  add({ records, totalCount }: { records: readonly { number: number }[]; totalCount: number }): void {
    this.records += records.length;
    this.total = totalCount;
    this.largestTotal = Math.max(this.largestTotal, totalCount);
    for (const { number } of records) {
      this.#isInOrder &&= number > this.#lastNumber;
      this.#lastNumber = number;
      this.#seen.add(number);
    }
    if (this.#isInOrder) this.#compareUntil(this.#lastNumber);
    // The checkpoint was in the order of the numbers, and this part of the list is not.
    else if (!this.readFromStart) this.isConclusive = false;
  }

  /** True if records were listed, in the order of their numbers. */
  get isInOrder(): boolean {
    return this.#isInOrder && this.records > 0;
  }

  /** How many fewer records were listed than the service counts; 0 if that is not known. */
  get shortage(): number {
    return this.isInOrder && this.isConclusive ? Math.max(0, this.total - this.records) : 0;
  }

  /** The result to save with the checkpoint. `undefined` if a resumed pass could conclude nothing from it. */
  get progress(): InterruptedPass["listed"] {
    if (!this.isInOrder || !this.isConclusive || this.#unseen.length > MAX_SAVED_UNSEEN_NUMBERS) return undefined;
    return { records: this.records, lastNumber: this.#lastNumber, unseen: [...this.#unseen] };
  }

  /** Records of the copy that were not listed, once the end of the list is reached. */
  unseen(): number[] {
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
