import { monotonicNowMs } from "../../time/clock.js";
import type { ListState } from "../copy/state.js";

/** More unseen records than this are not saved with each page: the pass starts again if it is interrupted. */
const MAX_SAVED_UNSEEN_NUMBERS = 1_000;

/** What an interrupted scan has found up to its checkpoint. */
type SavedScanProgress = NonNullable<ListState["scanned"]>;

/**
 * The beginning of a scan: the start of the list, or the checkpoint of an interrupted scan, whose result may be
 * unknown.
 */
export interface ScanStart {
  isResumed: boolean;
  scanned: SavedScanProgress | undefined;
}

const START_FROM_BEGINNING: ScanStart = { isResumed: false, scanned: undefined };

/**
 * A scan of a whole list. It determines which records of the copy it has not seen, and whether that proves that they
 * were removed.
 *
 * If records are listed in the order of their numbers, which never change, none can have been missed. If not, a record
 * may have changed its position while the list was read.
 */
export class FullScan {
  readonly isResumed: boolean;
  readonly beganAt = monotonicNowMs();
  /** False if the earlier part of the scan is unknown, so that records which were not seen may exist. */
  isConclusive: boolean;
  #records: number;
  #lastNumber: number;
  #isInOrder = true;
  #lastTotal = 0;
  #largestTotal = 0;
  /** The copy's numbers in ascending order, those after the checkpoint if the scan was resumed. */
  readonly #numbers: Float64Array;
  readonly #isSeen: Uint8Array;
  /** Numbers up to the last record listed that were not seen; `#compared` of `#numbers` were compared. */
  readonly #unseen: number[];
  #compared = 0;

  constructor(numbersInCopy: readonly number[], { isResumed, scanned }: ScanStart = START_FROM_BEGINNING) {
    this.isResumed = isResumed;
    this.isConclusive = !isResumed || scanned !== undefined;
    this.#records = scanned?.records ?? 0;
    this.#lastNumber = scanned?.lastNumber ?? Number.NEGATIVE_INFINITY;
    this.#unseen = [...(scanned?.unseen ?? [])];
    this.#numbers = Float64Array.from(numbersInCopy.filter((number) => number > this.#lastNumber)).sort();
    this.#isSeen = new Uint8Array(this.#numbers.length);
  }

  /** Counts a page. */
  add(numbers: readonly number[], totalCount: number): void {
    this.#records += numbers.length;
    this.#lastTotal = totalCount;
    this.#largestTotal = Math.max(this.#largestTotal, totalCount);
    for (const number of numbers) {
      this.#isInOrder &&= number > this.#lastNumber;
      this.#lastNumber = number;
      const index = this.#indexOf(number);
      if (this.#numbers[index] === number) this.#isSeen[index] = 1;
    }
    if (this.#isInOrder) this.#compareUntil(this.#lastNumber);
    // The checkpoint was in the order of the numbers, and this part of the list is not.
    else if (this.isResumed) this.isConclusive = false;
  }

  /** True if records were listed, in the order of their numbers. */
  get isInOrder(): boolean {
    return this.#isInOrder && this.#records > 0;
  }

  /**
   * True if the scan saw as many records as the service reports. In order, as many as it reported last: records that were
   * removed earlier can hide no other. If the order may change, as many as it reported at any time.
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

  /** Number of records that the scan lacks by the service's count, if records were listed in order. */
  get shortage(): number {
    return this.isInOrder ? Math.max(0, this.#lastTotal - this.#records) : 0;
  }

  /** The result to save with the checkpoint. `undefined` if a resumed scan could conclude nothing from it. */
  get progress(): SavedScanProgress | undefined {
    if (!this.isInOrder || !this.isConclusive || this.#unseen.length > MAX_SAVED_UNSEEN_NUMBERS) return undefined;
    return { records: this.#records, lastNumber: this.#lastNumber, unseen: [...this.#unseen] };
  }

  /** Records of the copy that a scan which reached the end of the list has not seen. */
  unseen(): number[] {
    if (!this.isConclusive) return [];
    const rest = this.#numbers.filter((_, index) => index >= this.#compared && this.#isSeen[index] === 0);
    return [...this.#unseen, ...rest];
  }

  #compareUntil(last: number): void {
    for (let number = this.#numbers[this.#compared]; number !== undefined && number <= last; ) {
      if (this.#isSeen[this.#compared] === 0) this.#unseen.push(number);
      this.#compared += 1;
      number = this.#numbers[this.#compared];
    }
  }

  /** The position of a number in the copy, or the position at which it would be inserted. */
  #indexOf(number: number): number {
    let low = 0;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#numbers[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
