import { PaginationError } from "../../../shared/errors/index.js";
import type { Checkpoint } from "../checkpoint.js";
import { endOfPage, type Page, type ReceivedPage, startOfPage } from "../page.js";

/** This many consecutive pages at position 0 are accepted that contain no record seen before. */
const MAX_UNKNOWN_STARTS = 3;

/** How far a list has been read without a gap. */
export class GaplessFrontier {
  /** Position up to which the list has been read, as far as is known: changes of the list move it. A guess unless it is `provenEnd`. */
  probableEnd: number;
  /** Position up to which the list is known to have been read: where the page read last ends. */
  provenEnd: number;
  /** Records in the list when the last page was read. */
  totalCount: number;
  /** When the page that the position is based on was received; 0 before the first one. It is less again after an older page. */
  receivedAt = 0;
  /** Position of the first record of the iteration, once it is known. */
  #base: number | undefined;
  #unknownStarts = 0;
  readonly #label: string;

  constructor({ from, label }: { readonly from: Checkpoint | undefined; readonly label: string }) {
    this.#label = label;
    this.#base = from?.end;
    this.probableEnd = this.provenEnd = from?.end ?? 0;
    this.totalCount = from?.totalCount ?? 0;
  }

  /** True once a position has been reached, by a page or by a checkpoint. */
  get hasBegun(): boolean {
    return this.#base !== undefined;
  }

  /** Sets the position, after a search has found on a page where the records read so far end now. */
  moveTo(end: number, { page, receivedAt }: ReceivedPage<unknown>): void {
    this.probableEnd = this.provenEnd = end;
    this.totalCount = page.totalCount;
    this.receivedAt = receivedAt;
  }

  /** By how many positions per response the list has moved left, if the page shows it. */
  shiftShownBy({ page, receivedAt }: ReceivedPage<unknown>, { continuity, last }: PageOverlap): number | undefined {
    const elapsed = receivedAt - this.receivedAt;
    if (continuity !== "overlapping" || last < 0 || elapsed <= 0) return undefined;
    return (this.probableEnd - (startOfPage(page) + last + 1)) / elapsed;
  }

  /**
   * The index from which on the unseen records of a page may be emitted. Of two pages that were requested at the same time, the
   * order of their responses does not show which one the service has read first. Either order is right: it decides only about
   * unseen records between seen ones, and these have not existed the whole time.
   */
  firstToEmit({ page, receivedAt }: ReceivedPage<unknown>, { first, last }: PageOverlap): number {
    // On a page older than the last one read, unseen records between seen ones have been removed since.
    if (receivedAt <= this.receivedAt) return last + 1;
    // Unseen records before a seen one: an iteration that began further on does not include them. One that continues from a
    // checkpoint has emitted all records before it that existed the whole time.
    const base = this.#base ?? startOfPage(page);
    return base === 0 ? 0 : Math.max(0, first);
  }

  /**
   * Advances to the end of a page that is not disjoint.
   *
   * If the page is contained in what was read, the list has grown before it, and the end has moved by the growth of
   * `totalCount`. If that is not credible (see `GaplessStalls`), the end may be anywhere behind the page: it is expected at
   * the end of the list. So the next page is disjoint, and a `GapSearch` looks between the two.
   */
  advance(
    { page, receivedAt }: ReceivedPage<unknown>,
    overlap: PageOverlap,
    { isGrowthCredible }: { isGrowthCredible: boolean },
  ): void {
    if (overlap.first >= 0) this.#unknownStarts = 0;
    else if (this.#base !== undefined) this.#countUnknownStart();
    this.#base ??= startOfPage(page);
    const grownEnd = isGrowthCredible ? this.probableEnd + page.totalCount - this.totalCount : page.totalCount;
    this.provenEnd = endOfPage(page);
    this.probableEnd = overlap.continuity === "contained" ? Math.max(this.provenEnd, grownEnd) : this.provenEnd;
    this.totalCount = page.totalCount;
    this.receivedAt = receivedAt;
  }

  /**
   * Counts a page at position 0 without a record seen before: all were removed, or many were added. That cannot happen
   * each time.
   */
  #countUnknownStart(): void {
    this.#unknownStarts += 1;
    if (this.#unknownStarts <= MAX_UNKNOWN_STARTS) return;
    throw new PaginationError(
      `${this.#label}: the start of the list was read again, but it contains none of the records read before (the keys or the order of records change). Sort by a column whose values never change.`,
    );
  }
}

/** How a page relates to the records that were read before. */
export interface PageOverlap {
  continuity: PageContinuity;
  /** Index of the first record seen before, -1 if there is none. */
  first: number;
  /** Index of the last record seen before, -1 if there is none. */
  last: number;
}

/**
 * - `overlapping`: no record before the page was missed. A page is one contiguous run of the list, so a record seen before
 *   proves that the page begins at or before the end of what was read. Nothing precedes position 0.
 * - `contained`: overlapping, and the page ends within what was read before.
 * - `disjoint`: records may be missing before the page.
 */
export type PageContinuity = "overlapping" | "contained" | "disjoint";

export function pageOverlapOf<T>(page: Page<T>, isSeen: (record: T) => boolean): PageOverlap {
  const { value } = page;
  const first = value.findIndex(isSeen);
  const last = first < 0 ? -1 : value.findLastIndex(isSeen);
  if (value.length === 0 || (first < 0 && startOfPage(page) !== 0)) return { continuity: "disjoint", first, last };
  return { continuity: last === value.length - 1 ? "contained" : "overlapping", first, last };
}
